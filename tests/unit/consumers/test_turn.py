"""The turn: what a handler may decide on, and that nothing is decided once it is over."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from consumers.agent import Tool
from consumers.deciding import ACTIONS_MAX, TEXT_MAX, TurnClosed
from consumers.intents import AskIntent, CallIntent, ReplyIntent, TimerIntent
from consumers.session import Session
from consumers.turn import Turn
from sessionstore.errors import BadInput, NoRoute
from sessionstore.event import Event
from tests.unit.consumers.rows import REF, ROUTE, message

NOW = 1_800_000_000.0


class NoSteps:
    """Runs the function and records nothing."""

    async def run(self, function: Callable[..., Any], args: Any, kwargs: Any, key: str | None) -> Any:
        return await function(*args, **kwargs)


async def observe(name: str) -> Any:
    return f"{name} now"


async def deploy(call: Any) -> None: ...


def go(turn: Any) -> None: ...


def turn(*events: Event, inherited: tuple[str, ...] = (), route: Any = ROUTE) -> Turn[Any]:
    session: Session[Any] = Session(REF.session, "a", REF.tenant, 0, "active", {}, {"commit": "abc"})
    return Turn(
        session=session,
        state={},
        events=events or (message(),),
        turn_id="t1",
        attempt=1,
        now=NOW,
        route=route,
        steps=NoSteps(),
        tools={"deploy": Tool("deploy", "a", deploy, on_unknown="resend")},
        observe=observe,
        inherited=inherited,
    )


DECISIONS: dict[str, Callable[[Turn[Any]], object]] = {
    "reply": lambda t: t.reply("hi"),
    "send": lambda t: t.send("hi", ROUTE),
    "ask": lambda t: t.ask("Go?", then=go),
    "call": lambda t: t.call(deploy),
    "request": lambda t: t.request("crm", {}),
    "schedule": lambda t: t.schedule("1h", then=go),
    "goal": lambda t: t.goal("ship"),
    "phase": lambda t: t.phase("build"),
    "plan_next": lambda t: t.plan_next("test"),
    "usage": lambda t: t.usage(tokens=1),
    "complete": lambda t: t.complete(),
    "fail": lambda t: t.fail("no"),
}
LOOKS: dict[str, Callable[[Turn[Any]], Any]] = {
    "step": lambda t: t.step(observe, "x"),
    "step_as": lambda t: t.step_as("k", observe, "x"),
    "observe": lambda t: t.observe("commit"),
}


@pytest.mark.parametrize("decide", DECISIONS.values(), ids=DECISIONS.keys())
def test_a_turn_that_is_over_refuses_every_decision(decide: Callable[[Turn[Any]], object]) -> None:
    one = turn()
    one.close()
    with pytest.raises(TurnClosed):
        decide(one)
    assert one.intents.actions == []
    assert one.intents.noted == {}
    assert (one.intents.tokens, one.intents.status) == (0, "")


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
async def test_a_turn_that_is_over_refuses_to_look(look: Callable[[Turn[Any]], Any]) -> None:
    one = turn()
    one.close()
    with pytest.raises(TurnClosed):
        await look(one)
    assert one.intents.observed == {}


@pytest.mark.parametrize("decide", DECISIONS.values(), ids=DECISIONS.keys())
def test_an_open_turn_takes_every_decision(decide: Callable[[Turn[Any]], object]) -> None:
    decide(turn())


def test_decisions_keep_their_order() -> None:
    one = turn()
    one.reply("first")
    one.call(deploy)
    one.ask("Go?", then=go)
    one.schedule(5, then="later")
    assert [type(a) for a in one.intents.actions] == [ReplyIntent, CallIntent, AskIntent, TimerIntent]


def test_a_reply_goes_where_the_event_came_from_and_without_a_route_nowhere() -> None:
    one, mute = turn(), turn(route=None)
    one.reply("hi")
    mute.reply("hi")
    assert [a.route for a in one.intents.actions if isinstance(a, ReplyIntent)] == [ROUTE]
    assert [a.route for a in mute.intents.actions if isinstance(a, ReplyIntent)] == [None]


def test_sending_needs_an_address() -> None:
    with pytest.raises(NoRoute):
        turn().send("hi", {"lane": "x"})


@pytest.mark.parametrize("text", [None, 5, b"x", "x" * (TEXT_MAX + 1), "half \ud83d"])
def test_what_is_no_text_is_refused(text: Any) -> None:
    for decide in (lambda t: t.reply(text), lambda t: t.ask(text, then=go), lambda t: t.send(text, ROUTE)):
        one = turn()
        with pytest.raises(BadInput):
            decide(one)
        assert one.intents.actions == []


def test_a_tool_that_the_agent_does_not_have_is_refused() -> None:
    with pytest.raises(BadInput, match="'launch'"):
        turn().call("launch")


def test_a_call_names_its_tool_and_takes_its_arguments_and_policy() -> None:
    one = turn()
    one.call(deploy, then=go, ttl="1h", commit="abc")
    [call] = one.intents.actions
    assert isinstance(call, CallIntent)
    assert (call.adapter, call.lane, call.then, call.on_unknown) == ("tool:a.deploy", "tool:a.deploy", "go", "resend")
    assert call.body == {"arguments": {"commit": "abc"}}
    assert call.ttl_s == 3_600


def test_what_is_called_after_an_approval_is_bound_to_its_facts_unless_said_otherwise() -> None:
    one = turn(inherited=("commit",))
    one.call(deploy)
    one.call(deploy, binds=[])
    one.call(deploy, binds=["other"])
    assert [a.binds for a in one.intents.actions if isinstance(a, CallIntent)] == [("commit",), (), ("other",)]


@pytest.mark.parametrize(
    ("when", "due"),
    [
        ("90s", NOW + 90),
        (5, NOW + 5),
        (timedelta(minutes=1), NOW + 60),
        (datetime.fromtimestamp(NOW + 7, UTC), NOW + 7),
    ],
)
def test_a_timer_is_due_after_a_while_or_at_a_time(when: Any, due: float) -> None:
    one = turn()
    one.schedule(when, then=go, data={"n": 1})
    assert one.intents.actions == [TimerIntent(due, "go", {"n": 1})]


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(BadInput, match="zone"):
        turn().schedule(datetime(2030, 1, 1), then=go)  # noqa: DTZ001


def test_a_turn_can_decide_on_so_many_actions_and_no_more() -> None:
    one = turn()
    for _ in range(ACTIONS_MAX):
        one.reply("x")
    with pytest.raises(BadInput, match=str(ACTIONS_MAX)):
        one.reply("x")


async def test_an_observed_fact_is_seen_at_once_and_recorded() -> None:
    one = turn()
    assert one.facts == {"commit": "abc"}
    assert await one.observe("commit") == "commit now"
    assert one.facts == {"commit": "commit now"}
    assert one.intents.observed == {"commit": "commit now"}


def test_usage_adds_up() -> None:
    one = turn()
    one.usage(tokens=5, cost=0.5)
    one.usage(tokens=2)
    assert (one.intents.tokens, one.intents.cost) == (7, 0.5)


def test_all_messages_of_a_batch_are_there_and_their_texts_are_joined() -> None:
    one = turn(message("one"), message("two", data={"file": "x.png"}), message("three", sender="bob"))
    assert [m.text for m in one.messages] == ["one", "", "three"]
    assert (one.message.text, one.message.sender) == ("one\nthree", "bob")
    assert one.messages[1].data == {"file": "x.png"}
