"""What a handler asks the built-in adapters for, as the outbox will see it."""

from typing import Any

import pytest

from consumers.intents import CallIntent
from consumers.session import Session
from consumers.turn import Turn
from sessionstore.errors import BadInput
from sessionstore.event import Event


class NoSteps:
    """These handlers have none."""

    async def run(self, function: Any, args: Any, kwargs: Any, key: str | None) -> Any:
        raise AssertionError


async def nothing_to_observe(name: str) -> Any:
    raise AssertionError


@pytest.fixture
def turn() -> Turn:
    session: Session = Session("agent:a/b:1", "a", "default", 0, "active", {})
    event = Event("default", "test", "1", "message", session.key, "a")
    return Turn(
        session=session,
        state={},
        events=[event],
        turn_id="t1",
        attempt=1,
        now=0.0,
        route=None,
        steps=NoSteps(),
        tools={},
        observe=nothing_to_observe,
    )


def only(turn: Turn) -> CallIntent:
    [intent] = turn.intents.actions
    assert isinstance(intent, CallIntent)
    return intent


def test_a_request_is_a_signed_webhook_to_a_configured_endpoint(turn: Turn) -> None:
    turn.request("crm", {"n": 1})
    intent = only(turn)
    assert (intent.adapter, intent.target, intent.body) == ("webhook", {"endpoint": "crm"}, {"n": 1})
    assert intent.lane == "webhook:crm"


def test_an_http_request_has_its_url_and_look_up_in_the_target_where_the_class_is_read_from(turn: Turn) -> None:
    lookup = {"url": "https://api.example.com/jobs/{key}"}
    turn.http("PUT", "https://api.example.com/jobs", json={"n": 1}, headers={"A": "b"}, lookup=lookup)
    intent = only(turn)
    assert intent.adapter == "http"
    assert intent.target == {"url": "https://api.example.com/jobs", "lookup": lookup}
    assert intent.body == {"method": "PUT", "headers": {"A": "b"}, "json": {"n": 1}}


def test_http_requests_to_one_server_share_a_lane(turn: Turn) -> None:
    for path in ("a", "b"):
        turn.http("DELETE", f"https://api.example.com/{path}")
    assert {getattr(intent, "lane", "") for intent in turn.intents.actions} == {"http:api.example.com"}
    assert "json" not in getattr(turn.intents.actions[0], "body", {})


def test_a_url_that_cannot_be_read_is_told_to_the_handler(turn: Turn) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        turn.http("GET", "http://[")
