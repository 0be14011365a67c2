"""What an operator's action does to a session, as one intervention. Pure: no I/O, no clock, no chance.

Each function takes the session as it was read and says what becomes of it: the transcript's new events, which effects
are not wanted any more, which questions are closed. The last event of each is `operator.closed`, which holds the
checksum of the record, as `turn.closed` does for a turn; so an action is a checkpoint as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from consumers.drafting import Draft, effect_id_for
from sessionstore import patch
from sessionstore.commit import Entry
from sessionstore.effect import Effect
from sessionstore.errors import BadInput, Conflict
from sessionstore.event import Event, Kind, Rank, ReplyRoute
from sessionstore.inbox import SessionRef
from sessionstore.intervention import Intervention
from sessionstore.operations import TrailLine
from sessionstore.record import Record, canonical, checksum
from sessionstore.session import Status

REASON_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class SessionView:
    """A session as it was read. `waits` are the open ones; `effects` those that have not ended, oldest first."""

    ref: SessionRef
    agent: str
    version: int
    seq: int
    epoch: int
    status: Status
    run_id: str
    record: Record
    reply_route: ReplyRoute | None
    waits: tuple[Mapping[str, Any], ...] = ()
    effects: tuple[Mapping[str, Any], ...] = ()
    queued: int = 0

    @property
    def person(self) -> str:
        """Who answers in the agent's place; empty when the agent does."""
        return str(self.record["control"].get("person") or "")


@dataclass(frozen=True, slots=True)
class Action:
    """Who asked for it, when, and why. `operation_id` makes the same request one action."""

    operation_id: str
    by: str
    at: float
    reason: str = ""


@dataclass(slots=True)
class Acting:
    """An intervention in the making."""

    view: SessionView
    action: Action
    name: str
    draft: Draft
    closed: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    changes: dict[str, Any] = field(default_factory=dict)

    def withdraw(self, effects: Sequence[Mapping[str, Any]]) -> None:
        for effect in effects:
            self.withdrawn.append(effect["effect_id"])
            self.draft.add("effect.withdrawn", {"effect_id": effect["effect_id"], "was": effect["state"]})

    def close_waits(self, waits: Sequence[Mapping[str, Any]]) -> None:
        for wait in waits:
            self.closed.append(wait["wait_id"])
            self.draft.add("wait.cancelled", {"wait_id": wait["wait_id"], "by": self.action.by})

    def close_run(self) -> None:
        if self.draft.record["execution"]["run"] is not None:
            self.draft.add("run.closed", {"reason": self.name})

    def give_up_outcomes(self) -> None:
        """What is still awaited of effects that have ended meanwhile: their outcome comes late, and runs nothing."""
        awaited = self.draft.record["execution"]["awaited"]
        for awaited_id in [k for k, item in awaited.items() if item["kind"] in ("outcome", "asked", "child")]:
            self.draft.add("effect.withdrawn", {"effect_id": awaited_id, "was": "awaited"})

    def status(self, status: Status, **more: Any) -> None:
        if self.draft.record["status"] != status.value:
            self.draft.add("session.status", {"status": status.value, "reason": self.action.reason, **more})

    def done(self) -> Intervention:
        view, action, draft = self.view, self.action, self.draft
        body = {"turn_id": action.operation_id, "action": self.name, "by": action.by, "reason": action.reason}
        final = canonical(draft.record)
        draft.sha256 = checksum(final)
        draft.digest.add_closing(body, "operator.closed")
        closing = {**body, "sha256": draft.sha256, "entries_sha256": draft.digest.hexdigest()}
        draft.entries.append(Entry("operator.closed", closing))
        run = draft.record["execution"]["run"]
        person = str(draft.record["control"].get("person") or "")
        given: dict[str, Any] = {
            "epoch": view.epoch,
            "effects": tuple(draft.effects),
            "waits": tuple(draft.waits),
            "reply_route": view.reply_route,
            **self.changes,
        }
        return Intervention(
            ref=view.ref,
            version=view.version,
            first_seq=view.seq + 1,
            operation_id=action.operation_id,
            entries=tuple(draft.entries),
            record=final,
            record_sha256=draft.sha256,
            status=Status(draft.record["status"]),
            run_id="" if run is None or person else run["id"],
            person=person,
            close_waits=tuple(self.closed),
            withdraw=tuple(self.withdrawn),
            trail=TrailLine(
                view.ref.tenant, action.by, f"session.{self.name}", view.ref.session, action.reason[:REASON_MAX]
            ),
            **given,
        )


