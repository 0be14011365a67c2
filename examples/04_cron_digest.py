"""Cron digest: collects what comes in during the day, and posts one digest at six in the evening.

News come from a signed webhook or from the command line, the digest leaves through a signed webhook:

    TURNLINE_CONFIG=examples/04_cron_digest.toml turnline dev examples/04_cron_digest.py
    turnline send --session agent:digest/shared:news "The roof is tight again"

The job runs in the session that the news come to, so both see one state, and never at the same time.
"""

from pydantic import BaseModel

from turnline import Agent, App, Message, Outcome, QueuePolicy, Turn

NEWS = "agent:digest/shared:news"
ITEMS_MAX = 200


class Digest(BaseModel):
    """What has come in since the last digest."""

    items: list[str] = []
    left_out: int = 0
    posted: int = 0


# A burst of news is one turn, with all of them.
digest = Agent("digest", state=Digest, queue=QueuePolicy("collect", quiet_s=0.5, wait_max_s=5.0))


@digest.on("message")
async def news(turn: Turn[Digest]) -> None:
    """Keep the headlines."""
    for message in turn.messages:
        if len(turn.state.items) < ITEMS_MAX:
            turn.state.items.append(headline(message))
        else:
            turn.state.left_out += 1
    turn.phase(f"{len(turn.state.items)} collected")


@digest.cron("0 18 * * MON-FRI", tz="Europe/Berlin", session=NEWS, misfire="run_once", overlap="skip")
async def evening(turn: Turn[Digest]) -> None:
    """Post what has come in; a day without news has no digest."""
    if not turn.state.items:
        return
    body = {"day": turn.message.data["nominal"][:10], "items": turn.state.items, "left_out": turn.state.left_out}
    turn.request("digest", body, then=posted)
    turn.state = Digest(posted=turn.state.posted)


@digest.continuation
async def posted(turn: Turn[Digest], outcome: Outcome[None]) -> None:
    """Whoever looks at the session sees whether the digest arrived."""
    turn.state.posted += outcome.ok
    turn.phase("posted" if outcome.ok else f"not posted: {outcome.error or outcome.status}")


def headline(message: Message) -> str:
    """The title of a signed delivery, or the text of a message."""
    body = message.data.get("body") if isinstance(message.data, dict) else None
    title = body.get("title") if isinstance(body, dict) else None
    return str(title or message.text)


app = App(agents=[digest])
