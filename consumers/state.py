"""An agent's own state: from the record to its model and back, and the session as observers see it."""

from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from consumers.agent import Agent
from consumers.session import Session
from sessionstore.errors import BadInput
from sessionstore.record import Record


def state_from(agent: Agent[Any], state: Any) -> Any:
    """A copy that a handler may change."""
    if agent.state_model is None:
        return orjson.loads(orjson.dumps(state))
    return agent.state_model.model_validate(state)


def plain_state(agent: Agent[Any], state: Any) -> Any:
    """The state as JSON. Raises BadInput for what a store could not give back: then nothing of the turn is kept."""
    try:
        if isinstance(state, BaseModel):
            plain = orjson.loads(state.model_dump_json())
            type(state).model_validate(plain)
            return plain
        return orjson.loads(orjson.dumps(state))
    except (TypeError, ValueError, ValidationError) as error:
        raise BadInput(
            f"the state of agent {agent.name!r} after this turn is not valid: {error}",
            hint="keep plain data in the state, within its model; nothing of this turn was kept",
        ) from error


def describe(
    agent: Agent[Any], tenant: str, key: str, epoch: int, record: Record, *, state: Any = None
) -> Session[Any]:
    """The session at its last commit; `state` is made from the record unless it is given."""
    return Session(
        key=key,
        agent=agent.name,
        tenant=tenant,
        epoch=epoch,
        status=record["status"],
        state=state_from(agent, record["state"]) if state is None else state,
        facts=record["observation"]["facts"],
    )
