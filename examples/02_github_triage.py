"""GitHub triage: labels issues and pull requests by simple rules, and asks for what an empty report lacks.

Each issue and each pull request is a session of its own, so its events run one after the other, whatever order the
labels and comments of other issues are in. A label that is added twice is there once: `on_unknown="resend"`. A comment
that is posted twice is there twice: when nobody can tell whether it was posted, a person is asked.

    TURNLINE_CONFIG=examples/02_github_triage.toml turnline dev examples/02_github_triage.py
"""

import os
import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from turnline import Agent, App, Outcome, Turn

API = os.environ.get("GITHUB_API_URL", "https://api.github.com")
NEEDS_INFO = "needs-info"
RULES = (
    ("bug", re.compile(r"\b(bug|crash|error|fails?|broken)\b", re.IGNORECASE)),
    ("documentation", re.compile(r"\b(docs?|documentation|readme|typo|spelling)\b", re.IGNORECASE)),
    ("question", re.compile(r"\?\s*$|^how (do|can|to)\b", re.IGNORECASE)),
)


class Ticket(BaseModel):
    """What is remembered of one issue or pull request."""

    labels: list[str] = []
    comments: int = 0
    asked: int | None = None  # the id of our own comment


triage = Agent("triage", state=Ticket)


@triage.on("github.issues.opened", "github.issues.edited", "github.pull_request.*")
async def look(turn: Turn[Ticket]) -> None:
    """Add the labels that the text calls for; ask when an issue says nothing."""
    body = turn.message.data["body"]
    ticket = body.get("issue") or body["pull_request"]
    turn.goal(f"Triage #{ticket['number']}: {ticket['title']}")
    wanted = labels_for(ticket, is_issue="issue" in body)
    new = [label for label in wanted if label not in turn.state.labels]
    if new:
        turn.state.labels += new
        url = f"{API}/repos/{body['repository']['full_name']}/issues/{ticket['number']}"
        turn.http("POST", f"{url}/labels", json={"labels": new}, on_unknown="resend")
        if NEEDS_INFO in new:
            text = "Thank you. What did you do, what happened, and what did you expect?"
            turn.http("POST", f"{url}/comments", json={"body": text}, then=asked)
    turn.phase(NEEDS_INFO if NEEDS_INFO in turn.state.labels else "labelled")


@triage.continuation
async def asked(turn: Turn[Ticket], outcome: Outcome[dict[str, Any]]) -> None:
    """Our comment is there, or it is known that it is not."""
    if outcome.ok and outcome.result is not None:
        turn.state.asked = outcome.result["json"]["id"]
    else:
        turn.phase(f"could not ask: {outcome.error or outcome.status}")


@triage.on("github.issue_comment.created")
async def commented(turn: Turn[Ticket]) -> None:
    """The reporter has answered: the label goes."""
    body = turn.message.data["body"]
    issue, comment = body["issue"], body["comment"]
    turn.state.comments += 1
    if comment["user"]["login"] == issue["user"]["login"] and NEEDS_INFO in turn.state.labels:
        turn.state.labels.remove(NEEDS_INFO)
        url = f"{API}/repos/{body['repository']['full_name']}/issues/{issue['number']}"
        turn.http("DELETE", f"{url}/labels/{NEEDS_INFO}", on_unknown="resend")
        turn.phase("labelled")


@triage.on("github.issues.closed", "github.pull_request.closed")
async def closed(turn: Turn[Ticket]) -> None:
    """Nothing is left to do. A later event makes the session active again."""
    turn.complete("closed")


def labels_for(ticket: Mapping[str, Any], *, is_issue: bool) -> list[str]:
    """Labels by title and text."""
    title, text = ticket["title"], ticket["body"] or ""
    found = [label for label, pattern in RULES if pattern.search(title) or pattern.search(text)]
    return [*found, NEEDS_INFO] if is_issue and not text.strip() else found


app = App(agents=[triage])
