"""`turnline send`: an event, put durably into a session's inbox, whether or not a server runs."""

import asyncio
import hashlib
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, assert_never

import orjson
import typer

from router.callersource import caller_source
from router.hooks import CRON_TYPES, LABEL_CHARS_MAX, is_label
from router.jsonbody import Malformed, parse_json
from router.namespace import Denied, Namespace, chosen_key
from router.rules import NoOwner, fallback_agent
from sessionstore.errors import BadInput, BadKey, IdConflict, NotAllowed, Refused, TooLarge
from sessionstore.event import Event
from sessionstore.inbox import Accepted, Archived, BodyConflict, Dropped, Duplicate, NewRow, PutResult, SessionRef
from sessionstore.key import SessionKey
from turnline.cli.following import Handled, handled
from turnline.cli.opening import Opened, actor, settings_for, with_store
from turnline.cli.options import DataOption, DryRunOption, JsonOption, KeyTenantOption, StoreOption
from turnline.cli.screen import clean, facts, put_json, say, show
from turnline.datafolder import lock_holder
from turnline.settings import BODY_BYTES_MAX, Settings
from turnline.wiring import load_app

EXIT_NOT_HANDLED = 1
SOURCE = "cli"


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of it: `session_key` is the one that it really went to, the first time."""

    event_id: str
    session_key: str
    duplicate: bool
    status: str


def send(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT|@FILE|-", help="The text; @FILE reads a file, - reads stdin.")],
    session: Annotated[str, typer.Option("--session", "-s", metavar="KEY", help="The session that it goes to.")] = "",
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="Its own session with this agent, without --session.")
    ] = "",
    source: Annotated[str, typer.Option("--source", help="Where it comes from; ids are unique in a source.")] = SOURCE,
    event_id: Annotated[str, typer.Option("--id", help="Its id: sent again under the same id, it runs once.")] = "",
    type_: Annotated[
        str, typer.Option("--type", help="Other than message, a text that is a JSON object becomes the data.")
    ] = "message",
    wait_s: Annotated[
        float | None, typer.Option("--wait", metavar="SECONDS", min=0, help="Wait for its turn and print the replies.")
    ] = None,
    tenant: KeyTenantOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Put an event into a session, durably. It runs when a server does; sending the same --id again changes nothing."""
    settings = settings_for(ctx, data, store)
    _check_names(settings, source, event_id, type_)
    key = _key(settings, tenant or settings.tenant, session, agent, source)
    event = Event(
        tenant=key.tenant,
        source=source,
        id=event_id or str(uuid.uuid4()),
        type=type_,
        session=key.text,
        agent=key.agent,
        data=_data(_text(text), type_),
        time=time.time(),
        sender=actor(None),
    )
    if dry_run:
        _tell_dry(event, as_json)
        return

    async def work(opened: Opened) -> tuple[Sent, Handled | None]:
        ref = SessionRef(event.tenant, event.session)
        before = await opened.store.reads.newest_seq(ref)
        (result,) = await opened.store.inbox.put([NewRow(event, _body_hash(event))])
        sent = _sent(event, result)
        if wait_s is None:
            return sent, None
        ref = SessionRef(event.tenant, sent.session_key)
        return sent, await _handled(opened, ref, event, 0 if sent.duplicate else before, wait_s)

    sent, ended = with_store(settings, work, create=True)
    _tell(sent, ended, waited=wait_s is not None, as_json=as_json, unserved=_unserved(settings, event.agent))
    if wait_s is not None and (ended is None or ended.error):
        raise typer.Exit(EXIT_NOT_HANDLED)


def _check_names(settings: Settings, source: str, event_id: str, type_: str) -> None:
    """As strict as the other doors: an id taken here in another's name would make their own event a repeat."""
    for option, given in (("--source", source), ("--type", type_), ("--id", event_id or "made")):
        if not is_label(given):
            raise BadInput(
                f"{option} {ascii(given)[:80]} cannot be used", hint=f"1 to {LABEL_CHARS_MAX} printable characters"
            )
    if type_.startswith(CRON_TYPES):
        raise BadInput(f"types that begin with {CRON_TYPES} are those of timers", hint="`turnline cron run` runs a job")
    if source != SOURCE:
        caller_source(SOURCE, True, source, settings.hooks)


def _key(settings: Settings, tenant: str, session: str, agent: str, source: str) -> SessionKey:
    if not session and not agent:
        agent = _only_agent(settings)
    caller = Namespace(tenant, "cli", everything=True)
    chosen = chosen_key(caller, session_key=session, agent=agent, source=source)
    if isinstance(chosen, Denied):
        kind = BadKey if chosen.code == "bad_key" else NotAllowed
        raise kind(chosen.reason, hint=chosen.hint)
    return chosen.key


