"""The frames of the web chat: what a page may send, and how it is told that something did not work."""

from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from router.chatitem import answer_word
from router.http.problems import TITLES
from sessionstore.errors import AlreadyAnswered, BadInput, Overloaded, TurnlineError
from sessionstore.wait import NotOpen, WaitStatus


class _Frame(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class MessageFrame(_Frame):
    """Something said; `client_msg_id` makes a repeat harmless."""

    type: Literal["message"]
    client_msg_id: str
    text: str


class AnswerFrame(_Frame):
    """An answer to a question of this chat."""

    type: Literal["answer"]
    client_msg_id: str
    wait_id: str
    decision: Literal["approve", "reject"]


class PingFrame(_Frame):
    """Are you there?"""

    type: Literal["ping"]


ClientFrame = MessageFrame | AnswerFrame | PingFrame
_CLIENT_FRAME: TypeAdapter[ClientFrame] = TypeAdapter(Annotated[ClientFrame, Field(discriminator="type")])


class TooFast(Overloaded):
    """More frames than a connection may send."""

    code = "rate_limited"
    status = 429


def already_answered(result: NotOpen) -> AlreadyAnswered:
    """Who was first, for whoever came second."""
    if result.status is WaitStatus.ANSWERED:
        said = answer_word(result.answer)
        word = said if isinstance(said, str) else orjson.dumps(said).decode()
        return AlreadyAnswered(f"{word} was said first, by {result.answered_by}", hint="nothing was changed")
    return AlreadyAnswered(f"this question is not open any more: it is {result.status.value}", hint="ask for a new one")


def error_frame(error: TurnlineError, client_msg_id: str | None = None) -> dict[str, Any]:
    """A problem, as a frame; it names the frame that it answers."""
    about = {} if client_msg_id is None else {"client_msg_id": client_msg_id}
    return {
        "type": "error",
        "code": error.code,
        "title": _sentence(TITLES.get(error.status, "It did not work")),
        "detail": _sentence(str(error)),
        "hint": _sentence(error.hint),
        "retryable": error.retryable,
        **about,
    }


def wait_frame(wait_id: str, status: str, answer: Any) -> dict[str, Any]:
    """How a question ended."""
    return {"type": "wait", "wait_id": wait_id, "status": status, "answer": answer_word(answer)}


def decoded(text: str) -> dict[str, Any]:
    """A frame's JSON object. Raises BadInput."""
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadInput("this frame is not JSON", hint="send one JSON object a frame") from error
    if not isinstance(body, dict):
        raise BadInput("this frame is not a JSON object", hint="send one JSON object a frame")
    return body


def read_frame(body: dict[str, Any]) -> ClientFrame:
    """The frame that a page sent. Raises BadInput."""
    try:
        return _CLIENT_FRAME.validate_python(body)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "type"
        raise BadInput(
            f"this frame is not understood: {where}: {first['msg']}",
            hint="the page may be older than the server: load it again",
        ) from error


def _sentence(words: str) -> str:
    ended = words if words.endswith((".", "!", "?")) or not words else f"{words}."
    return ended[:1].upper() + ended[1:]
