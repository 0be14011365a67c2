"""Between a folder and a store: capture, materialise, restore, and what neither may touch."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sessionstore.artifact import one_chunk, read_whole
from sessionstore.artifacts.confined import ConfinedFolder
from sessionstore.artifacts.files import capture, materialise, restore
from sessionstore.artifacts.folder import FolderArtifacts
from sessionstore.errors import ArtifactDamaged, ArtifactMissing, BadInput, FilesChanged
from sessionstore.workspace import Conflict, FileRef, Why


@pytest.fixture
def artifacts(tmp_path: Path) -> FolderArtifacts:
    return FolderArtifacts(tmp_path / "artifacts")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work"


def put(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def held(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


async def test_what_was_captured_is_materialised_elsewhere(
    artifacts: FolderArtifacts, folder: Path, tmp_path: Path
) -> None:
    put(folder, a="one", dir__b="two", dir__sub__c="")
    (folder / "a").chmod(0o755)
    captured = await capture(artifacts, folder, {})
    assert sorted(captured.workspace) == ["a", "dir/b", "dir/sub/c"]
    assert captured.workspace["a"].executable
    await materialise(artifacts, tmp_path / "other", captured.workspace)
    assert held(tmp_path / "other") == held(folder)
    assert (tmp_path / "other" / "a").stat().st_mode & 0o777 == 0o755
    again = await capture(artifacts, tmp_path / "other", captured.workspace)
    assert not again.changes


async def test_a_capture_tells_what_is_new_changed_and_gone_however_it_was_done(
    artifacts: FolderArtifacts, folder: Path
) -> None:
    put(folder, kept="k", changed="before", gone="g")
    known = (await capture(artifacts, folder, {})).workspace
    put(folder, changed="after", new="n")
    (folder / "gone").unlink()
    changes = (await capture(artifacts, folder, known)).changes
    assert (sorted(changes.set), changes.removed) == (["changed", "new"], ("gone",))
    assert await read_whole(artifacts.read(changes.set["changed"].digest)) == b"after"


async def test_what_is_ignored_is_neither_captured_nor_taken_for_gone(artifacts: FolderArtifacts, folder: Path) -> None:
    put(folder, a="1", cache__x="2", b__tmp="3")
    known = {"cache/old": FileRef("a" * 64, 1)}
    captured = await capture(artifacts, folder, known, ignore=["cache", "*mp"])
    assert captured.workspace.keys() == {"a", "cache/old"}


async def test_links_and_odd_files_are_skipped_and_said(
    artifacts: FolderArtifacts, folder: Path, tmp_path: Path
) -> None:
    put(folder, a="1")
    put(tmp_path, secret="outside", outside__file="outside")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "out").symlink_to(tmp_path / "outside")
    os.mkfifo(folder / "pipe")
    (folder / "line\nbreak").write_text("x")
    captured = await capture(artifacts, folder, {})
    assert captured.workspace.keys() == {"a"}
    assert captured.skipped == ("line\nbreak", "link", "out", "pipe")


async def test_a_missing_folder_is_refused_and_not_taken_for_an_empty_one(
    artifacts: FolderArtifacts, folder: Path
) -> None:
    with pytest.raises(BadInput, match="no folder"):
        await capture(artifacts, folder, {"a": FileRef("a" * 64, 1)})


async def test_materialising_over_other_files_is_refused_with_nothing_touched(
    artifacts: FolderArtifacts, folder: Path, tmp_path: Path
) -> None:
    put(folder, a="ours", b="ours")
    workspace = (await capture(artifacts, folder, {})).workspace
    put(tmp_path / "other", b="theirs")
    with pytest.raises(FilesChanged, match="b \\(untracked\\)"):
        await materialise(artifacts, tmp_path / "other", workspace)
    assert held(tmp_path / "other") == {"b": "theirs"}


async def test_a_rewind_can_be_rewound(artifacts: FolderArtifacts, folder: Path) -> None:
    put(folder, a="1", gone="here", swap__x="folder")
    old = (await capture(artifacts, folder, {})).workspace
    put(folder, a="2", new="n")
    (folder / "gone").unlink()
    (folder / "swap" / "x").unlink()
    (folder / "swap").rmdir()
    put(folder, swap="file")
    new = (await capture(artifacts, folder, old)).workspace
    there = held(folder)
    back = await restore(artifacts, folder, old, new)
    assert held(folder) == {"a": "1", "gone": "here", "swap/x": "folder"}
    assert back.conflicts == ()
    assert back.after == old
    forth = await restore(artifacts, folder, back.before, back.after)
    assert held(folder) == there
    assert forth.conflicts == ()


async def test_files_changed_outside_are_conflicts_and_their_bytes_are_kept(
    artifacts: FolderArtifacts, folder: Path
) -> None:
    put(folder, edited="1", deleted="1", plain="1")
    old = (await capture(artifacts, folder, {})).workspace
    put(folder, edited="2", deleted="2", plain="2", added="2")
    new = (await capture(artifacts, folder, old)).workspace
    put(folder, edited="by hand", added="by hand", untracked="by hand")
    (folder / "deleted").unlink()
    report = await restore(artifacts, folder, old, new)
    assert report.conflicts == (Conflict("added", Why.MODIFIED), Conflict("edited", Why.MODIFIED))
    assert held(folder) == {
        "added": "by hand",
        "deleted": "1",
        "edited": "by hand",
        "plain": "1",
        "untracked": "by hand",
    }
    assert await read_whole(artifacts.read(report.before["edited"].digest)) == b"by hand"


async def test_a_dry_run_says_the_same_and_touches_nothing(artifacts: FolderArtifacts, folder: Path) -> None:
    put(folder, a="1", b="1")
    old = (await capture(artifacts, folder, {})).workspace
    put(folder, a="2", c="2")
    (folder / "b").unlink()
    new = (await capture(artifacts, folder, old)).workspace
    there = held(folder)
    preview = await restore(artifacts, folder, old, new, dry_run=True)
    assert held(folder) == there
    assert preview == await restore(artifacts, folder, old, new)


async def test_restoring_again_after_a_break_goes_on(
    artifacts: FolderArtifacts, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, a="1", b="1", c="1")
    old = (await capture(artifacts, folder, {})).workspace
    put(folder, a="2", b="2", c="2", d="2")
    new = (await capture(artifacts, folder, old)).workspace
    real, left = os.rename, [2]

    def breaking(*args: object, **kwargs: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(5, "broken")
        real(*args, **kwargs)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(os, "rename", breaking)
        with pytest.raises(Exception, match="broken"):
            await restore(artifacts, folder, old, new)
    assert held(folder) == {"a": "1", "b": "1", "c": "2", "d": "2"}
    report = await restore(artifacts, folder, old, new)
    assert (held(folder), report.conflicts) == ({"a": "1", "b": "1", "c": "1"}, ())


async def test_a_missing_blob_stops_it_before_anything_is_touched(artifacts: FolderArtifacts, folder: Path) -> None:
    put(folder, a="1", b="1")
    known = (await capture(artifacts, folder, {})).workspace
    target = {"a": FileRef("0" * 64, 3)}
    with pytest.raises(ArtifactMissing):
        await restore(artifacts, folder, target, known)
    assert held(folder) == {"a": "1", "b": "1"}


async def test_a_damaged_blob_leaves_the_file_that_was_there(artifacts: FolderArtifacts, folder: Path) -> None:
    put(folder, a="old")
    old = (await capture(artifacts, folder, {})).workspace
    put(folder, a="new")
    new = (await capture(artifacts, folder, old)).workspace
    digest = old["a"].digest
    (artifacts.root / digest[:2] / digest).write_bytes(b"0ld")
    with pytest.raises(ArtifactDamaged):
        await restore(artifacts, folder, old, new)
    assert held(folder) == {"a": "new"}


async def test_a_file_that_changes_between_look_and_write_is_a_conflict(
    artifacts: FolderArtifacts, folder: Path
) -> None:
    put(folder, a="old", b="old")
    old = (await capture(artifacts, folder, {})).workspace
    put(folder, a="new", c="new")
    new = (await capture(artifacts, folder, old)).workspace

    class Meddling(FolderArtifacts):
        async def read(self, digest: str) -> AsyncIterator[bytes]:
            put(folder, a="at the last moment", c="at the last moment")
            async for chunk in super().read(digest):
                yield chunk

    report = await restore(Meddling(artifacts.root), folder, old, new)
    assert {c.path for c in report.conflicts} == {"a", "c"}
    assert held(folder) == {"a": "at the last moment", "b": "old", "c": "at the last moment"}


@pytest.mark.parametrize("where", ["dir/file", "dir/sub/file"])
async def test_no_link_leads_outside_when_reading_writing_or_removing(
    artifacts: FolderArtifacts, folder: Path, tmp_path: Path, where: str
) -> None:
    put(tmp_path / "outside", file="theirs", sub__file="theirs")
    folder.mkdir()
    (folder / "dir").symlink_to(tmp_path / "outside")
    blob = await artifacts.put(one_chunk(b"ours"))
    theirs = await artifacts.put(one_chunk(b"theirs"))
    target = {where: FileRef(blob.digest, blob.size)}
    known = {where: FileRef(theirs.digest, theirs.size)}
    for wanted, believed in ((target, known), (target, {}), ({}, known)):
        report = await restore(artifacts, folder, wanted, believed)
        assert report.conflicts == (Conflict(where, Why.IN_THE_WAY),)
    assert held(tmp_path / "outside") == {"file": "theirs", "sub/file": "theirs"}
    with pytest.raises(OSError):
        ConfinedFolder(folder).open(where)
