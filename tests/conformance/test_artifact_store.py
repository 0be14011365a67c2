"""`ArtifactStore`: blobs are whole or not there, are what they are named after, and go only when they are old."""

import asyncio
import hashlib
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sessionstore.artifact import CHUNK_BYTES, ArtifactStore, one_chunk, read_whole
from sessionstore.errors import ArtifactDamaged, ArtifactMissing, BadInput, TooLarge
from tests.conformance.blobplaces import BUCKET, PLACES, STREAMING, BlobPlace
from tests.conformance.objectserver import object_server

FUTURE = 4_000_000_000.0
MIB = 1_048_576


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    with object_server(BUCKET) as url:
        yield url


def driver(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.service) if name == "s3" else name


@pytest.fixture(params=[driver(name) for name in PLACES])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> BlobPlace:
    url = request.getfixturevalue("s3") if request.param == "s3" else ""
    return PLACES[request.param](tmp_path, url)


@pytest.fixture
async def artifacts(blobs: BlobPlace) -> AsyncIterator[ArtifactStore]:
    store = blobs.open()
    yield store
    await store.close()


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


async def stored(artifacts: ArtifactStore) -> set[str]:
    return {blob.digest async for page in artifacts.pages() for blob in page}


@pytest.mark.parametrize("data", [b"", b"x", b"ab" * 1_000, bytes(3 * CHUNK_BYTES + 7)], ids=len)
async def test_what_was_put_is_read_under_its_sha256_also_after_reopening(
    blobs: BlobPlace, artifacts: ArtifactStore, data: bytes
) -> None:
    blob = await artifacts.put(pieces(data, 100_003))
    assert (blob.digest, blob.size) == (digest_of(data), len(data))
    for store in (artifacts, blobs.open()):
        assert await read_whole(store.read(blob.digest)) == data
        assert await store.sizes([blob.digest]) == {blob.digest: len(data)}


async def test_however_the_bytes_are_cut_the_blob_is_the_same(artifacts: ArtifactStore) -> None:
    data = bytes(range(256)) * 5_000
    cut = {(await artifacts.put(pieces(data, size))).digest for size in (997, CHUNK_BYTES, len(data))}
    assert cut == {digest_of(data)}
    assert await stored(artifacts) == cut


async def test_putting_again_keeps_one_blob_and_makes_it_new(artifacts: ArtifactStore) -> None:
    await artifacts.put(one_chunk(b"same"))
    [[before]] = [page async for page in artifacts.pages()]
    again = await artifacts.put(one_chunk(b"same"))
    [[after]] = [page async for page in artifacts.pages()]
    assert (after.digest, after.size) == (again.digest, 4)
    assert after.stored_at >= before.stored_at


async def test_concurrent_puts_of_one_content_all_succeed(blobs: BlobPlace, artifacts: ArtifactStore) -> None:
    data = b"together" * 50_000
    done = await asyncio.gather(*(store.put(pieces(data, 60_000)) for store in (artifacts, blobs.open()) * 8))
    assert {blob.digest for blob in done} == {digest_of(data)}
    assert await stored(artifacts) == {digest_of(data)}
    assert await read_whole(artifacts.read(digest_of(data))) == data


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param(lambda data: data[:-1], id="truncated"),
        pytest.param(lambda data: b"", id="emptied"),
        pytest.param(lambda data: data + b"x", id="longer"),
        pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 1]), id="last bit"),
        pytest.param(lambda data: bytes([data[0] ^ 1]) + data[1:], id="first bit"),
    ],
)
async def test_a_damaged_blob_raises_and_its_end_is_never_given_out(
    blobs: BlobPlace, artifacts: ArtifactStore, spoilt: object
) -> None:
    data = bytes(range(256)) * 12_000
    blob = await artifacts.put(one_chunk(data))
    damaged = spoilt(data)  # type: ignore[operator]
    await blobs.spoil(blob.digest, damaged)
    given = bytearray()

    async def reading() -> None:
        async for chunk in artifacts.read(blob.digest):
            given.extend(chunk)

    with pytest.raises(ArtifactDamaged):
        await reading()
    assert len(given) < len(damaged) or not damaged


async def test_putting_the_content_again_heals_a_damaged_blob(blobs: BlobPlace, artifacts: ArtifactStore) -> None:
    blob = await artifacts.put(one_chunk(b"content"))
    await blobs.spoil(blob.digest, b"contend")
    await artifacts.put(one_chunk(b"content"))
    assert await read_whole(artifacts.read(blob.digest)) == b"content"


