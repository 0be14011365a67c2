"""One deny is enough."""

from hypothesis import given
from hypothesis import strategies as st

from router.keys import Place
from router.sendpolicy import Send, SendPolicy, SendRule, may_send
from sessionstore.key import parse

KEY = parse("agent:main/slack:T1/channel:C1")
rules = st.builds(
    SendRule,
    st.sampled_from(Send),
    agent=st.sampled_from(["", "main", "other"]),
    channel=st.sampled_from(["", "slack", "irc"]),
    kind=st.sampled_from(["", "dm", "channel"]),
)


@given(st.lists(rules, max_size=4), st.sampled_from(Send), st.sampled_from([None, *Send]))
def test_another_deny_never_opens_and_order_never_matters(
    some: list[SendRule], default: Send, session: Send | None
) -> None:
    policy = SendPolicy(tuple(some), default)
    backwards = SendPolicy(tuple(reversed(some)), default)
    verdict = may_send(KEY, policy, session=session).action
    assert verdict == may_send(KEY, backwards, session=session).action
    stricter = SendPolicy((*some, SendRule(Send.DENY)), default)
    assert may_send(KEY, stricter, session=session).action is Send.DENY


def test_the_verdict_names_the_rule_that_decided() -> None:
    policy = SendPolicy((SendRule(Send.ALLOW), SendRule(Send.DENY, channel="slack")))
    verdict = may_send(KEY, policy)
    assert (verdict.action, verdict.rule) == (Send.DENY, 1)
    assert may_send(KEY, SendPolicy()).rule is None


def test_an_operator_can_forbid_or_stand_in_for_the_default_but_not_lift_a_deny() -> None:
    shut = SendPolicy(default=Send.DENY)
    assert may_send(KEY, shut, session=Send.ALLOW).action is Send.ALLOW
    assert may_send(KEY, SendPolicy(), session=Send.DENY).action is Send.DENY
    ruled = SendPolicy((SendRule(Send.DENY, agent="main"),))
    assert may_send(KEY, ruled, session=Send.ALLOW).action is Send.DENY


def test_a_shared_session_is_judged_by_where_the_message_goes() -> None:
    policy = SendPolicy((SendRule(Send.DENY, kind="dm"),))
    shared = parse("agent:main/shared:main")
    assert may_send(shared, policy).action is Send.ALLOW
    assert may_send(shared, policy, place=Place("telegram", "bot1", "dm", "1")).action is Send.DENY


def test_rules_see_linked_people_joined_accounts_tenants_and_prefixes() -> None:
    no_dm = SendPolicy((SendRule(Send.DENY, kind="dm"),))
    for text in ("agent:a/person:alice", "agent:a/telegram:b/person:alice", "agent:a/via:telegram/dm:1"):
        assert may_send(parse(text), no_dm).action is Send.DENY
    telegram = SendPolicy((SendRule(Send.DENY, channel="telegram"),))
    assert may_send(parse("agent:a/via:telegram/dm:1"), telegram).action is Send.DENY
    acme = SendPolicy((SendRule(Send.DENY, tenant="acme"),))
    assert may_send(parse("agent:a/x:1", "acme"), acme).action is Send.DENY
    assert may_send(parse("agent:a/x:1"), acme).action is Send.ALLOW
    below = SendPolicy((SendRule(Send.DENY, under=KEY),))
    assert may_send(KEY.with_thread("1"), below).action is Send.DENY
    assert may_send(parse("agent:main/slack:T1/channel:C10"), below).action is Send.ALLOW
