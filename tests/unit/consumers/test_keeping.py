"""What a turn keeps: bytes at once, references with the closing commit, and nothing that it does not refer to."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from consumers.deciding import TurnClosed
from consumers.kept import ARTIFACTS_MAX
from consumers.turn import Turn
from sessionstore.artifact import ArtifactRef, one_chunk
from sessionstore.artifacts.memory import MemoryArtifacts
from sessionstore.clock import SystemClock
from sessionstore.errors import ArtifactMissing, BadInput, BadSettings, TooLarge
from sessionstore.record import Record, new_record
from sessionstore.reducer import fold_all
from tests.unit.consumers.test_turn import turn


@pytest.fixture
def store() -> MemoryArtifacts:
    return MemoryArtifacts(SystemClock())


def keeping(store: MemoryArtifacts, record: Record | None = None) -> Turn[Any]:
    made = turn()
    made.keep_in(store, record or new_record())
    return made


def entries(made: Turn[Any]) -> list[tuple[str, dict[str, Any]]]:
    return [] if made.intents.kept is None else list(made.intents.kept.entries())


async def after(store: MemoryArtifacts, record: Record, **data: bytes) -> Record:
    """The record after a turn that stored these."""
    made = keeping(store, record)
    for name, bytes_ in data.items():
        await made.artifact(name, bytes_)
    return fold_all(record, entries(made))


async def test_an_artifact_is_stored_at_once_and_referred_to_by_the_commit(store: MemoryArtifacts) -> None:
    made = keeping(store)
    ref = await made.artifact("log", b"12345", media_type="text/plain")
    assert store.blobs.keys() == {ref.digest}
    assert entries(made) == [
        ("artifact.stored", {"name": "log", "digest": ref.digest, "size": 5, "media_type": "text/plain"})
    ]
    assert await made.read_artifact("log") == await made.read_artifact(ref.digest) == b"12345"
    assert made.artifacts == {"log": ArtifactRef("log", ref.digest, 5, "text/plain")}


async def test_the_same_turn_again_decides_the_same(store: MemoryArtifacts) -> None:
    decided = []
    for _ in range(2):
        made = keeping(store)
        await made.artifact("log", b"same")
        await made.workspace.write("a", b"same too")
        decided.append(entries(made))
    assert decided[0] == decided[1]
    assert len(store.blobs) == 2


async def test_a_later_turn_finds_replaces_and_drops_it(store: MemoryArtifacts) -> None:
    record = await after(store, new_record(), log=b"one", other=b"two")
    made = keeping(store, record)
    assert await made.read_artifact("log") == b"one"
    await made.artifact("log", b"three")
    assert await made.read_artifact("log") == b"three"
    made.drop_artifact("other")
    record = fold_all(record, entries(made))
    assert record["artifacts"]["refs"].keys() == {"log"}
    with pytest.raises(ArtifactMissing):
        made.drop_artifact("other")


async def test_storing_what_is_there_already_writes_no_event(store: MemoryArtifacts) -> None:
    record = await after(store, new_record(), log=b"one")
    made = keeping(store, record)
    await made.artifact("log", b"one")
    await made.workspace.write("a", b"x")
    await made.workspace.delete("a")
    assert entries(made) == []


async def test_a_file_and_a_stream_are_stored_like_bytes(store: MemoryArtifacts, tmp_path: Path) -> None:
    async def stream() -> AsyncIterator[bytes]:
        for piece in (b"by", b"tes"):
            yield piece

    (tmp_path / "file").write_bytes(b"bytes")
    made = keeping(store)
    refs = [await made.artifact("a", data) for data in (b"bytes", tmp_path / "file", stream())]
    assert len({ref.digest for ref in refs}) == 1
    assert b"".join([chunk async for chunk in made.stream_artifact("a")]) == b"bytes"


async def test_another_sessions_artifact_is_not_read_even_by_its_digest(store: MemoryArtifacts) -> None:
    theirs = await store.put(one_chunk(b"theirs"))
    made = keeping(store)
    for name in (theirs.digest, "unknown", "../x", ""):
        with pytest.raises(ArtifactMissing):
            await made.read_artifact(name)


@pytest.mark.parametrize(
    ("name", "data", "media_type"),
    [
        ("", b"", "text/plain"),
        ("x" * 201, b"", "text/plain"),
        ("a\nb", b"", "text/plain"),
        ("a", "text", "text/plain"),
        ("a", 7, "text/plain"),
        ("a", b"", "text"),
        ("a", b"", "text/\r\nx"),
    ],
)
async def test_what_cannot_be_kept_is_refused(store: MemoryArtifacts, name: str, data: Any, media_type: str) -> None:
    with pytest.raises(BadInput):
        await keeping(store).artifact(name, data, media_type=media_type)
    assert store.blobs == {}


async def test_limits_hold(store: MemoryArtifacts) -> None:
    made = keeping(store)
    with pytest.raises(TooLarge):
        await made.artifact("a", b"12345", bytes_max=4)
    for n in range(ARTIFACTS_MAX):
        await made.artifact(f"n{n}", b"")
    with pytest.raises(BadInput, match="1000"):
        await made.artifact("one more", b"")
    await made.artifact("n0", b"an old name still takes new bytes")


async def test_the_workspace_is_read_written_and_deleted_by_path(store: MemoryArtifacts) -> None:
    made = keeping(store)
    await made.workspace.write("src/a.py", b"print()", executable=True)
    await made.workspace.write("b", b"b")
    assert await made.workspace.read("src/a.py") == b"print()"
    record = fold_all(new_record(), entries(made))
    later = keeping(store, record)
    assert later.workspace.files == made.workspace.files
    await later.workspace.delete("b")
    [(type_, body)] = entries(later)
    assert (type_, body) == ("workspace.changed", {"set": {}, "removed": ["b"]})
    for use in (later.workspace.read("b"), later.workspace.delete("b")):
        with pytest.raises(ArtifactMissing):
            await use
    for path in ("../b", "/b", "SRC/A.py"):
        with pytest.raises(BadInput):
            await later.workspace.write(path, b"x")


async def test_a_folder_is_captured_and_materialised(store: MemoryArtifacts, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a").write_text("a")
    made = keeping(store)
    captured = await made.workspace.capture(tmp_path / "one")
    assert made.workspace.files == captured.workspace
    later = keeping(store, fold_all(new_record(), entries(made)))
    await later.workspace.materialise(tmp_path / "two")
    assert (tmp_path / "two" / "a").read_text() == "a"


async def test_nothing_is_kept_once_the_turn_is_over(store: MemoryArtifacts) -> None:
    made = keeping(store)
    workspace = made.workspace
    made.close()
    with pytest.raises(TurnClosed):
        await made.artifact("a", b"")
    with pytest.raises(TurnClosed):
        await workspace.write("a", b"")
    assert store.blobs == {}


async def test_an_engine_without_a_store_says_so() -> None:
    made = turn()
    made.keep_in(None, new_record())
    with pytest.raises(BadSettings, match="no artifact store"):
        await made.artifact("a", b"")
    assert made.intents.kept is None
