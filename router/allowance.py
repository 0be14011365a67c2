"""An allowance: so many a second on average, so many at once."""

from sessionstore.clock import Clock


class Allowance:
    """A token bucket, full at the start: `rate_per_s` on average, `burst_max` at once."""

    def __init__(self, rate_per_s: float, burst_max: int, clock: Clock) -> None:
        self._rate_per_s = rate_per_s
        self._burst_max = burst_max
        self._clock = clock
        self._left = float(burst_max)
        self._at = clock.monotonic()

    def take(self) -> bool:
        """Whether one more is within the allowance; counts it if so."""
        now = self._clock.monotonic()
        self._left = min(self._burst_max, self._left + (now - self._at) * self._rate_per_s)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True
