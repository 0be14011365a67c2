"""An intake: the bytes of bodies that one door holds in memory at once, bounded."""

from collections.abc import Iterator
from contextlib import contextmanager

from sessionstore.errors import Overloaded

INTAKE_BYTES_MAX = 256 * 1024 * 1024


class Hold:
    """What one request holds of an intake."""

    __slots__ = ("_intake", "held_bytes")

    def __init__(self, intake: "Intake") -> None:
        self._intake = intake
        self.held_bytes = 0

    def add(self, size: int) -> None:
        """Hold `size` bytes more. Raises Overloaded, and then they are not held."""
        self._intake.take(size)
        self.held_bytes += size


class Intake:
    """Counts what is held. Before a body is verified nobody vouches for it, so a crowd of them has to have a limit."""

    def __init__(self, bytes_max: int = INTAKE_BYTES_MAX) -> None:
        self.bytes_max = bytes_max
        self.held_bytes = 0

    @contextmanager
    def holding(self) -> Iterator[Hold]:
        """A hold that is given back at the end, whatever the end."""
        hold = Hold(self)
        try:
            yield hold
        finally:
            self.held_bytes -= hold.held_bytes

    def take(self, size: int) -> None:
        """Count `size` bytes in. Raises Overloaded."""
        if self.held_bytes + size > self.bytes_max:
            raise Overloaded(
                f"requests under way hold {self.held_bytes} bytes here; at most {self.bytes_max} may be held",
                hint="send again a little later",
            )
        self.held_bytes += size
