"""References to artifacts: they appear with the commit, and go only when retention lets them go; then blobs may go."""

from dataclasses import replace
from pathlib import Path

import pytest

from sessionstore.artifact import ArtifactStore, one_chunk, read_whole
from sessionstore.artifacts.folder import FolderArtifacts
from sessionstore.artifacts.memory import MemoryArtifacts
from sessionstore.clock import SystemClock
from sessionstore.collection import GRACE_MIN_S, collect
from sessionstore.commit import Committed, Entry, FenceRefused, SessionStore
from sessionstore.errors import BadInput
from sessionstore.inbox import SessionRef
from sessionstore.store import Store
from sessionstore.workspace import Changes, FileRef
from tests.conformance.places import Place
from tests.conformance.samples import REF, TENANT, acquire, closing, put, ref, refers, run_turn

A, B, C = ("a" * 64, "b" * 64, "c" * 64)
DAY_S = 86_400.0


@pytest.fixture(params=["folder", "memory"])
def artifacts(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    return FolderArtifacts(tmp_path / "blobs") if request.param == "folder" else MemoryArtifacts(SystemClock())


def now() -> float:
    """By the artifact stores' clock."""
    return SystemClock().now()


async def turn_with(store: Store, *entries: Entry, session: SessionRef = REF) -> Committed:
    head = await store.reads.session(session)
    await put(store, f"e{head['version'] if head else 0} of {session.session}", session=session.session)
    return await run_turn(store, session, entries=entries)


async def test_a_commit_notes_what_its_events_refer_to(place: Place, store: Store) -> None:
    changed = Entry("workspace.changed", Changes({"p": FileRef(B, 1), "q": FileRef(B, 1)}, ("r",)).to_json())
    await turn_with(store, Entry("message.in", {"digest": C}), refers("x", A), changed)
    store = await place.reopen(store)
    assert await store.reads.artifact_refs(REF) == [{"digest": A, "seq": 2}, {"digest": B, "seq": 3}]
    assert await store.reads.referenced([A, B, C]) == {A, B}
    assert await store.reads.referenced([]) == set()


async def test_a_refused_commit_and_a_repeated_one_note_nothing(commits: SessionStore, store: Store) -> None:
    await put(store, "a", "b")
    held = await acquire(store)
    stale = closing(held, entries=(refers("x", A),))
    [refused] = await commits.commit([replace(stale, lease=replace(held.lease, nonce="another"))])
    assert isinstance(refused, FenceRefused)
    assert await store.reads.referenced([A]) == set()
    for _ in range(2):
        await commits.commit([stale])
    assert await store.reads.artifact_refs(REF) == [{"digest": A, "seq": 1}]


async def test_letting_go_of_old_events_keeps_what_stays_in_records(store: Store) -> None:
    for name, digest in (("x", A), ("y", B), ("z", C)):
        await turn_with(store, refers(name, digest))
    await turn_with(store, refers("x", A), session=ref(2))
    assert await store.operations.release_artifacts(REF, before_seq=3, keep={B}) == 1
    assert await store.reads.artifact_refs(REF) == [{"digest": B, "seq": 2}, {"digest": C, "seq": 3}]
    assert await store.reads.referenced([A, B, C]) == {A, B, C}, "another session still refers to it"
    assert await store.operations.release_artifacts(ref(2), before_seq=2, keep=()) == 1
    assert await store.reads.referenced([A, B, C]) == {B, C}
    assert await store.operations.release_artifacts(SessionRef(TENANT, "agent:a/none:1"), before_seq=9, keep=()) == 0


async def test_only_old_blobs_without_any_reference_are_collected(store: Store, artifacts: ArtifactStore) -> None:
    kept = await artifacts.put(one_chunk(b"kept"))
    orphan = await artifacts.put(one_chunk(b"stored by a turn that never committed"))
    await turn_with(store, refers("x", kept.digest))
    for dry_run in (True, False):
        assert (await collect(store.reads, artifacts, now(), dry_run=dry_run)).blobs == ()
    later = now() + 2 * DAY_S
    preview = await collect(store.reads, artifacts, later, dry_run=True)
    assert [blob.digest for blob in preview.blobs] == [orphan.digest]
    assert (preview.size, preview.more) == (orphan.size, False)
    assert await artifacts.sizes([orphan.digest]) == {orphan.digest: orphan.size}
    assert (await collect(store.reads, artifacts, later)).blobs == preview.blobs
    assert (await collect(store.reads, artifacts, later)).blobs == ()
    assert await read_whole(artifacts.read(kept.digest)) == b"kept"
    await store.operations.release_artifacts(REF, before_seq=9, keep=())
    gone = await collect(store.reads, artifacts, later)
    assert [blob.digest for blob in gone.blobs] == [kept.digest]


async def test_too_short_a_grace_period_is_refused(store: Store, artifacts: ArtifactStore) -> None:
    with pytest.raises(BadInput, match="too short"):
        await collect(store.reads, artifacts, now(), grace_s=GRACE_MIN_S - 1)
