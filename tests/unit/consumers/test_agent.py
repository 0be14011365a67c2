"""Agents: what may be registered, under which names, and what is refused with a next step."""

from typing import Any

import pytest
from pydantic import BaseModel

from consumers.agent import Agent, App, QueuePolicy, Tool
from sessionstore.errors import BadSettings


class State(BaseModel):
    count: int = 0


class Demanding(BaseModel):
    name: str
    count: int = 0


async def handler(turn: Any) -> None: ...


@pytest.mark.parametrize("name", ["", "a b", "a/b", "a:b", "a.b", "a,b"])
def test_a_name_that_cannot_stand_in_a_key_is_refused(name: str) -> None:
    with pytest.raises(BadSettings):
        Agent(name)


@pytest.mark.parametrize("name", ["a", "release-2", "A_b"])
def test_a_usable_name_is_taken(name: str) -> None:
    assert Agent(name).name == name


@pytest.mark.parametrize("state", [dict, int, State(), "State"])
def test_a_state_that_is_no_pydantic_model_is_refused(state: Any) -> None:
    with pytest.raises(BadSettings, match="pydantic"):
        Agent("a", state=state)


def test_a_state_without_defaults_is_refused_and_the_fields_are_named() -> None:
    with pytest.raises(BadSettings, match="name"):
        Agent("a", state=Demanding)


def test_two_handlers_of_one_type_are_refused() -> None:
    agent: Agent[Any] = Agent("a")
    agent.on("message")(handler)
    with pytest.raises(BadSettings, match="message"):
        agent.on("message")(handler)


def test_two_continuations_of_one_name_are_refused() -> None:
    agent: Agent[Any] = Agent("a")
    agent.continuation(handler)
    with pytest.raises(BadSettings, match="handler"):
        agent.continuation(handler)


def test_two_tools_observers_or_jobs_of_one_name_are_refused() -> None:
    agent: Agent[Any] = Agent("a")
    for register in (agent.tool, agent.observer("commit"), agent.cron("0 9 * * *", tz="UTC")):
        register(handler)
        with pytest.raises(BadSettings):
            register(handler)


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(BadSettings, match="'a'"):
        App(agents=[Agent("a"), Agent("a")]).by_name()


def test_a_decorated_function_stays_itself() -> None:
    agent: Agent[Any] = Agent("a")
    assert agent.on("message")(handler) is handler
    assert agent.continuation(handler) is handler
    assert agent.tool(handler) is handler
    assert agent.tool(idempotent=True)(other) is other
    assert agent.tools["other"].idempotent


async def other(call: Any) -> None: ...


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(BadSettings, match="shuffle"):
        QueuePolicy("shuffle")
    with pytest.raises(BadSettings, match="maybe"):
        Tool("t", "a", handler, on_unknown="maybe")
