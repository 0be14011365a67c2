"""The API's forms: what its requests must look like and what its answers do look like."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Form(BaseModel):
    """Fields that are not named here are an error in a request and do not occur in an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Problem(BaseModel):
    """RFC 9457. `code` is stable, `hint` says what to do next, `retryable` whether the same request may work later."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    hint: str
    retryable: bool


class EventTaken(Form):
    """An event that is durable; `duplicate` when it was before."""

    event_id: str
    session_key: str
    duplicate: bool


class SessionLine(Form):
    """One session in a list. Times are unix seconds."""

    key: str
    agent: str
    status: str
    epoch: int
    phase: str
    turns: int
    queued: int
    waits_open: int
    effects_open: int
    last_text: str
    updated_at: float


class SessionList(Form):
    """Newest change first; `next` goes into `after` for the page behind this one."""

    sessions: list[SessionLine]
    next: str | None


class Totals(Form):
    """What a session has used."""

    turns: int
    tokens: int
    cost: float
    seconds: float


class Lease(Form):
    """The worker that has the session."""

    owner: str
    until: float


class Awaited(Form):
    """What a session waits for: an approval, a timer, an outcome, or (asked) a person's word on an outcome."""

    wait_id: str
    kind: str
    question: str
    then: str
    binds: dict[str, Any]
    expires_at: float | None
    due: float | None


class QueuedRow(Form):
    """An event that has not been settled; `due` when it is held back until then."""

    pos: int
    kind: str
    type: str
    text: str
    received_at: float
    due: float | None


class SessionView(Form):
    """One session: its head and what its record says. `next` is what comes next, in a sentence, if anything."""

    key: str
    agent: str
    status: str
    reason: str
    epoch: int
    seq: int
    phase: str
    next: str | None
    plan_next: str
    goal: dict[str, Any]
    run: dict[str, Any] | None
    awaited: list[Awaited]
    queued: list[QueuedRow]
    effects_open: int
    facts: dict[str, Any]
    state: Any
    totals: Totals
    lease: Lease | None
    reply_route: dict[str, Any] | None
    created_at: float
    updated_at: float


class TranscriptEvent(Form):
    """One transcript event; `body` by type."""

    seq: int
    epoch: int
    type: str
    at: float
    turn_id: str
    body: dict[str, Any]


class TranscriptPage(Form):
    """Oldest first; `next` goes into `after`, null at the end."""

    events: list[TranscriptEvent]
    next: int | None


class RecordView(Form):
    """The newest record; `sha256` is over its canonical spelling (JSON, keys sorted, no spaces)."""

    seq: int
    sha256: str
    record: dict[str, Any]


class CheckpointLine(Form):
    """A closing commit: where it stands in the transcript, and the checksum of the record that it made."""

    seq: int
    turn_id: str
    at: float
    sha256: str


class CheckpointPage(Form):
    """Oldest first; `next` goes into `after`, null at the end."""

    checkpoints: list[CheckpointLine]
    next: int | None


class EffectView(Form):
    """An outbox row without what it carries."""

    effect_id: str
    session_key: str
    agent: str
    epoch: int
    turn_id: str
    run_id: str
    adapter: str
    lane: str
    summary: str
    then: str
    binds: dict[str, Any] | None
    approval: str
    state: str
    due: float | None
    expires_at: float | None
    attempts: int
    checks: int
    external_id: str
    receipt: str
    error: str
    unwanted: bool
    possible_duplicate: bool
    created_at: float
    sent_at: float | None
    settled_at: float | None


class EffectList(Form):
    """Newest first."""

    effects: list[EffectView]


class Mark(Form):
    """How an unknown effect ended, by a person's word."""

    state: Literal["delivered", "failed"]
    note: str = Field("", max_length=1_000)


class ApprovalView(Form):
    """A question. `answer` is the word for people (empty while open), `value` the answer itself."""

    id: str
    session_key: str
    agent: str
    turn_id: str
    question: str
    options: list[str]
    binds: dict[str, Any]
    then: str
    status: str
    answer: str
    value: Any
    answered_by: str
    note: str
    asked_at: float
    expires_at: float | None
    ended_at: float | None


class ApprovalList(Form):
    """Open ones oldest first, others newest first."""

    approvals: list[ApprovalView]


class Answer(Form):
    """Either a decision or, where the question is open-ended, any JSON as `answer`."""

    decision: Literal["approve", "reject"] | None = None
    answer: Any = None
    note: str = Field("", max_length=1_000)

    @model_validator(mode="after")
    def _one_of_two(self) -> "Answer":
        if (self.decision is None) == ("answer" not in self.model_fields_set):
            raise ValueError("give either `decision` or `answer`")
        return self

    @property
    def value(self) -> Any:
        """What is stored: `approved`, `rejected` or the free answer."""
        return {"approve": "approved", "reject": "rejected", None: self.answer}[self.decision]


class DeadView(Form):
    """A dead letter; `preview` is the beginning of what came."""

    id: str
    session_key: str
    source: str
    event_id: str
    reason: str
    preview: str
    bytes: int
    at: float
    state: str


class DeadList(Form):
    """Newest first."""

    dead: list[DeadView]


class JobView(Form):
    """A cron job as declared, and its next and last nominal instants."""

    job: str
    agent: str
    handler: str
    session_key: str
    schedule: str
    tz: str
    misfire: str
    overlap: str
    grace_s: float
    next_due: float | None
    last_nominal: float | None
    paused: bool
    revision: int


class JobList(Form):
    """By name."""

    jobs: list[JobView]
