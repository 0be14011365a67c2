"""Artifacts in object storage: S3 and what speaks its language, Google Cloud Storage, Azure Blob Storage.

One object a blob, at PREFIX/ab/ab12... The digest is known only when the last byte has come, so a put spools first, to
memory and above SPOOL_BYTES to a file, and then uploads under the final name, which storage shows whole or not at all.
Rejected: uploading under another name and copying; a crash leaves objects that cost money and that nobody looks for.

The library retries requests by itself. That is harmless here: all requests are safe to repeat.
"""

import contextlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import IO, Any, Final

import obstore
from obstore.exceptions import BaseError
from obstore.store import ObjectStore, from_url

from sessionstore.artifact import (
    BLOB_BYTES_MAX,
    CHUNK_BYTES,
    DIGEST,
    Blob,
    Intake,
    StoredBlob,
    checked_digest,
    gathered,
    verified,
)
from sessionstore.artifacts.folder import in_thread, missing, told
from sessionstore.errors import BadSettings, StoreError

SPOOL_BYTES: Final = 8_388_608
PART_BYTES: Final = 8_388_608
PARTS_AT_ONCE_MAX: Final = 2
PAGE_ROWS: Final = 1_000
RETRIES_MAX: Final = 4
RETRY_S: Final = 60.0


class ObjectArtifacts:
    """`ArtifactStore` on a bucket or container. Credentials and endpoint come from the environment, by the names that
    the vendors' own tools use (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, ...), or from `options`."""

    def __init__(self, url: str, *, options: Mapping[str, Any] | None = None) -> None:
        given = dict(options or {})
        retries: Any = {"max_retries": RETRIES_MAX, "retry_timeout": timedelta(seconds=RETRY_S)}
        try:
            self._objects: ObjectStore = from_url(url, retry_config=retries, **given)
        except (BaseError, ValueError) as error:
            raise BadSettings(
                f"artifacts cannot be kept there: {_first_line(error)}", hint="write s3://BUCKET/PREFIX, gs:// or az://"
            ) from error
        self._where = url

    async def put(self, data: AsyncIterable[bytes], *, bytes_max: int = BLOB_BYTES_MAX) -> Blob:
        """See `ArtifactStore.put`."""
        intake = Intake(bytes_max)
        spool: IO[bytes] = tempfile.SpooledTemporaryFile(SPOOL_BYTES)  # noqa: SIM115 - closed below, in a thread
        try:
            async for chunk in gathered(data, intake):
                with told_of_spool():
                    await in_thread(spool.write, chunk)
            blob = intake.blob()
            await self._upload(path_of(blob.digest), spool, blob.size)
        finally:
            await in_thread(spool.close)
        return blob

    async def _upload(self, path: str, spool: IO[bytes], size: int) -> None:
        await in_thread(spool.seek, 0)
        with self._told():
            if size <= SPOOL_BYTES:
                await obstore.put_async(self._objects, path, spool.read(), use_multipart=False)
            else:
                await obstore.put_async(
                    self._objects, path, _chunks(spool), chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE_MAX
                )

    async def read(self, digest: str) -> AsyncIterator[bytes]:
        """See `ArtifactStore.read`."""
        async with contextlib.aclosing(self._stream(checked_digest(digest))) as chunks:
            async for chunk in verified(digest, chunks):
                yield chunk

    async def _stream(self, digest: str) -> AsyncGenerator[bytes, None]:
        with self._told(digest):
            found = await obstore.get_async(self._objects, path_of(digest))
            async for chunk in found.stream(min_chunk_size=CHUNK_BYTES):
                yield bytes(chunk)

    async def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """See `ArtifactStore.sizes`."""
        found = {}
        for digest in digests:
            with contextlib.suppress(FileNotFoundError), self._told():
                found[digest] = (await obstore.head_async(self._objects, path_of(checked_digest(digest))))["size"]
        return found

    async def pages(self) -> AsyncIterator[list[StoredBlob]]:
        """See `ArtifactStore.pages`."""
        with self._told():
            async for page in obstore.list(self._objects, chunk_size=PAGE_ROWS):
                yield [
                    StoredBlob(digest, item["size"], item["last_modified"].timestamp())
                    for item in page
                    if (digest := _digest_in(item["path"]))
                ]

    async def delete(self, digests: Sequence[str], *, stored_before: float) -> list[str]:
        """See `ArtifactStore.delete`. Storage offers no removal on condition: between the look at an object's age and
        its removal lies one request, in which a put of the same content would be removed with it."""
        removed = []
        for digest in digests:
            path = path_of(checked_digest(digest))
            with contextlib.suppress(FileNotFoundError), self._told():
                about = await obstore.head_async(self._objects, path)
                if about["last_modified"].timestamp() < stored_before:
                    await obstore.delete_async(self._objects, path)
                    removed.append(digest)
        return removed

    async def sweep(self, *, begun_before: float) -> int:
        """See `ArtifactStore.sweep`. An upload that never ended is not an object; the bucket's own rule for unfinished
        multipart uploads removes it."""
        return 0

    async def close(self) -> None:
        """See `ArtifactStore.close`."""

    @contextlib.contextmanager
    def _told(self, digest: str = "") -> Iterator[None]:
        """Say what storage answered in our own words. A missing object is left to the caller, unless it is named."""
        try:
            yield
        except FileNotFoundError as error:
            if not digest:
                raise
            raise missing(digest) from error
        except (BaseError, OSError) as error:
            raise StoreError(
                f"{self._where} did not take the request: {_first_line(error)}",
                hint="look at the bucket, the credentials in the environment, and the network",
            ) from error


def path_of(digest: str) -> str:
    """Where a blob lies below the prefix."""
    return f"{digest[:2]}/{digest}"


def _digest_in(path: str) -> str:
    name = path.rpartition("/")[2]
    return name if DIGEST.fullmatch(name) and path.endswith(path_of(name)) else ""


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:500]


async def _chunks(spool: IO[bytes]) -> AsyncIterator[bytes]:
    while chunk := await in_thread(spool.read, CHUNK_BYTES):
        yield chunk


def told_of_spool() -> contextlib.AbstractContextManager[None]:
    """Say what the disk refused of the file that an upload is spooled to."""
    return told(tempfile.gettempdir())
