"""`turnline approvals`: questions that wait for a person, and their answers."""

import time
from typing import Annotated, Any, NoReturn, assert_never

import typer

from sessionstore.errors import AlreadyAnswered, BadInput, NotFound
from sessionstore.wait import Answered, AnswerResult, NewAnswer, NoSuchWait, NotOpen, WaitStatus
from turnline.cli.opening import Opened, actor, settings_for, with_store
from turnline.cli.options import ByOption, DataOption, DryRunOption, JsonOption, StoreOption, TenantOption
from turnline.cli.screen import badge, facts, put_json, say, show
from turnline.cli.telling import bound, value
from turnline.cli.times import ago, stamp

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Questions that wait for a person.")

LISTED_MAX = 1_000
SPELLINGS = (("approve", "approved"), ("reject", "rejected"))


@app.command("list")
def list_approvals(
    ctx: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Those that have ended too.")] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Open questions, oldest first."""
    status = "" if every else WaitStatus.OPEN.value
    settings = settings_for(ctx, data, store)
    waits = with_store(settings, lambda opened: opened.store.reads.waits(tenant, status=status, limit=LISTED_MAX))
    questions = [wait for wait in waits if wait["kind"] == "approval"]
    if as_json:
        put_json({"approvals": questions})
        return
    if not questions:
        say("No question is open." if not every else "No question was asked yet.")
        return
    now = time.time()
    for wait in questions:
        show(facts(_described(wait, now)))
        say()


@app.command("answer")
def answer(
    ctx: typer.Context,
    wait_id: Annotated[str, typer.Argument(metavar="ID", help="The question's id, as `approvals list` shows it.")],
    given: Annotated[str, typer.Argument(metavar="approve|reject|VALUE", help="approve, reject, or a free answer.")],
    note: Annotated[str, typer.Option("--note", help="Why; the session is told.")] = "",
    by: ByOption = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
    data: DataOption = None,
    store: StoreOption = None,
) -> None:
    """Answer a question. The first answer wins and is durable when this returns; a later one is told who was first."""
    word = dict(SPELLINGS).get(given, given)
    who = actor(by)

    async def work(opened: Opened) -> dict[str, Any]:
        waits = opened.store.waits
        wait = await waits.get(wait_id)
        _check(wait, wait_id, given)
        if dry_run:
            _still_open(wait, time.time())
            return wait or {}
        (result,) = await waits.answer([NewAnswer(wait_id, word, who, note)])
        wait = await waits.get(wait_id)
        _check_won(result, wait)
        return wait or {}

    wait = with_store(settings_for(ctx, data, store), work)
    if as_json:
        put_json({"wait_id": wait_id, "session_key": wait["session"], "answer": word, "by": who, "dry_run": dry_run})
        return
    done = "would be" if dry_run else "is"
    rows = [("question", wait["question"]), (done, f"{word} by {who}"), ("session", wait["session"])]
    show(facts([*rows, *([("holds", f"as long as {bound(wait['binds'])}")] if wait["binds"] else [])]))


def _described(wait: dict[str, Any], now: float) -> list[tuple[str, Any]]:
    ended = wait["status"] != WaitStatus.OPEN.value
    rows: list[tuple[str, Any]] = [
        ("question", wait["question"]),
        ("id", wait["wait_id"]),
        ("session", wait["session"]),
    ]
    rows.append(("asked", f"{ago(wait['asked_at'], now)}, then {wait['then']}"))
    if wait["binds"]:
        rows.append(("bound to", bound(wait["binds"])))
    if ended:
        rows.append(("status", badge(wait["status"])))
        if wait["answer"] is not None:
            note = f": {wait['note']}" if wait["note"] else ""
            rows.append(
                ("answer", f"{value(wait['answer'])} by {wait['answered_by']} {ago(wait['ended_at'], now)}{note}")
            )
        return rows
    if wait["due"] is not None:
        rows.append(("expires", f"{ago(wait['due'], now)} ({stamp(wait['due'])})"))
    rows.append(("answer", " | ".join(wait["options"]) or "any text"))
    return rows


def _check(wait: dict[str, Any] | None, wait_id: str, given: str) -> None:
    if wait is None or wait["kind"] != "approval":
        _no_such(wait_id)
    options = [*wait["options"]]
    allowed = {*options, *(given for pair in SPELLINGS if pair[0] in options for given in pair)}
    if options and given not in allowed:
        raise BadInput(f"{given!r} is no answer to {wait['question']!r}", hint=f"give one of: {', '.join(options)}")


def _still_open(wait: dict[str, Any] | None, now: float) -> None:
    if wait is None:
        return
    late = wait["due"] is not None and wait["due"] <= now
    if wait["status"] != WaitStatus.OPEN.value or late:
        status = WaitStatus.EXPIRED if late and wait["status"] == WaitStatus.OPEN.value else WaitStatus(wait["status"])
        _too_late(status, wait)


def _check_won(result: AnswerResult, wait: dict[str, Any] | None) -> None:
    match result:
        case Answered():
            return
        case NotOpen():
            _too_late(result.status, wait or {"question": "", "due": None, "ended_at": None, "answer": None})
        case NoSuchWait():
            _no_such(result.wait_id)
        case _:
            assert_never(result)


def _too_late(status: WaitStatus, wait: dict[str, Any]) -> NoReturn:
    question = wait["question"]
    hint = "your answer was not taken; `turnline approvals list` shows what is open"
    match status:
        case WaitStatus.ANSWERED:
            first = f"{wait['answered_by']} answered {value(wait['answer'])} at {stamp(wait['ended_at'])}"
            raise AlreadyAnswered(f"{question!r} is already answered: {first}", hint=hint)
        case WaitStatus.EXPIRED:
            raise AlreadyAnswered(f"{question!r} expired at {stamp(wait['ended_at'] or wait['due'])}", hint=hint)
        case _:
            raise AlreadyAnswered(f"{question!r} is {status.value} since {stamp(wait['ended_at'])}", hint=hint)


def _no_such(wait_id: str) -> NoReturn:
    raise NotFound(f"no question has the id {wait_id!r}", hint="`turnline approvals list` shows them")
