"""Patches: the operations lead from one JSON value to the other, by our own application and by the oracle's."""

from typing import Any

import jsonpatch
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessionstore.errors import Damaged
from sessionstore.patch import apply, diff, same

KEYS = st.text(alphabet="ab~/01é\u2028😀-. ", max_size=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.0, -0.0, 1.0, 0.5, 1e300])
    | st.text(alphabet="ab~/😀", max_size=3)
)
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=6) | st.dictionaries(KEYS, v, max_size=5), max_leaves=25)
HISTORIES = st.lists(SCALARS | st.dictionaries(KEYS, SCALARS, max_size=3), min_size=1, max_size=30)


def spelled(value: Any) -> bytes:
    """The strict form: true is not 1, and 1 is not 1.0."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


@given(VALUES, VALUES)
def test_applying_the_difference_gives_the_new_value(old: Any, new: Any) -> None:
    assert spelled(apply(old, diff(old, new))) == spelled(new)


@given(VALUES, VALUES)
def test_the_reference_implementation_reads_our_patches_as_we_do(old: Any, new: Any) -> None:
    assert spelled(jsonpatch.JsonPatch(diff(old, new)).apply(old)) == spelled(new)


@given(VALUES, VALUES)
def test_we_read_the_reference_implementations_patches_as_it_does(old: Any, new: Any) -> None:
    made = jsonpatch.make_patch(old, new)
    ops = [op for op in made.patch if op["op"] in ("add", "remove", "replace")]
    if len(ops) == len(made.patch):
        assert spelled(apply(old, ops)) == spelled(made.apply(old))


@given(VALUES, VALUES)
def test_a_patch_survives_being_stored(old: Any, new: Any) -> None:
    assert spelled(apply(old, orjson.loads(orjson.dumps(diff(old, new))))) == spelled(new)


@given(VALUES, VALUES)
def test_neither_value_is_changed(old: Any, new: Any) -> None:
    before, after = spelled(old), spelled(new)
    apply(old, diff(old, new))
    assert (spelled(old), spelled(new)) == (before, after)


@given(VALUES)
def test_what_is_the_same_needs_no_operation(value: Any) -> None:
    assert diff(value, orjson.loads(orjson.dumps(value))) == []


@given(VALUES, VALUES)
def test_same_means_the_same_spelling(a: Any, b: Any) -> None:
    assert same(a, b) == (spelled(a) == spelled(b))


@pytest.mark.parametrize(("a", "b"), [(True, 1), (False, 0), (1, 1.0), (0.0, -0.0), (None, False), ("1", 1), ([], {})])
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"k": v}, lambda v: [[v], "tail"]])
def test_values_that_python_takes_for_equal_are_told_apart(a: Any, b: Any, wrap: Any) -> None:
    assert not same(wrap(a), wrap(b))
    assert spelled(apply(wrap(a), diff(wrap(a), wrap(b)))) == spelled(wrap(b))


@given(HISTORIES, st.integers(0, 5), st.lists(SCALARS, max_size=5))
def test_a_bounded_history_that_moves_on_makes_a_patch_as_long_as_its_change(
    history: list[Any], gone: int, came: list[Any]
) -> None:
    old = [{"n": n, "v": v} for n, v in enumerate(history)]
    new = old[gone:] + [{"n": len(old) + n, "v": v} for n, v in enumerate(came)]
    ops = diff({"log": old}, {"log": new})
    assert len(ops) <= min(gone, len(old)) + len(came)
    assert spelled(apply({"log": old}, ops)) == spelled({"log": new})


@given(st.lists(st.text(max_size=3), min_size=1, max_size=20), st.data())
def test_an_item_put_into_the_middle_is_one_operation(old: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(old)))
    new = [*old[:at], "\x00new", *old[at:]]
    assert len(diff(old, new)) == 1


def test_a_long_history_of_texts_costs_two_operations_a_turn() -> None:
    history = [f"message {n}" for n in range(1_000)]
    moved = [*history[1:], "message 1000"]
    assert len(diff({"h": history}, {"h": moved})) == 2


@pytest.mark.parametrize(
    "op",
    [
        {"op": "remove", "path": "/missing"},
        {"op": "replace", "path": "/missing", "value": 1},
        {"op": "add", "path": "/missing/deeper", "value": 1},
        {"op": "remove", "path": "/list/3"},
        {"op": "replace", "path": "/list/-", "value": 1},
        {"op": "remove", "path": "/list/-"},
        {"op": "add", "path": "/list/4", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/list/-1", "value": 1},
        {"op": "add", "path": "/list/١", "value": 1},
        {"op": "add", "path": "/text/0", "value": 1},
        {"op": "add", "path": "no/slash", "value": 1},
        {"op": "remove", "path": ""},
        {"op": "move", "path": "/list", "from": "/text"},
        {"op": "test", "path": "", "value": 1},
        {"op": "add", "path": "/list/0"},
        {"op": "add"},
        {"path": "/text", "value": 1},
    ],
)
def test_an_operation_that_does_not_fit_is_damage(op: dict[str, Any]) -> None:
    with pytest.raises(Damaged):
        apply({"list": [1, 2, 3], "text": "t"}, [op])
