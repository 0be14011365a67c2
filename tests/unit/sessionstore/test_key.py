"""What a session key promises: one spelling each, nothing folded, nothing merged."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sessionstore.errors import BadKey
from sessionstore.key import KEY_BYTES_MAX, SessionKey, build, parse

EXAMPLES = [
    (
        "agent:support/slack:T1/channel:C2/thread:1777244748.777299",
        "support",
        (("slack", "T1"), ("channel", "C2"), ("thread", "1777244748.777299")),
    ),
    ("agent:main/telegram:bot1/dm:111", "main", (("telegram", "bot1"), ("dm", "111"))),
    ("agent:ops/cron:nightly", "ops", (("cron", "nightly"),)),
    ("agent:ci/github:octo%2Fhello/pr:17", "ci", (("github", "octo/hello"), ("pr", "17"))),
]

AWKWARD = ":/%+=@!;#?&$ \t\n\r\x00\x1f\x7f\\\"'~._-aAzZ0éÉßẞıİ中😀👩‍👩‍👧\u0301\u200b\ufeff\u2028"
ids = st.one_of(
    st.text(alphabet=AWKWARD, min_size=1, max_size=12),
    st.text(alphabet=st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12),
)
types = st.from_regex(r"[a-z][a-z0-9-]{0,7}", fullmatch=True).filter(lambda kind: kind != "thread")


@st.composite
def keys(draw: st.DrawFn) -> SessionKey:
    parts = draw(st.lists(st.tuples(types, ids), min_size=1, max_size=2))
    if draw(st.booleans()):
        parts.append(("thread", draw(ids)))
    agent = draw(st.text(alphabet=AWKWARD, min_size=1, max_size=6))
    return SessionKey("default", agent, tuple(parts))


def try_keys() -> st.SearchStrategy[SessionKey]:
    """Keys short enough to exist: 512 bytes are too few for some draws."""

    @st.composite
    def maybe(draw: st.DrawFn) -> SessionKey | None:
        try:
            return draw(keys())
        except BadKey:
            return None

    return maybe().filter(lambda key: key is not None)  # type: ignore[return-value]


@pytest.mark.parametrize(("text", "agent", "parts"), EXAMPLES)
def test_the_documented_keys_are_spelled_as_documented(
    text: str, agent: str, parts: tuple[tuple[str, str], ...]
) -> None:
    key = SessionKey("default", agent, parts)
    assert build(key) == str(key) == text
    assert parse(text) == key


@given(try_keys())
def test_any_key_comes_back_from_its_text(key: SessionKey) -> None:
    text = build(key)
    assert parse(text) == key
    assert re.fullmatch(r"[A-Za-z0-9:/%._~-]+", text)
    assert len(text) <= KEY_BYTES_MAX


@given(try_keys(), try_keys())
def test_different_keys_have_different_texts(one: SessionKey, other: SessionKey) -> None:
    assert (one == other) == (build(one) == build(other))


@given(ids, ids)
@example("AbC=", "abc=")
@example("a/b", "a%2Fb")
@example("é", "e\u0301")
@example("x", "x ")
@example("direct:5", "direct")
def test_ids_that_differ_anyhow_name_different_sessions(one: str, other: str) -> None:
    texts = {build(SessionKey("default", "a", (("group", part_id),))) for part_id in (one, other)}
    assert len(texts) == len({one, other})


@given(st.text(alphabet="agent:/%2Fa3AbB+-thread.", max_size=40))
@example("agent:a/b:c")
@example("agent:a/b:%2f")
@example("agent:a/b:%41")
@example("agent:a/thread:b")
def test_every_accepted_text_is_the_one_spelling(text: str) -> None:
    try:
        key = parse(text)
    except BadKey:
        return
    assert build(key) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "main",
        "cron:nightly",
        "agent:",
        "agent:main",
        "agent:main/",
        "agent:main/telegram",
        "agent:main/telegram:",
        "agent:/telegram:bot1",
        "AGENT:main/telegram:bot1",
        "agent:main/Telegram:bot1",
        "agent:main/telegram:bot1/",
        "agent:main//telegram:bot1",
        "agent:main/telegram:bot1\n",
        "agent:main/te legram:bot1",
        "agent:main/1x:a",
        "agent:main/x:é",
        "agent:main/x:a b",
        "agent:main/x:a+b",
        "agent:main/x:a:b",
        "agent:main/x:a%2fb",
        "agent:main/x:%61",
        "agent:main/x:%",
        "agent:main/x:%zz",
        "agent:main/x:%FF",
        "agent:main/x:%ED%A0%80",
        "agent:main/x:\ud800",
        "agent:main/thread:1",
        "agent:main/x:a/thread:1/thread:2",
        "agent:main/x:a/thread:1/y:2",
    ],
)
def test_any_other_spelling_is_refused_with_a_hint(text: str) -> None:
    with pytest.raises(BadKey) as refused:
        parse(text)
    assert refused.value.hint
    assert refused.value.code == "bad_key"
    str(refused.value).encode()  # a message that cannot be printed would hide the error


def test_a_refused_spelling_is_told_the_right_one() -> None:
    with pytest.raises(BadKey) as refused:
        parse("agent:main/matrix:@bob/channel:!AbC:Ex.org")
    assert refused.value.hint == "Write agent:main/matrix:%40bob/channel:%21AbC%3AEx.org"


@pytest.mark.parametrize("part_id", ["", "\ud800", "a\udfffb"])
def test_an_empty_id_and_half_a_character_are_refused(part_id: str) -> None:
    for agent, parts in [(part_id, (("x", "1"),)), ("a", (("x", part_id),))]:
        with pytest.raises(BadKey) as refused:
            SessionKey("default", agent, parts)
        assert refused.value.hint


def test_a_key_may_take_512_bytes_and_no_more() -> None:
    room = KEY_BYTES_MAX - len("agent:a/x:")
    longest = SessionKey("default", "a", (("x", "i" * room),))
    assert len(build(longest)) == KEY_BYTES_MAX
    assert parse(build(longest)) == longest
    with pytest.raises(BadKey, match="513 bytes"):
        SessionKey("default", "a", (("x", "i" * (room + 1)),))
    with pytest.raises(BadKey, match="at most 512"):
        SessionKey("default", "a", (("x", "é" * 200),))
    with pytest.raises(BadKey, match="at most 512"):
        parse("agent:a/x:" + "i" * (room + 1))


def test_a_thread_is_put_on_replaced_and_taken_off() -> None:
    place = parse("agent:a/slack:T1/channel:C2")
    threaded = place.with_thread("1.2")
    assert str(threaded) == "agent:a/slack:T1/channel:C2/thread:1.2"
    assert (place.thread, threaded.thread) == (None, "1.2")
    assert threaded.base == place == place.base
    assert threaded.with_thread("3/4").thread == "3/4"
    with pytest.raises(BadKey):
        place.with_thread("")


def test_the_tenant_separates_keys_and_is_not_printed() -> None:
    one, other = parse("agent:a/x:1", "acme"), parse("agent:a/x:1", "globex")
    assert build(one) == build(other)
    assert one != other
    for tenant in ("", "a\nb", "\x00", "\ud800", "x" * 129):
        with pytest.raises(BadKey, match="tenant"):
            parse("agent:a/x:1", tenant)


def test_within_counts_whole_parts_of_the_same_tenant_and_agent() -> None:
    prefix = parse("agent:ci/github:octo%2Fhello/pr:1")
    assert prefix.within(prefix)
    assert prefix.with_thread("x").within(prefix)
    assert not parse("agent:ci/github:octo%2Fhello/pr:17").within(prefix)
    assert not parse("agent:other/github:octo%2Fhello/pr:1").within(prefix)
    assert not parse("agent:ci/github:octo%2Fhello/pr:1", "acme").within(prefix)
    assert not parse("agent:ci/github:octo%2Fhello").within(prefix)
