"""How long the wall clock has been trustworthy: since the process began, or since somebody set the clock.

Times in the store are wall-clock times, the only ones that processes share. Where acting too early does harm, an age by
that clock counts only once this clock has gone on beside the monotonic one for as long.
"""

from sessionstore.clock import Clock

SET_S = 1.0  # slewing stays far below this between two looks; setting a clock by less does no harm


class Steadiness:
    """Notices at each look whether the wall clock was set since the last one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since = clock.monotonic()
        self._ahead_s = clock.now() - self._since

    def steady_s(self) -> float:
        """Seconds for which the wall clock was surely not set."""
        monotonic = self._clock.monotonic()
        ahead_s = self._clock.now() - monotonic
        if abs(ahead_s - self._ahead_s) > SET_S:
            self._since = monotonic
            self._ahead_s = ahead_s
        return monotonic - self._since