def _only_agent(settings: Settings) -> str:
    if settings.routing.default_agent:
        return settings.routing.default_agent
    if settings.app:
        owner = fallback_agent(settings.routing.to_routing(load_app(settings.app).by_name()))
        if not isinstance(owner, NoOwner):
            return owner
    raise BadInput("it is not said which agent this is for", hint="give --agent NAME or --session KEY")


def _text(given: str) -> str:
    if given == "-":
        return _decoded(sys.stdin.buffer.read(BODY_BYTES_MAX + 1), "stdin")
    if not given.startswith("@"):
        return given
    path = Path(given[1:])
    try:
        with path.open("rb") as file:
            return _decoded(file.read(BODY_BYTES_MAX + 1), str(path))
    except OSError as error:
        raise BadInput(
            f"{path} cannot be read: {error.strerror}", hint="a text that begins with @ names a file"
        ) from error


def _decoded(raw: bytes, name: str) -> str:
    if len(raw) > BODY_BYTES_MAX:
        raise TooLarge(f"{name} has more than {BODY_BYTES_MAX:,} bytes", hint="store it elsewhere and send its address")
    try:
        return raw.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is not UTF-8 text", hint="convert it first") from error


def _data(text: str, type_: str) -> Mapping[str, Any]:
    if type_ != "message" and text.lstrip().startswith("{"):
        try:
            found = parse_json(text.encode())
        except Malformed as error:
            raise BadInput(f"the data cannot be used: {error}", hint="quote it for the shell, or use @FILE") from error
        if isinstance(found, dict):
            return found
    return {"text": text}


def _body_hash(event: Event) -> bytes:
    return hashlib.sha256(orjson.dumps([event.type, event.data], option=orjson.OPT_SORT_KEYS)).digest()


def _sent(event: Event, result: PutResult) -> Sent:
    match result:
        case Accepted():
            return Sent(event.id, event.session, duplicate=False, status="queued")
        case Duplicate():
            return Sent(event.id, result.session, duplicate=True, status=result.status)
        case BodyConflict():
            raise IdConflict(
                f"the id {event.id!r} of source {event.source!r} was used for another text, in {result.session}",
                hint="give the new text an id of its own",
            )
        case Archived():
            raise NotAllowed(f"{result.session} is archived and takes no messages", hint="send it to another session")
        case Dropped():
            raise Refused(f"it was not taken: {result.reason}", hint="the event is kept with this reason")
        case _:
            assert_never(result)


async def _handled(opened: Opened, ref: SessionRef, event: Event, after: int, wait_s: float) -> Handled | None:
    try:
        return await asyncio.wait_for(handled(opened.store.reads, ref, event.source, event.id, after), wait_s)
    except TimeoutError:
        return None


def _unserved(settings: Settings, agent: str) -> str:
    """Why nothing will run it for now, or "". A store outside the data folder may be served from elsewhere."""
    holder = lock_holder(settings.data)
    if holder is None:
        return "" if settings.store else "No server holds this data folder; the event waits for one."
    if holder.agents and agent not in holder.agents:
        has = ", ".join(sorted(holder.agents))
        return f"The server has no agent {agent!r} (it has {has}); the event waits until one that has it runs."
    return ""


def _tell_dry(event: Event, as_json: bool) -> None:
    if as_json:
        put_json({"dry_run": True, "event_id": event.id, "session_key": event.session, "data": event.data})
        return
    show(facts([("would send", event.id), ("to", event.session), ("type", event.type)]))


def _tell(sent: Sent, ended: Handled | None, *, waited: bool, as_json: bool, unserved: str) -> None:
    if as_json:
        document: dict[str, Any] = {
            "event_id": sent.event_id,
            "session_key": sent.session_key,
            "duplicate": sent.duplicate,
            "status": sent.status,
        }
        put_json({**document, **(_ended_json(ended) if waited else {})})
        return
    again = f" (sent before: {sent.status})" if sent.duplicate else ""
    show(facts([("event", f"{sent.event_id}{again}"), ("session", sent.session_key)]))
    if waited:
        _tell_ended(sent, ended)
    if unserved and not (ended or sent.duplicate):
        say(clean(unserved), style="yellow")


def _ended_json(ended: Handled | None) -> dict[str, Any]:
    if ended is None:
        return {"handled": False, "replies": []}
    replies = list(ended.replies)
    told = {"turn_id": ended.turn_id, "seq": ended.seq, "error": ended.error, "run_open": ended.run_open}
    return {"handled": True, "replies": replies, **told}


def _tell_ended(sent: Sent, ended: Handled | None) -> None:
    if ended is None:
        typer.echo(f"Not handled yet; `turnline sessions tail {sent.session_key} --follow` shows when.", err=True)
        return
    for reply in ended.replies:
        typer.echo(clean(reply))
    if ended.error:
        typer.echo(f"error: the turn failed: {clean(ended.error)}", err=True)
    if ended.run_open:
        say("Its run is still open: more may follow.", style="dim")
