"""Expressions find a session key in a request, or say at settings time what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.expression import (
    compile_expression,
    compile_expressions,
    evaluate,
    key_parts,
    request_payload,
    usable_parts,
)
from router.githubkey import GITHUB_KEY
from sessionstore.errors import BadInput, BadSettings
from sessionstore.key import SessionKey

GITHUB = Path(__file__).parents[2] / "data/github"
EXPECTED: dict[str, list[list[str]]] = json.loads((GITHUB / "session-keys.json").read_text())
HOOK_ID = "109948940"


def github_parts(body: Any, hook_id: str | None = HOOK_ID) -> list[list[str]]:
    headers = {"X-GitHub-Event": "x"} | ({"X-GitHub-Hook-ID": hook_id} if hook_id else {})
    parts = key_parts(compile_expressions(GITHUB_KEY, "hooks.github.key"), request_payload(headers, {}, body))
    assert parts is not None
    return [list(pair) for pair in parts]


def payload_of(name: str) -> Any:
    return json.loads((GITHUB / "payloads" / name).read_text())


def test_the_table_covers_every_payload() -> None:
    assert sorted(EXPECTED) == sorted(path.name for path in (GITHUB / "payloads").iterdir())
    assert len(EXPECTED) == 51


@pytest.mark.parametrize("name", EXPECTED)
def test_a_github_delivery_belongs_to_the_session_of_the_table(name: str) -> None:
    parts = github_parts(payload_of(name))
    assert parts == EXPECTED[name]
    assert SessionKey("t", "ci", tuple((kind, part_id) for kind, part_id in parts)).text


def test_a_comment_on_a_pull_request_lands_in_its_session() -> None:
    body = payload_of("issue_comment.created.payload.json")
    body["issue"]["number"] = 2
    body["issue"]["pull_request"] = {"url": "https://api.github.com/repos/Codertocat/Hello-World/pulls/2"}
    assert github_parts(body) == github_parts(payload_of("pull_request.opened.payload.json"))


def test_a_check_of_two_pull_requests_belongs_to_the_repository() -> None:
    body = payload_of("check_run.completed.payload.json")
    body["check_run"]["pull_requests"] *= 2
    assert github_parts(body) == [["github", "Codertocat/Hello-World"]]


def test_a_check_in_a_fork_does_not_land_in_the_upstream_number() -> None:
    body = payload_of("check_run.completed.payload.json")
    body["check_run"]["pull_requests"][0]["base"]["repo"]["id"] = 1
    assert github_parts(body) == [["github", "Codertocat/Hello-World"]]


def test_a_workflow_run_of_one_pull_request_lands_in_its_session() -> None:
    body = payload_of("workflow_run.completed.payload.json")
    body["workflow_run"]["pull_requests"] = [{"number": 7, "base": {"repo": {"id": body["repository"]["id"]}}}]
    assert github_parts(body) == [["github", "octo-org/octo-repo"], ["pr", "7"]]


def test_without_a_repository_and_a_hook_id_it_is_the_account() -> None:
    assert github_parts(payload_of("installation.created.payload.json"), None) == [["github", "account"]]


@pytest.mark.parametrize("body", [None, [], "text", 3, {"issue": []}, {"repository": {"full_name": ""}}])
def test_a_strange_body_still_finds_the_hook(body: Any) -> None:
    assert github_parts(body) == [["github", "hook"], ["hook", HOOK_ID]]


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        "text",
        ["a", "b"],
        [["issue", None]],
        [["issue", ""]],
        [["issue", True]],
        [["issue", 1.5]],
        [["issue", {"a": 1}]],
        [["", "x"]],
        [[None, "x"]],
        [["issue", "1", "2"]],
        [["github", "o/r"], ["issue", None]],
    ],
)
def test_a_value_that_names_nothing_is_unusable(value: Any) -> None:
    assert usable_parts(value) is None


def test_whole_numbers_become_text_and_zero_is_an_id() -> None:
    assert usable_parts([["issue", 0], ["x", -3]]) == (("issue", "0"), ("x", "-3"))


def test_the_first_usable_expression_wins_and_a_failing_one_is_passed_over() -> None:
    expressions = compile_expressions(
        ["length(body.none) && [['a', 'x']]", "[['b', body.none]]", "[['c', query.q]]", "[['d', 'x']]"], "hooks.x.key"
    )
    assert key_parts(expressions, request_payload({}, {"q": "1"}, {})) == (("c", "1"),)
    assert key_parts(expressions[:2], request_payload({}, {}, {})) is None


def test_header_names_are_lower_case() -> None:
    expression = compile_expression('headers."x-event"', "hooks.x.type")
    assert evaluate(expression, request_payload({"X-Event": "push"}, {}, None)) == "push"


def test_a_function_that_cannot_take_the_payload_is_bad_input_that_names_the_setting() -> None:
    expression = compile_expression("length(body.none)", "hooks.x.type")
    with pytest.raises(BadInput, match=r"hooks\.x\.type") as caught:
        evaluate(expression, {"body": {}})
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("body.[", "column"),
        ("body.issue ? 1", "column 12"),
        ("", "empty"),
        ("nosuch(body)", r"no function nosuch\(\)"),
        ("body.x && [length(a, b)]", r"length\(\) takes 1 arguments, not 2"),
        ("merge()", r"merge\(\) takes 1 or more"),
        ("body.x == `abc`", "not JSON"),
        ("'open", "Unclosed"),
        ("a" * 3_000, "at most"),
        ("(" * 1_500, "."),
    ],
)
def test_a_bad_expression_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(BadSettings, match=said) as caught:
        compile_expressions(["body.fine", text], "hooks.x.key")
    assert str(caught.value).startswith("hooks.x.key[1]: ")
    assert caught.value.hint


@pytest.mark.parametrize("texts", [[], "body.x"])
def test_a_key_setting_is_a_list_with_something_in_it(texts: Any) -> None:
    with pytest.raises(BadSettings, match="list"):
        compile_expressions(texts, "hooks.x.key")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(text=st.text(max_size=40) | st.from_regex(r"[a-z.\[\]()'`|&!@*?:=,0-9\" ]{1,30}", fullmatch=True), body=JSON)
def test_no_text_and_no_payload_raise_anything_foreign(text: str, body: Any) -> None:
    try:
        evaluate(compile_expression(text, "x"), request_payload({}, {}, body))
    except (BadSettings, BadInput):
        return


@given(
    body=st.fixed_dictionaries(
        {}, optional={"issue": JSON, "repository": JSON, "check_run": JSON, "pull_request": JSON}
    )
)
def test_github_key_is_found_for_any_body(body: Any) -> None:
    assert github_parts(body)
