"""Which names the web chat goes by."""

import pytest

from turnline.doors import LOOPBACK, hosts_of
from turnline.settings import Settings


@pytest.mark.parametrize(
    ("host", "hosts", "names"),
    [
        ("127.0.0.1", "", LOOPBACK),
        ("localhost", "", LOOPBACK),
        ("0.0.0.0", "", frozenset()),
        ("127.0.0.1", "Chat.Example, localhost", frozenset({"chat.example", "localhost"})),
    ],
)
def test_on_loopback_only_the_machines_own_names_hold_unless_others_are_set(
    host: str, hosts: str, names: frozenset[str]
) -> None:
    assert hosts_of(Settings(host=host, hosts=hosts)) == names