def begin(view: SessionView, action: Action, name: str, **detail: Any) -> Acting:
    if len(action.reason) > REASON_MAX:
        raise BadInput(f"the reason has {len(action.reason)} characters, {REASON_MAX} fit", hint="shorten it")
    acting = Acting(view, action, name, Draft(view.record))
    acting.draft.add("operator.acted", {"action": name, "by": action.by, "reason": action.reason, **detail})
    return acting


def not_archived(view: SessionView) -> None:
    if view.status is Status.ARCHIVED:
        raise Conflict(f"{view.ref.session} is archived", hint="it takes nothing more; fork it to go on from it")


def pause(view: SessionView, action: Action) -> Intervention:
    """Nothing of it runs from now on; what comes is kept in order. A turn under way runs again afterwards, from its
    recorded steps. Effects that were decided on are still carried out."""
    not_archived(view)
    if view.status is Status.PAUSED:
        raise Conflict(f"{view.ref.session} is paused already", hint="`turnline sessions unpause` ends it")
    acting = begin(view, action, "pause")
    acting.status(Status.PAUSED, before=view.status.value)
    return acting.done()


def unpause(view: SessionView, action: Action) -> Intervention:
    """What has come meanwhile runs now, in order."""
    if view.status is not Status.PAUSED:
        raise Conflict(f"{view.ref.session} is not paused, it is {view.status.value}", hint="nothing was changed")
    acting = begin(view, action, "unpause")
    acting.status(Status(view.record["control"].get("paused_from") or "active"))
    return acting.done()


def cancel(view: SessionView, action: Action) -> Intervention:
    """Stop what it is doing: the turn under way, what its run has not sent yet, its open questions and timers. Then the
    agent's `on("cancel")` runs. What a stopped tool leaves unclear is unknown, not cancelled."""
    not_archived(view)
    acting = begin(view, action, "cancel")
    _stop(acting)
    acting.status(_resting(acting.draft.record, view))
    acting.changes["drop_current"] = f"cancelled by {action.by}"
    acting.changes["events"] = (_command(view, action, "cancel"),)
    return acting.done()


def kill(view: SessionView, action: Action) -> Intervention:
    """End it without asking the agent: as cancel, and what is queued is dropped. It is failed afterwards."""
    not_archived(view)
    acting = begin(view, action, "kill")
    _stop(acting)
    acting.status(Status.FAILED)
    acting.changes["drop_queued"] = f"killed by {action.by}"
    return acting.done()


def archive(view: SessionView, action: Action) -> Intervention:
    """It takes nothing more. What is awaited is given up; what was decided on and not sent is withdrawn."""
    not_archived(view)
    acting = begin(view, action, "archive")
    _stop(acting)
    acting.status(Status.ARCHIVED)
    acting.changes["drop_queued"] = "the session is archived"
    return acting.done()


def reset(view: SessionView, action: Action) -> Intervention:
    """A new epoch of the same key: an empty record and state. Nothing that was queued, awaited or not yet sent leaks
    into it; what arrives late is recorded under its old epoch."""
    not_archived(view)
    acting = begin(view, action, "reset", epoch=view.epoch + 1)
    _stop(acting)
    acting.draft.add("session.reset", {"epoch": view.epoch + 1, "by": action.by})
    acting.changes["epoch"] = view.epoch + 1
    acting.changes["drop_queued"] = f"reset by {action.by}"
    return acting.done()


def interrupt(view: SessionView, action: Action) -> Intervention:
    """Stop the open run and the turn under way, and what the run has not sent; questions of other runs stay open."""
    not_archived(view)
    acting = begin(view, action, "interrupt")
    run = view.record["execution"]["run"]
    run_id = view.run_id or (run["id"] if run else "")
    acting.withdraw([e for e in view.effects if run_id and e["run_id"] == run_id])
    acting.give_up_outcomes()
    acting.close_run()
    acting.status(_resting(acting.draft.record, view))
    acting.changes.update(clear_journal=True, drop_current=f"interrupted by {action.by}")
    return acting.done()


