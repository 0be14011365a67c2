"""The operator: reads a session, has the action decided, and writes it down if the session has not moved meanwhile."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

import orjson

from consumers import operating, rewinding
from consumers.agent import Agent
from consumers.operating import Action, SessionView
from consumers.rewinding import Preview
from consumers.state import plain_state, state_from
from sessionstore.clock import Clock
from sessionstore.errors import Conflict, Damaged, NotFound
from sessionstore.history import events_after, newest_valid, point_at
from sessionstore.inbox import SessionRef
from sessionstore.intervention import AlreadyIntervened, Intervened, Intervention, Moved
from sessionstore.record import checksum, new_record
from sessionstore.session import Status
from sessionstore.store import Store

TRIES_MAX = 20
EFFECTS_MAX = 10_000
OPEN_STATES = ("pending", "retry", "sending", "unknown")

Decide = Callable[[SessionView, Action], Intervention]


@dataclass(frozen=True, slots=True)
class Acted:
    """What was done, or with `dry_run` what would be: durable on return otherwise.

    `withdrawn` are the effects that are not wanted any more, with their states now; `dropped` the events that will not
    run. `preview` is there for a rewind, a fork and a replay.
    """

    session: str
    action: str
    version: int
    seq: int
    withdrawn: tuple[tuple[str, str], ...]
    dropped: int
    closed_waits: tuple[str, ...]
    preview: Preview | None = None
    dry_run: bool = False


class Operator:
    """Operator actions on sessions. Each raises NotFound, or Conflict with what to do instead."""

    def __init__(self, store: Store, clock: Clock, agents: Mapping[str, Agent[Any]] | None = None) -> None:
        self._store = store
        self._clock = clock
        self._agents = agents or {}

    async def pause(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.pause`."""
        return await self._act(ref, by, reason, operating.pause, dry_run)

    async def unpause(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.unpause`."""
        return await self._act(ref, by, reason, operating.unpause, dry_run)

    async def cancel(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.cancel`."""
        return await self._act(ref, by, reason, operating.cancel, dry_run)

    async def kill(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.kill`."""
        return await self._act(ref, by, reason, operating.kill, dry_run)

    async def reset(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.reset`."""
        return await self._act(ref, by, reason, operating.reset, dry_run)

    async def archive(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.archive`."""
        return await self._act(ref, by, reason, operating.archive, dry_run)

    async def interrupt(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.interrupt`."""
        return await self._act(ref, by, reason, operating.interrupt, dry_run)

    async def takeover(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.takeover`."""
        return await self._act(ref, by, reason, operating.takeover, dry_run)

    async def handback(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.handback`."""
        return await self._act(ref, by, reason, operating.handback, dry_run)

    async def say(self, ref: SessionRef, by: str, text: str, *, dry_run: bool = False) -> Acted:
        """See `operating.say`."""
        return await self._act(ref, by, "", lambda view, action: operating.say(view, action, text), dry_run)

    async def edit(
        self,
        ref: SessionRef,
        by: str,
        change: Callable[[Any], Any],
        reason: str = "",
        *,
        expected_version: int | None = None,
        dry_run: bool = False,
    ) -> Acted:
        """Change the agent's own state; `change` gets a copy and returns the new one, checked against the agent's model
        where this process has the agent. Without `expected_version` it is applied to the state of the moment."""

        def decide(view: SessionView, action: Action) -> Intervention:
            state = change(orjson.loads(orjson.dumps(view.record["state"])))
            agent = self._agents.get(view.agent)
            if agent is not None:
                state = plain_state(agent, state_from(agent, state))
            return operating.edit(view, action, state, expected_version=expected_version)

        return await self._act(ref, by, reason, decide, dry_run)

    async def resume(self, ref: SessionRef, by: str, reason: str = "", *, dry_run: bool = False) -> Acted:
        """See `operating.resume`. A record that fails its checksum is replaced by the newest checkpoint that holds."""
        stored = await self._store.reads.record(ref)
        valid = None
        if stored is not None and checksum(bytes(stored[1])) != stored[2]:
            valid = (await newest_valid(self._store.reads, ref)).record
        return await self._act(
            ref, by, reason, lambda view, action: operating.resume(view, action, valid), dry_run, damaged=valid
        )

    async def rewind(self, ref: SessionRef, by: str, to_seq: int, reason: str = "", *, dry_run: bool = False) -> Acted:
        """Go back to the checkpoint at `to_seq`: see `rewinding.rewind`."""
        point = await point_at(self._store.reads, ref, to_seq)
        operation_id = _operation_id()
        for _ in range(TRIES_MAX):
            view = await self._view(ref)
            later = [row async for row in events_after(self._store.reads, ref, to_seq)]
            known = await self._known(ref, point.record)
            action = Action(operation_id, by, self._clock.now(), reason)
            intervention, preview = rewinding.rewind(view, action, point, later, known)
            done = await self._write(intervention, "rewind", dry_run, preview)
            if done is not None:
                return done
        raise _busy(ref)

    async def fork(
        self, ref: SessionRef, by: str, to_seq: int, new_key: str, reason: str = "", *, dry_run: bool = False
    ) -> Acted:
        """A new session that begins with this one's past up to `to_seq`: see `rewinding.fork`."""
        point = await point_at(self._store.reads, ref, to_seq)
        view = await self._view(ref)
        known = await self._known(ref, point.record)
        action = Action(_operation_id(), by, self._clock.now(), reason)
        target = SessionRef(ref.tenant, new_key)
        intervention, preview = rewinding.fork(view, action, point, target, known)
        done = await self._write(intervention, "fork", dry_run, preview)
        if done is None:
            raise Conflict(f"there is a session {new_key} already", hint="name another key")
        return done

    async def _act(
        self,
        ref: SessionRef,
        by: str,
        reason: str,
        decide: Decide,
        dry_run: bool,
        *,
        damaged: dict[str, Any] | None = None,
    ) -> Acted:
        operation_id = _operation_id()
        for _ in range(TRIES_MAX):
            view = await self._view(ref, damaged)
            intervention = decide(view, Action(operation_id, by, self._clock.now(), reason))
            name = intervention.trail.action.removeprefix("session.")
            done = await self._write(intervention, name, dry_run, None)
            if done is not None:
                return done
        raise _busy(ref)

    async def _write(self, x: Intervention, name: str, dry_run: bool, preview: Preview | None) -> Acted | None:
        """None where the session has moved since it was read."""
        if dry_run:
            would = tuple((effect_id, "") for effect_id in x.withdraw)
            return Acted(x.ref.session, name, x.version, x.first_seq - 1, would, 0, x.close_waits, preview, True)
        [result] = await self._store.interventions.intervene([x])
        match result:
            case Intervened(version=version, seq=seq, withdrawn=withdrawn, dropped=dropped):
                states = tuple((w.effect_id, w.state.value) for w in withdrawn)
                return Acted(x.ref.session, name, version, seq, states, dropped, x.close_waits, preview)
            case AlreadyIntervened():
                last = x.first_seq + len(x.entries) - 1
                return Acted(x.ref.session, name, x.version + 1, last, (), 0, x.close_waits, preview)
            case Moved():
                return None
            case _:
                assert_never(result)

    async def _view(self, ref: SessionRef, instead: dict[str, Any] | None = None) -> SessionView:
        """The session; what moves between these reads shows in the version, which the write compares."""
        reads = self._store.reads
        head = await reads.session(ref)
        if head is None:
            raise NotFound(f"there is no session {ref.session}", hint="`turnline sessions list` shows them")
        stored = await reads.record(ref)
        if instead is None and stored is not None and checksum(bytes(stored[1])) != stored[2]:
            raise Damaged(
                f"the record of {ref.session} fails its checksum",
                hint="`turnline verify` tells where; `turnline sessions resume` goes back to what is valid",
            )
        effects = await reads.effects(ref.tenant, session=ref.session, states=OPEN_STATES, limit=EFFECTS_MAX)
        return SessionView(
            ref=ref,
            agent=head["agent"],
            version=head["version"],
            seq=head["seq"],
            epoch=head["epoch"],
            status=Status(head["status"]),
            run_id=head["run_id"],
            record=instead or head["record"] or new_record(),
            reply_route=head["reply_route"],
            waits=tuple(await reads.waits(ref.tenant, session=ref.session, limit=EFFECTS_MAX)),
            effects=tuple(reversed(effects)),
            queued=head["queued"],
        )

    async def _known(self, ref: SessionRef, record: dict[str, Any]) -> rewinding.Known:
        """What became of everything that the record awaits."""
        waits: dict[str, Mapping[str, Any]] = {}
        effects: dict[str, Mapping[str, Any]] = {}
        for awaited_id, item in record["execution"]["awaited"].items():
            if item["kind"] in ("outcome", "asked"):
                effect = await self._store.reads.effect(awaited_id)
                if effect is not None:
                    effects[awaited_id] = effect
            else:
                wait = await self._store.waits.get(awaited_id)
                if wait is not None:
                    waits[awaited_id] = wait
        return rewinding.Known(waits, effects)


def _operation_id() -> str:
    return uuid.uuid4().hex


def _busy(ref: SessionRef) -> Conflict:
    return Conflict(f"{ref.session} keeps moving on", hint="pause it first, then try again")
