"""Whether an agent is at work on what a session was given, as far as a reader of the session can tell."""

from collections.abc import Iterable

from sessionstore.clock import Clock


class Working:
    """True from an event's arrival to the commit of its turn, for `at_most_s`: a turn that is put off is no work."""

    def __init__(self, at_most_s: float, clock: Clock) -> None:
        self._at_most_s = at_most_s
        self._clock = clock
        self._since: dict[int, float] = {}

    def arrived(self, positions: Iterable[int]) -> None:
        """Inbox rows that a turn will take."""
        now = self._clock.monotonic()
        for position in positions:
            self._since[position] = now

    def closed(self, positions: Iterable[int]) -> None:
        """Inbox rows whose turn has committed."""
        for position in positions:
            self._since.pop(position, None)

    def __bool__(self) -> bool:
        oldest = self._clock.monotonic() - self._at_most_s
        self._since = {position: at for position, at in self._since.items() if at > oldest}
        return bool(self._since)
