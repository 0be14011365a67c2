"""A running server for tests that need nothing special of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.api.served import Served, served


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Served]:
    """With an engine behind it."""
    async with served(tmp_path) as running:
        yield running


@pytest.fixture
async def quiet(tmp_path: Path) -> AsyncIterator[Served]:
    """With nothing that takes what is accepted."""
    async with served(tmp_path, runs=False) as running:
        yield running
