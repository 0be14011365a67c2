"""Steps: recorded once, reused when the turn runs again, set aside when newer code asks something else."""

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from consumers.intents import Intents
from consumers.steps import RESULT_BYTES_MAX, Steps
from sessionstore.errors import BadInput, FenceLost
from sessionstore.leases import StepRecord


class Answer(BaseModel):
    text: str
    score: float = 0.5


class Journal:
    """What a store would keep, and whether the fence still holds."""

    def __init__(self, recorded: dict[str, StepRecord] | None = None, *, fenced: bool = False) -> None:
        self.kept: dict[str, StepRecord] = dict(recorded or {})
        self.writes = 0
        self._fenced = fenced

    async def __call__(self, step: StepRecord) -> bool:
        await asyncio.sleep(0)
        if not self._fenced:
            self.kept[step.key] = step
            self.writes += 1
        return not self._fenced


def turn(journal: Journal) -> tuple[Steps, Intents]:
    steps, intents = Steps(dict(journal.kept), journal), Intents()
    steps.attach(intents)
    return steps, intents


async def run(steps: Steps, function: Any, *args: Any, key: str | None = None, **kwargs: Any) -> Any:
    return await steps.run(function, args, kwargs, key)


class Model:
    """A model that counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, text: str) -> Answer:
        self.asked.append(text)
        return Answer(text=text.upper())

    def read(self, n: int) -> int:
        self.asked.append(str(n))
        return n * 2


async def test_a_step_is_durable_before_its_result_is_given() -> None:
    journal, model = Journal(), Model()
    steps, _ = turn(journal)
    assert await run(steps, model.ask, "hi") == Answer(text="HI")
    assert [s.result for s in journal.kept.values()] == [{"text": "HI", "score": 0.5}]
    assert steps.wrote


async def test_a_turn_that_runs_again_gets_the_recorded_result_in_its_type() -> None:
    journal, model = Journal(), Model()
    await run(turn(journal)[0], model.ask, "hi")
    steps, intents = turn(journal)
    assert await run(steps, model.ask, "hi") == Answer(text="HI")
    assert model.asked == ["hi"]
    assert not steps.wrote
    assert [s["reused"] for s in intents.steps] == [True]


async def test_a_first_run_and_a_second_see_the_same_value() -> None:
    async def tuple_of() -> Any:
        return {"t": (1, 2)}

    journal = Journal()
    first = await run(turn(journal)[0], tuple_of)
    second = await run(turn(journal)[0], tuple_of)
    assert first == second == {"t": [1, 2]}


async def test_a_synchronous_step_runs_beside_the_loop() -> None:
    journal, model = Journal(), Model()
    assert await run(turn(journal)[0], model.read, 21) == 42
    assert await run(turn(journal)[0], model.read, 21) == 42
    assert model.asked == ["21"]


async def test_calls_of_one_function_are_told_apart_by_their_occurrence() -> None:
    journal, model = Journal(), Model()
    steps, _ = turn(journal)
    await run(steps, model.ask, "a")
    await run(steps, model.ask, "b")
    again, _ = turn(journal)
    assert [(await run(again, model.ask, t)).text for t in "ab"] == ["A", "B"]
    assert model.asked == ["a", "b"]


async def test_other_arguments_set_the_record_aside_and_that_is_said() -> None:
    journal, model = Journal(), Model()
    await run(turn(journal)[0], model.ask, "old")
    steps, intents = turn(journal)
    assert (await run(steps, model.ask, "new")).text == "NEW"
    assert model.asked == ["old", "new"]
    assert len(intents.set_aside) == 1
    assert (await run(turn(journal)[0], model.ask, "new")).text == "NEW"
    assert model.asked == ["old", "new"]


async def test_keys_of_ones_own_do_not_depend_on_order() -> None:
    journal, model = Journal(), Model()
    steps, _ = turn(journal)
    await run(steps, model.ask, "a", key="a")
    await run(steps, model.ask, "b", key="b")
    again, _ = turn(journal)
    assert (await run(again, model.ask, "b", key="b")).text == "B"
    assert model.asked == ["a", "b"]


async def test_sixty_four_parallel_steps_are_each_recorded_once_and_reused() -> None:
    journal, model = Journal(), Model()
    steps, _ = turn(journal)
    first = await asyncio.gather(*(run(steps, model.ask, f"q{n}") for n in range(64)))
    again, _ = turn(journal)
    second = await asyncio.gather(*(run(again, model.ask, f"q{n}") for n in range(64)))
    assert [a.text for a in first] == [a.text for a in second] == [f"Q{n}" for n in range(64)]
    assert len(model.asked) == journal.writes == 64


async def test_sixty_four_parallel_steps_in_threads_are_each_recorded_once_and_reused() -> None:
    journal, model = Journal(), Model()
    steps, _ = turn(journal)
    await asyncio.gather(*(run(steps, model.read, n) for n in range(64)))
    again, _ = turn(journal)
    assert await asyncio.gather(*(run(again, model.read, n) for n in range(64))) == [n * 2 for n in range(64)]
    assert len(model.asked) == 64


@pytest.mark.parametrize("argument", [object(), lambda: 1, Model(), {1: object()}, {"deep": [object()]}])
async def test_an_argument_that_is_no_data_is_refused_before_anything_runs(argument: Any) -> None:
    model = Model()
    with pytest.raises(BadInput):
        await run(turn(Journal())[0], model.ask, argument)
    assert model.asked == []


@pytest.mark.parametrize("argument", [Answer(text="x"), b"\x00\xff", {"b", "a"}, None, 1.5, [1, {"k": (2, 3)}]])
async def test_plain_data_and_models_are_told_apart_by_value(argument: Any) -> None:
    calls: list[Any] = []

    async def look(value: Any) -> int:
        calls.append(value)
        return len(calls)

    journal = Journal()
    assert await run(turn(journal)[0], look, argument) == 1
    assert await run(turn(journal)[0], look, argument) == 1


async def test_a_result_that_cannot_be_recorded_is_refused_and_nothing_is_kept() -> None:
    async def client() -> Any:
        return object()

    journal = Journal()
    with pytest.raises(BadInput):
        await run(turn(journal)[0], client)
    assert journal.kept == {}


async def test_a_result_type_that_cannot_be_recorded_is_refused_before_anything_runs() -> None:
    ran = []

    async def client() -> Model:
        ran.append(1)
        return Model()

    with pytest.raises(BadInput):
        await run(turn(Journal())[0], client)
    assert ran == []


async def test_a_result_that_is_too_large_is_refused() -> None:
    async def huge() -> str:
        return "x" * (RESULT_BYTES_MAX + 1)

    with pytest.raises(BadInput, match="fit"):
        await run(turn(Journal())[0], huge)


async def test_a_step_that_fails_is_not_recorded_and_runs_again() -> None:
    attempts = []

    async def flaky() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError("gone")
        return "ok"

    journal = Journal()
    with pytest.raises(ConnectionError):
        await run(turn(journal)[0], flaky)
    assert await run(turn(journal)[0], flaky) == "ok"


async def test_an_owner_that_was_replaced_gets_no_result() -> None:
    steps, intents = turn(Journal(fenced=True))
    with pytest.raises(FenceLost):
        await run(steps, Model().ask, "hi")
    assert intents.steps == []
    assert not steps.wrote
