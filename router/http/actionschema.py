"""The forms of operator actions on sessions."""

from typing import Any

from pydantic import Field, model_validator

from router.http.schema import Form


class Reason(Form):
    """Why, for the transcript and the audit trail. `dry_run` says what would be done, and does nothing."""

    reason: str = Field("", max_length=500)
    dry_run: bool = False


class SayRequest(Form):
    """A person's words."""

    text: str = Field(min_length=1, max_length=100_000)
    dry_run: bool = False


class EditRequest(Reason):
    """Either the whole new `state`, or `ops` of JSON Patch (add, remove, replace) on the state of the moment.

    `expected_version` makes it a compare-and-set.
    """

    state: Any = None
    ops: list[dict[str, Any]] | None = None
    expected_version: int | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> "EditRequest":
        if (self.ops is None) == ("state" not in self.model_fields_set):
            raise ValueError("give either `state` or `ops`")
        return self


class RewindRequest(Reason):
    """The checkpoint to go back to."""

    to_seq: int = Field(ge=1)


class ForkRequest(Reason):
    """The checkpoint to begin from, and the key of the new session."""

    at_seq: int = Field(ge=1)
    new_key: str


class WithdrawnView(Form):
    """An effect that is not wanted any more, and its state now (empty in a dry run)."""

    effect_id: str
    state: str


class PreviewView(Form):
    """What a rewind or a fork means, in words for people."""

    to_seq: int
    undone: list[str]
    seen: list[str]
    stays: list[str]
    withdrawn: list[str]
    asked_again: list[str]
    told_again: list[str]


class ActedView(Form):
    """What was done, or with `dry_run` what would be."""

    session_key: str
    action: str
    version: int
    seq: int
    withdrawn: list[WithdrawnView]
    dropped: int
    closed_waits: list[str]
    preview: PreviewView | None
    dry_run: bool
