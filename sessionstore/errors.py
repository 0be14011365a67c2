"""One error tree; each error has a stable code, says what to do next and whether a retry helps.

TurnlineError
├── BadInput            what the caller sent cannot be used
│   ├── BadKey          a session key that does not parse, or is too long
│   ├── BadSettings     a setting is missing or wrong
│   └── TooLarge        over a stated limit
├── Refused             the caller may not do this
│   ├── BadSignature    unsigned, or the signature does not fit
│   └── NotAllowed      the token or the namespace does not allow it
├── NotFound            no such session, effect, approval, job or source
│   └── ArtifactMissing nothing is stored under this digest or name
├── Conflict            somebody else was first
│   ├── IdConflict      the id was used with another body
│   ├── AlreadyAnswered the question has its answer
│   ├── FenceLost       another owner has the session
│   ├── Ambiguous       several things are meant
│   └── FilesChanged    files were changed outside, and are not overwritten
├── NoRoute             a reply without anywhere to go
├── StoreError          the store could not do it
│   ├── StoreBusy       locked or full; nothing was written
│   └── Damaged         a checksum or a sequence does not hold
│       └── ArtifactDamaged  an artifact's bytes are not those that were stored
└── Overloaded          a bound was reached; nothing was taken
"""


class TurnlineError(Exception):
    """The root. `str(error)` is one sentence; `hint` says what to do next."""

    code = "error"
    status = 500
    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class BadInput(TurnlineError):
    code = "bad_input"
    status = 400


class BadKey(BadInput):
    code = "bad_key"


class BadSettings(BadInput):
    code = "bad_settings"


class TooLarge(BadInput):
    code = "too_large"
    status = 413


class Refused(TurnlineError):
    code = "refused"
    status = 403


class BadSignature(Refused):
    code = "bad_signature"
    status = 401


class NotAllowed(Refused):
    code = "not_allowed"


class NotFound(TurnlineError):
    code = "not_found"
    status = 404


class ArtifactMissing(NotFound):
    code = "artifact_missing"


class Conflict(TurnlineError):
    code = "conflict"
    status = 409


class IdConflict(Conflict):
    code = "id_conflict"


class AlreadyAnswered(Conflict):
    code = "already_answered"


class FenceLost(Conflict):
    code = "fence_lost"


class Ambiguous(Conflict):
    code = "ambiguous"


class FilesChanged(Conflict):
    code = "files_changed"


class NoRoute(TurnlineError):
    code = "no_route"
    status = 422


class StoreError(TurnlineError):
    code = "store_error"
    status = 503
    retryable = True


class StoreBusy(StoreError):
    code = "store_busy"


class Damaged(StoreError):
    code = "damaged"
    status = 500
    retryable = False


class ArtifactDamaged(Damaged):
    code = "artifact_damaged"


class Overloaded(TurnlineError):
    code = "overloaded"
    status = 503
    retryable = True
