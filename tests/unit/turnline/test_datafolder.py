"""The data folder: for its owner alone, and what is wrong with it is told in a sentence."""

import fcntl
import os
import resource
import stat
from pathlib import Path

import pytest

from sessionstore.errors import BadSettings
from turnline.datafolder import COOKIE_SECRET, LOCK, TOKEN, DataFolder, Holder, lock_holder


def test_a_folder_that_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "deep" / "data")
    folder.hold()
    folder.release()
    assert stat.S_IMODE((tmp_path / "deep" / "data").stat().st_mode) == 0o700


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert folder.secret(TOKEN) == folder.secret(TOKEN) != folder.secret(COOKIE_SECRET)


@pytest.mark.parametrize("held", ["", "\n", "  \n"])
def test_an_empty_secret_opens_nothing(tmp_path: Path, held: str) -> None:
    """Everybody knows it, so that tokens could be guessed and cookies forged."""
    (tmp_path / TOKEN).write_text(held)
    with pytest.raises(BadSettings, match="token is empty") as told:
        DataFolder(tmp_path).secret(TOKEN)
    assert "delete" in told.value.hint


def test_a_secret_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / TOKEN).write_bytes(b"\xff\xfe")
    with pytest.raises(BadSettings, match="token cannot be read"):
        DataFolder(tmp_path).secret(TOKEN)


def test_a_disk_that_takes_no_more_is_told(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        with pytest.raises(BadSettings, match="cannot be used: File too large"):
            DataFolder(tmp_path).hold()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_under_a_new_secret_is_told_and_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(BadSettings, match="No space left"):
        DataFolder(tmp_path).secret(TOKEN)
    assert list(tmp_path.iterdir()) == []


def test_who_holds_it_is_told_with_the_agents_that_run_there(tmp_path: Path) -> None:
    assert lock_holder(tmp_path) is None
    folder = DataFolder(tmp_path)
    folder.hold(["demo", "clerk"])
    assert lock_holder(tmp_path) == Holder(str(os.getpid()), frozenset({"clerk", "demo"}))
    with pytest.raises(BadSettings, match=f"in use by process {os.getpid()}$"):
        DataFolder(tmp_path).hold()
    folder.release()
    assert lock_holder(tmp_path) is None


def test_a_look_at_who_holds_it_keeps_no_server_from_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / LOCK).touch()
    looking = (tmp_path / LOCK).open()
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("time.sleep", lambda s: fcntl.flock(looking, fcntl.LOCK_UN))
    folder = DataFolder(tmp_path)
    folder.hold()
    folder.release()
    looking.close()
