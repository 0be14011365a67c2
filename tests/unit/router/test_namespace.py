"""A caller reaches its own area, what it was granted, and nothing else."""

from dataclasses import replace

import pytest

from router.namespace import Allowed, Denied, Namespace, chosen_key, judge
from sessionstore.key import parse

TOKEN = Namespace("acme", "ci", agents=frozenset({"ci", "ops"}), prefixes=(parse("agent:web/chat:site", "acme"),))


def verdict(text: str, namespace: Namespace = TOKEN, tenant: str = "acme") -> str:
    outcome = judge(parse(text, tenant), namespace)
    if isinstance(outcome, Allowed):
        return "allowed"
    assert outcome.hint
    return outcome.code


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("agent:ci/api:ci", "allowed"),
        ("agent:ops/api:ci/job:7/thread:x", "allowed"),
        ("agent:web/chat:site/user:1", "allowed"),
        ("agent:web/api:ci", "not_allowed"),
        ("agent:ci/api:ci2", "not_allowed"),
        ("agent:ci/api:other/api:ci", "not_allowed"),
        ("agent:ci/telegram:bot1/dm:111", "not_allowed"),
        ("agent:ci/shared:main", "not_allowed"),
        ("agent:web/chat:site2", "not_allowed"),
    ],
)
def test_a_token_is_confined_to_its_area_and_its_grants(text: str, expected: str) -> None:
    assert verdict(text) == expected


def test_another_tenant_is_closed_even_to_an_administrator() -> None:
    admin = replace(TOKEN, everything=True)
    assert verdict("agent:x/telegram:bot1/dm:1", admin) == "allowed"
    assert verdict("agent:ci/api:ci", admin, tenant="globex") == "not_allowed"
    assert verdict("agent:web/chat:site", tenant="globex") == "not_allowed"


def test_agents_none_is_any_agent_and_an_empty_set_is_none() -> None:
    assert verdict("agent:x/api:ci", replace(TOKEN, agents=None)) == "allowed"
    assert verdict("agent:ci/api:ci", replace(TOKEN, agents=frozenset())) == "not_allowed"


def test_without_a_key_a_caller_gets_a_session_of_its_own_for_each_source() -> None:
    outcome = chosen_key(TOKEN, agent="ops", source="builds/linux")
    assert isinstance(outcome, Allowed)
    assert outcome.key.text == "agent:ops/api:ci/source:builds%2Flinux"
    assert outcome.key.tenant == "acme"
    other = chosen_key(replace(TOKEN, principal="cd"), agent="ops", source="builds/linux")
    assert isinstance(other, Allowed)
    assert other.key != outcome.key


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"session_key": "agent:ci/api:ci/x:1", "agent": "ops"}, "bad_key"),
        ({"session_key": "ci/api:ci"}, "bad_key"),
        ({"session_key": "agent:ci/telegram:bot1/dm:1"}, "not_allowed"),
        ({"agent": "web", "source": "s"}, "not_allowed"),
        ({"agent": "ci", "source": ""}, "bad_key"),
        ({"agent": "", "source": "s"}, "bad_key"),
    ],
)
def test_what_a_caller_may_not_choose_is_denied_with_a_hint(request_: dict[str, str], code: str) -> None:
    outcome = chosen_key(TOKEN, **request_)
    assert isinstance(outcome, Denied)
    assert outcome.code == code
    assert outcome.reason
    assert outcome.hint
