"""Which artifact store the settings mean."""

import sys
from pathlib import Path

import pytest

from sessionstore.artifacts.folder import FolderArtifacts
from sessionstore.artifacts.object import ObjectArtifacts
from sessionstore.errors import BadSettings
from turnline.settings import Settings
from turnline.wiring import open_artifacts


def test_by_default_they_are_in_the_data_folder(tmp_path: Path) -> None:
    store = open_artifacts(Settings(data=tmp_path))
    assert isinstance(store, FolderArtifacts)
    assert store.root == tmp_path / "artifacts"


def test_a_file_url_names_a_folder() -> None:
    store = open_artifacts(Settings(artifacts="file:///srv/with%20space"))
    assert isinstance(store, FolderArtifacts)
    assert store.root == Path("/srv/with space")


@pytest.mark.parametrize("url", ["s3://bucket/prefix", "s3://bucket"])
def test_an_s3_url_names_a_bucket(url: str) -> None:
    assert isinstance(open_artifacts(Settings(artifacts=url)), ObjectArtifacts)


@pytest.mark.parametrize(
    "url", ["s3://", "file://relative", "folder", "ftp://host/x", "memory:///", "https://bucket/x"]
)
def test_anything_else_is_a_wrong_setting(url: str) -> None:
    with pytest.raises(BadSettings, match="cannot be kept") as told:
        open_artifacts(Settings(artifacts=url))
    assert "file:///PATH" in told.value.hint


def test_a_missing_library_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sessionstore.artifacts.object", raising=False)
    monkeypatch.setitem(sys.modules, "obstore", None)
    with pytest.raises(BadSettings, match="obstore") as told:
        open_artifacts(Settings(artifacts="s3://bucket"))
    assert "turnline[s3]" in told.value.hint
