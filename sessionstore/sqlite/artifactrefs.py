"""Which transcript events refer to which artifacts, written in the transaction that appends them."""

from collections.abc import Iterable, Sequence

import orjson

from sessionstore.artifact import REFERRING, digests_in_entry
from sessionstore.commit import Entry
from sessionstore.inbox import SessionRef
from sessionstore.sqlite.database import Transaction


def put_refs(tx: Transaction, ref: SessionRef, first_seq: int, entries: Sequence[Entry]) -> None:
    """Note the artifacts that these events refer to; no statement where none does."""
    rows = [
        (ref.tenant, ref.session, digest, seq)
        for seq, entry in enumerate(entries, first_seq)
        if entry.type in REFERRING
        for digest in digests_in_entry(entry.type, entry.body)
    ]
    tx.run_many("artifact_ref_put", rows)


def put_held(tx: Transaction, ref: SessionRef, seq: int, digests: Iterable[str]) -> None:
    """Note artifacts that a session holds from `seq` on without an event of its own, such as a fork's."""
    tx.run_many("artifact_ref_put", [(ref.tenant, ref.session, digest, seq) for digest in digests])


def release_refs(tx: Transaction, ref: SessionRef, before_seq: int, keep: Iterable[str]) -> int:
    """Let go of what events below `before_seq` referred to, except for `keep`; returns the number of rows."""
    wanted = orjson.dumps(sorted(keep)).decode()
    return tx.run("artifact_ref_release", (ref.tenant, ref.session, before_seq, wanted)).rowcount