def resume(view: SessionView, action: Action, valid: Record | None = None) -> Intervention:
    """Go on from the newest valid checkpoint: what was put off after a failure is due at once, with all its attempts.

    `valid` is an older record to go on from, where the newest one is damaged.
    """
    not_archived(view)
    if view.status is Status.PAUSED:
        raise Conflict(f"{view.ref.session} is paused", hint="`turnline sessions unpause` ends a pause")
    acting = begin(view, action, "resume", damaged=valid is not None)
    if valid is not None:
        acting.draft.add("session.restored", {"record": valid, "to_seq": None, "conversation": True})
    if view.status in (Status.FAILED, Status.COMPLETED):
        acting.status(_resting({**acting.draft.record, "status": "active"}, view))
    acting.changes["due_now"] = True
    return acting.done()


def edit(view: SessionView, action: Action, state: Any, *, expected_version: int | None = None) -> Intervention:
    """Put another state in place of the agent's own, by compare-and-set."""
    not_archived(view)
    if expected_version is not None and expected_version != view.version:
        raise Conflict(
            f"{view.ref.session} is at version {view.version}, not {expected_version}", hint="look again, then edit"
        )
    ops = patch.diff(view.record["state"], state)
    acting = begin(view, action, "edit", version=view.version)
    if ops:
        acting.draft.add("state.patched", {"ops": ops, "by": action.by})
    return acting.done()


def takeover(view: SessionView, action: Action) -> Intervention:
    """A person answers in the agent's place: what comes in is recorded, and no handler runs until it is handed back."""
    not_archived(view)
    if view.person:
        raise Conflict(f"{view.person} answers in {view.ref.session} already", hint="hand it back first")
    acting = begin(view, action, "takeover")
    acting.draft.add("session.person", {"person": action.by})
    return acting.done()


def say(view: SessionView, action: Action, text: str) -> Intervention:
    """Say something as a person, where the session's replies go; it is an effect like any reply."""
    not_archived(view)
    if not text:
        raise BadInput("there is nothing to say", hint="give a text")
    acting = begin(view, action, "say")
    route = view.reply_route
    effect_id = effect_id_for(action.operation_id, 0) if route else ""
    lane = str(route.get("lane") or route["adapter"]) if route else ""
    acting.draft.add("message.out", {"effect_id": effect_id, "text": text, "lane": lane, "by": action.by})
    if route is not None:
        adapter = str(route["adapter"])
        effect = Effect(effect_id, adapter, lane, route, {"text": text}, summary=text[:80])
        acting.draft.effects.append(effect)
    return acting.done()


def handback(view: SessionView, action: Action) -> Intervention:
    """The agent answers again; what it awaited and what came of it meanwhile runs now."""
    if not view.person:
        raise Conflict(f"nobody has taken {view.ref.session} over", hint="nothing was changed")
    acting = begin(view, action, "handback")
    acting.draft.add("session.person", {"person": ""})
    return acting.done()


def _stop(acting: Acting) -> None:
    acting.withdraw(acting.view.effects)
    acting.close_waits(acting.view.waits)
    acting.give_up_outcomes()
    acting.close_run()
    acting.changes["clear_journal"] = True


def _resting(record: Record, view: SessionView) -> Status:
    """The status of a session in which nothing runs."""
    if view.status is Status.PAUSED:
        return Status.PAUSED
    return Status.WAITING if record["execution"]["awaited"] else Status.ACTIVE


def _command(view: SessionView, action: Action, type_: str) -> Event:
    return Event(
        tenant=view.ref.tenant,
        source="operator",
        id=action.operation_id,
        type=type_,
        session=view.ref.session,
        agent=view.agent,
        data={"by": action.by, "reason": action.reason},
        time=action.at,
        kind=Kind.COMMAND,
        rank=Rank.COMMAND,
        sender=action.by,
        reply_route=view.reply_route,
    )
