"""Sources: no caller speaks in the name of another caller, of a hook, or of the server's own parts."""

import pytest

from router.callersource import INTERNAL_SOURCES, caller_source
from sessionstore.errors import NotAllowed


@pytest.mark.parametrize("source", [*sorted(INTERNAL_SOURCES), "cron:nightly", "API:ci/x", "webchat:web", "github"])
def test_not_even_an_administrator_speaks_for_ourselves_or_for_a_hook(source: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        caller_source("admin", True, source, {"github"})
    assert caught.value.hint


@pytest.mark.parametrize("source", ["ci", "https://ci.example.com/x", "urn:uuid:1", "cronies", "Github"])
def test_an_administrators_other_sources_are_kept_as_sent(source: str) -> None:
    assert caller_source("admin", True, source, {"github"}) == source


def test_a_scoped_tokens_sources_never_meet_anybody_elses() -> None:
    made = {
        caller_source(name, False, source, {"github"})
        for name, source in [("a", "b/c"), ("a/b", "c"), ("a", "github"), ("b", "c"), ("a%2Fb", "c")]
    }
    assert len(made) == 5
    assert all(source.startswith("api:") for source in made)