async def test_an_unknown_digest_is_missing(artifacts: ArtifactStore) -> None:
    unknown = digest_of(b"never stored")
    with pytest.raises(ArtifactMissing):
        await read_whole(artifacts.read(unknown))
    assert await artifacts.sizes([unknown]) == {}
    assert await artifacts.delete([unknown], stored_before=FUTURE) == []


@pytest.mark.parametrize(
    "name", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 65, "a" * 63 + "/", "a" * 64 + "\n"]
)
async def test_what_is_no_digest_never_becomes_a_path(artifacts: ArtifactStore, name: str) -> None:
    with pytest.raises(BadInput):
        await read_whole(artifacts.read(name))
    with pytest.raises(BadInput):
        await artifacts.sizes([name])
    with pytest.raises(BadInput):
        await artifacts.delete([name], stored_before=FUTURE)


async def test_more_than_the_limit_is_refused_while_it_comes_and_leaves_nothing(artifacts: ArtifactStore) -> None:
    taken = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield bytes(1_000)

    with pytest.raises(TooLarge):
        await artifacts.put(endless(), bytes_max=10_000)
    assert taken == 11
    assert await stored(artifacts) == set()
    assert (await artifacts.put(one_chunk(bytes(10_000)), bytes_max=10_000)).size == 10_000


async def test_a_source_that_breaks_leaves_nothing(artifacts: ArtifactStore) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield bytes(2 * CHUNK_BYTES)
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await artifacts.put(breaking())
    assert await stored(artifacts) == set()


async def test_a_cancelled_put_leaves_nothing(artifacts: ArtifactStore) -> None:
    begun = asyncio.Event()

    async def hanging() -> AsyncIterator[bytes]:
        yield bytes(2 * CHUNK_BYTES)
        begun.set()
        await asyncio.Event().wait()

    putting = asyncio.ensure_future(artifacts.put(hanging()))
    await begun.wait()
    putting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await putting
    assert await stored(artifacts) == set()
    assert await artifacts.sweep(begun_before=FUTURE) == 0


async def test_text_is_refused(artifacts: ArtifactStore) -> None:
    with pytest.raises(BadInput, match="not str"):
        await artifacts.put(one_chunk("text"))  # type: ignore[arg-type]


async def test_only_what_is_old_enough_is_deleted(artifacts: ArtifactStore) -> None:
    blobs = [await artifacts.put(one_chunk(data)) for data in (b"one", b"two")]
    digests = [blob.digest for blob in blobs]
    assert await artifacts.delete(digests, stored_before=1.0) == []
    assert await stored(artifacts) == set(digests)
    assert await artifacts.delete(digests[:1], stored_before=FUTURE) == digests[:1]
    assert await stored(artifacts) == {digests[1]}
    with pytest.raises(ArtifactMissing):
        await read_whole(artifacts.read(digests[0]))


async def test_a_deleted_blob_can_be_put_again(artifacts: ArtifactStore) -> None:
    blob = await artifacts.put(one_chunk(b"back"))
    await artifacts.delete([blob.digest], stored_before=FUTURE)
    await artifacts.put(one_chunk(b"back"))
    assert await read_whole(artifacts.read(blob.digest)) == b"back"


async def test_every_blob_is_listed_once(artifacts: ArtifactStore) -> None:
    put = [(await artifacts.put(one_chunk(f"blob {n}".encode()))).digest for n in range(40)]
    listed = [blob.digest async for page in artifacts.pages() for blob in page]
    assert sorted(listed) == sorted(put)


async def test_reading_a_part_and_leaving_is_allowed(artifacts: ArtifactStore) -> None:
    blob = await artifacts.put(one_chunk(bytes(4 * CHUNK_BYTES)))
    async for chunk in artifacts.read(blob.digest):
        assert chunk
        break
    assert len(await read_whole(artifacts.read(blob.digest))) == blob.size


@pytest.mark.parametrize("blobs", [driver(name) for name in STREAMING], indirect=True)
async def test_fifty_megabytes_pass_without_being_held_in_memory(artifacts: ArtifactStore) -> None:
    async def source() -> AsyncIterator[bytes]:
        for n in range(50):
            yield bytes([n]) * MIB

    tracemalloc.start()
    try:
        blob = await artifacts.put(source())
        read = 0
        async for chunk in artifacts.read(blob.digest):
            read += len(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read == blob.size == 50 * MIB
    assert peak < 30 * MIB
