"""Workspaces: paths that mean one place everywhere, changes that compose, and restorations that overwrite nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionstore.artifact import digests_in_entry, digests_in_record
from sessionstore.errors import BadInput, TooLarge
from sessionstore.record import new_record
from sessionstore.reducer import fold
from sessionstore.workspace import (
    FILES_MAX,
    WORKSPACE_BYTES_MAX,
    Changes,
    Conflict,
    Elsewhere,
    FileRef,
    Found,
    Why,
    applied,
    changes_between,
    checked,
    normal_path,
    plan_restore,
    workspace_of,
)

A, B, C = (FileRef(letter * 64, n, executable=letter == "b") for n, letter in enumerate("abc"))
PATHS = st.sampled_from(["a", "b", "a.txt", "dir/a", "dir/b", "dir/sub/a"])
FILES = st.sampled_from([A, B, C])
WORKSPACES = st.dictionaries(PATHS, FILES)


@pytest.mark.parametrize("path", ["a", "src/main.py", ".env", "a b/ü.txt", "日本/語", "-rf", "a:b", "...a"])
def test_ordinary_paths_are_kept(path: str) -> None:
    assert normal_path(path) == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "..",
        "../a",
        "a/../b",
        "a/..",
        "./a",
        "a/./b",
        "a//b",
        "a/",
        "a\\b",
        "..\\a",
        "a\0b",
        "a\nb",
        "a\u202eb",
        "a\u200b",
        "a.",
        "a ",
        "dir./a",
        "\ud800",
        ".turnline-1",
        "a/.TURNLINE-x",
        "x" * 256,
        "/".join(["x" * 200] * 6),
        7,
    ],
)
def test_what_leads_outside_or_is_read_differently_is_refused(path: Any) -> None:
    with pytest.raises(BadInput):
        normal_path(path)


def test_two_spellings_of_one_letter_are_one_path() -> None:
    assert normal_path("u\u0308.txt") == normal_path("\u00fc.txt")


@pytest.mark.parametrize(
    ("one", "other"), [("a.txt", "A.TXT"), ("straße", "STRASSE"), ("\ufb01le", "file"), ("a", "a/b"), ("A", "a/b/c")]
)
def test_paths_that_some_disk_takes_for_one_do_not_stand_together(one: str, other: str) -> None:
    with pytest.raises(BadInput):
        checked({one: A, other: B})


def test_a_workspace_has_limits() -> None:
    files = {f"f{n}": A for n in range(FILES_MAX)}
    assert checked(files) is files
    with pytest.raises(TooLarge):
        checked({**files, "one more": A})
    with pytest.raises(TooLarge):
        checked({"a": FileRef("a" * 64, WORKSPACE_BYTES_MAX), "b": FileRef("b" * 64, 1)})


@given(WORKSPACES, WORKSPACES)
def test_changes_lead_from_one_to_the_other(before: dict[str, FileRef], after: dict[str, FileRef]) -> None:
    changes = changes_between(before, after)
    assert applied(before, changes) == after
    assert bool(changes) == (before != after)


@given(WORKSPACES, WORKSPACES)
def test_the_reducer_applies_the_event_of_a_change(before: dict[str, FileRef], after: dict[str, FileRef]) -> None:
    record = new_record()
    for step in (changes_between({}, before), changes_between(before, after)):
        record = fold(record, "workspace.changed", step.to_json())
    assert workspace_of(record) == after
    assert digests_in_record(record) == {file.digest for file in after.values()}


def test_the_reducer_keeps_named_artifacts_and_lets_them_go() -> None:
    body = {"name": "report", "digest": A.digest, "size": 1, "media_type": "text/plain"}
    stored = fold(new_record(), "artifact.stored", body)
    assert stored["artifacts"]["refs"] == {"report": {"digest": A.digest, "size": 1, "media_type": "text/plain"}}
    assert digests_in_record(stored) == {A.digest}
    dropped = fold(stored, "artifact.dropped", {"name": "report"})
    assert dropped["artifacts"]["refs"] == {}
    assert stored["artifacts"]["refs"], "the given record is not changed"


def test_an_event_tells_its_digests() -> None:
    assert digests_in_entry("artifact.stored", {"digest": "x"}) == ("x",)
    changed = Changes({"p": A, "q": A}, ("r",)).to_json()
    assert digests_in_entry("workspace.changed", changed) == (A.digest,)
    assert digests_in_entry("message.in", {"digest": "x"}) == ()


@pytest.mark.parametrize(
    ("there", "wanted", "known", "outcome"),
    [
        # (what is on the disk, what should be, what was known) -> what is done
        (None, A, None, "write"),
        (None, A, A, "write"),
        (None, A, B, "write"),
        (None, None, A, "nothing"),
        (A, A, None, "nothing"),
        (A, A, B, "nothing"),
        (B, A, B, "write"),
        (B, A, None, Why.UNTRACKED),
        (C, A, B, Why.MODIFIED),
        (C, A, A, Why.MODIFIED),
        (B, None, B, "remove"),
        (C, None, B, Why.MODIFIED),
        (Elsewhere.FOLDER, A, None, Why.IN_THE_WAY),
        (Elsewhere.FOLDER, A, A, Why.IN_THE_WAY),
        (Elsewhere.FOLDER, None, A, "nothing"),
        (Elsewhere.OTHER, A, A, Why.IN_THE_WAY),
        (Elsewhere.OTHER, None, A, Why.IN_THE_WAY),
    ],
)
def test_one_path_is_restored_only_over_what_was_known(
    there: Found, wanted: FileRef | None, known: FileRef | None, outcome: object
) -> None:
    target = {} if wanted is None else {"p": wanted}
    before = {} if known is None else {"p": known}
    plan = plan_restore({"p": there}, target, before)
    done = {"write": [*plan.write], "remove": [*plan.remove], "conflict": [c.path for c in plan.conflicts]}
    if isinstance(outcome, Why):
        assert plan.conflicts == (Conflict("p", outcome),)
        assert done == {"write": [], "remove": [], "conflict": ["p"]}
    else:
        assert done == {"write": [], "remove": [], "conflict": []} | ({} if outcome == "nothing" else {outcome: ["p"]})


def test_a_file_takes_the_place_of_a_folder_that_becomes_empty() -> None:
    plan = plan_restore({"p": Elsewhere.FOLDER, "p/a": A}, {"p": B}, {"p/a": A})
    assert (dict(plan.write), plan.remove, plan.conflicts) == ({"p": B}, ("p/a",), ())


@given(st.dictionaries(PATHS, st.one_of(st.none(), FILES, st.sampled_from(Elsewhere))), WORKSPACES, WORKSPACES)
def test_nothing_that_was_not_known_is_ever_touched(
    found: dict[str, Found], target: dict[str, FileRef], known: dict[str, FileRef]
) -> None:
    plan = plan_restore(found, target, known)
    for path in (*plan.write, *plan.remove):
        there = found.get(path)
        assert there is None or there is Elsewhere.FOLDER or there == known.get(path)
    assert not {c.path for c in plan.conflicts} & {*plan.write, *plan.remove}
