"""Send policy: whether a session may send to a place; one deny is enough, whatever else allows it."""

from dataclasses import dataclass
from enum import StrEnum

from router.keys import Place, place_of
from sessionstore.key import SessionKey


class Send(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class SendRule:
    """Every field that is not empty must match; a rule without fields matches everything.

    `channel` is the first part's type (`cron` for jobs), `kind` the peer's (`dm`, `group`, `channel`), `under` a key
    with everything below it.
    """

    action: Send
    tenant: str = ""
    agent: str = ""
    channel: str = ""
    account: str = ""
    kind: str = ""
    under: SessionKey | None = None


@dataclass(frozen=True, slots=True)
class SendPolicy:
    """Rules, and what holds when none of them matches."""

    rules: tuple[SendRule, ...] = ()
    default: Send = Send.ALLOW


@dataclass(frozen=True, slots=True)
class SendVerdict:
    """`rule` is the index of the rule that decided, or None."""

    action: Send
    reason: str
    rule: int | None = None


def may_send(
    key: SessionKey, policy: SendPolicy, *, place: Place | None = None, session: Send | None = None
) -> SendVerdict:
    """Judge one send of a session.

    `place` is where it goes, from the reply route; without it the key's own is taken, which a shared session does not
    have. `session` is what an operator set on the session: it can forbid, and it can stand in for the default, but it
    cannot lift a rule's deny.
    """
    where = place or place_of(key)
    if session is Send.DENY:
        return SendVerdict(Send.DENY, "An operator forbade this session to send.")
    matched = [(index, rule.action) for index, rule in enumerate(policy.rules) if _matches(rule, key, where)]
    for wanted in (Send.DENY, Send.ALLOW):
        for index, action in matched:
            if action is wanted:
                verb = "forbids" if action is Send.DENY else "allows"
                return SendVerdict(action, f"Send rule {index} {verb} it.", index)
    if session is Send.ALLOW:
        return SendVerdict(Send.ALLOW, "An operator allowed this session to send.")
    return SendVerdict(policy.default, "No send rule matches, so the default holds.")


def _matches(rule: SendRule, key: SessionKey, where: Place) -> bool:
    wanted = (
        (rule.tenant, key.tenant),
        (rule.agent, key.agent),
        (rule.channel, where.channel),
        (rule.account, where.account),
        (rule.kind, where.kind),
    )
    under = rule.under is None or key.within(rule.under)
    return under and all(value in ("", given) for value, given in wanted)
