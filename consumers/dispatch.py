"""Dispatch: which handler gets these rows, and with what. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, TypeVar, assert_never, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter

from consumers.agent import Agent
from consumers.compose import answer_status
from consumers.outcome import Decision, Fired, Outcome
from sessionstore import patch
from sessionstore.event import Event, Kind
from sessionstore.inbox import InboxRow
from sessionstore.record import Record


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A handler and its arguments after the turn. `binds` are the facts to look at again before it runs.

    `approval` is the wait that was approved: what is called now is bound to the facts that it was bound to.
    """

    name: str
    handler: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    binds: Mapping[str, Any] = field(default_factory=dict)
    approval: str = ""

    def with_facts(self, facts: Mapping[str, Any]) -> "Dispatch":
        """An answer whose facts have moved is void before its handler sees it: it approves nothing."""
        moved = {name: value for name, value in facts.items() if not patch.same(self.binds[name], value)}
        if not moved:
            return self
        arguments = tuple(
            replace(a, status="void", facts=moved) if isinstance(a, Decision) else a for a in self.arguments
        )
        return replace(self, arguments=arguments, approval="")


@dataclass(frozen=True, slots=True)
class NoHandler:
    """Recorded, and nothing runs. `ask_again` names a question that is void and has to be asked anew."""

    reason: str
    ask_again: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def dispatch(agent: Agent[Any], record: Record, rows: Sequence[InboxRow]) -> Dispatch | NoHandler:
    """Who handles these rows, given what the session awaits."""
    event = rows[-1].event
    match event.kind:
        case Kind.MESSAGE | Kind.CRON | Kind.COMMAND:
            person = record["control"].get("person")
            if person:
                return NoHandler(f"{person} answers in the agent's place")
            # A command is for the handler that names it: `*` is for what comes from outside.
            command = event.kind is Kind.COMMAND
            handler = agent.handlers.get(event.type) if command else agent.handler_for(event.type)
            if handler is None:
                return NoHandler(f"agent {agent.name!r} has no handler for {event.type!r}")
            return Dispatch(event.type, handler)
        case Kind.ANSWER:
            return _answer(agent, record, event)
        case Kind.TIMER:
            return _continue(
                agent, record, event, event.data["wait_id"], Fired(event.data["wait_id"], event.data["data"])
            )
        case Kind.OUTCOME:
            return _outcome(agent, record, event)
        case _:
            assert_never(event.kind)


def _answer(agent: Agent[Any], record: Record, event: Event) -> Dispatch | NoHandler:
    data = event.data
    decision = Decision(
        status=answer_status(data),
        answer=data["answer"],
        by=data["by"],
        note=data["note"],
        question=data["question"],
        wait_id=data["wait_id"],
        data=data["data"],
    )
    found = _continue(agent, record, event, data["wait_id"], decision)
    # A no holds whatever has changed since, and what follows from it is bound to nothing.
    if isinstance(found, Dispatch) and data["binds"] and decision.status in ("approved", "answered"):
        return replace(found, binds=data["binds"], approval=data["wait_id"])
    return found


def _outcome(agent: Agent[Any], record: Record, event: Event) -> Dispatch | NoHandler:
    data = event.data
    if data["outcome"] == "asked":
        return NoHandler("nobody can tell whether it was done; a person has to say")
    if data["outcome"] == "void" and data["approval"]:
        return NoHandler("the approval is void: what it was given for has changed", data["approval"], data["facts"])
    outcome: Outcome[Any] = Outcome(
        status=data["outcome"],
        result=_typed(agent.continuations.get(data["then"]), data["result"]),
        error=data["error"],
        receipt=data["receipt"],
        external_id=data["external_id"],
        effect_id=data["effect_id"],
        facts=data["facts"],
    )
    return _continue(agent, record, event, data["effect_id"], outcome)


def _typed(handler: Callable[..., Any] | None, result: Any) -> Any:
    """The result as the continuation's own annotation, `Outcome[Order]`, says; plain data where it says nothing."""
    wanted = _result_type(handler) if handler is not None and result is not None else None
    return result if wanted is None else wanted.validate_python(result)


@lru_cache(maxsize=1024)
def _result_type(handler: Callable[..., Any]) -> TypeAdapter[Any] | None:
    try:
        hints = get_type_hints(handler)
    except (NameError, TypeError):
        return None
    for hint in hints.values():
        if get_origin(hint) is Outcome:
            wanted = get_args(hint)[0]
            return None if wanted is Any or isinstance(wanted, TypeVar) else TypeAdapter(wanted)
    return None


def _continue(agent: Agent[Any], record: Record, event: Event, awaited: str, argument: Any) -> Dispatch | NoHandler:
    if awaited not in record["execution"]["awaited"]:
        return NoHandler("what this answers is not awaited any more")
    name = event.data["then"]
    handler = agent.continuations.get(name)
    if handler is None:
        return NoHandler(f"agent {agent.name!r} has no continuation {name!r}")
    return Dispatch(name, handler, (argument,))
