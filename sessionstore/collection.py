"""Collection: remove the artifacts that nothing refers to any more.

A blob is stored before the commit that refers to it, so a young blob without a reference may be about to get one: it is
left alone for a grace period, which must be longer than any turn. Putting a blob again makes it young. A driver looks
at the age once more when it removes, so a blob that was put again after it was listed stays.
"""

from dataclasses import dataclass
from typing import Final

from sessionstore.artifact import ArtifactStore, StoredBlob
from sessionstore.errors import BadInput
from sessionstore.reads import Reads

GRACE_S: Final = 86_400.0
GRACE_MIN_S: Final = 3_600.0
COLLECTED_MAX: Final = 10_000


@dataclass(frozen=True, slots=True)
class Collected:
    """The blobs that were removed, or would be; `swept` are leftovers of broken puts. `more`: run it again."""

    blobs: tuple[StoredBlob, ...]
    swept: int
    more: bool

    @property
    def size(self) -> int:
        """Their bytes, all in all."""
        return sum(blob.size for blob in self.blobs)


async def collect(
    reads: Reads, artifacts: ArtifactStore, now: float, *, grace_s: float = GRACE_S, dry_run: bool = False
) -> Collected:
    """Remove what no record, no kept checkpoint and no kept transcript event of any session refers to, and what was
    last put more than `grace_s` before `now` (unix seconds). `dry_run` removes nothing and tells what it would."""
    if grace_s < GRACE_MIN_S:
        raise BadInput(
            f"a grace period of {grace_s:g} s is too short, {GRACE_MIN_S:g} s is the least",
            hint="a running turn may have stored artifacts that it has not committed yet",
        )
    before = now - grace_s
    gone: list[StoredBlob] = []
    async for page in artifacts.pages():
        old = {blob.digest: blob for blob in page if blob.stored_at < before}
        unwanted = old.keys() - await reads.referenced(sorted(old))
        doomed = sorted(unwanted)[: COLLECTED_MAX - len(gone)]
        removed = doomed if dry_run else await artifacts.delete(doomed, stored_before=before)
        gone.extend(old[digest] for digest in removed)
        if len(gone) >= COLLECTED_MAX:
            break
    swept = 0 if dry_run else await artifacts.sweep(begun_before=before)
    return Collected(tuple(gone), swept, len(gone) >= COLLECTED_MAX)
