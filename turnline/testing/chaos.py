"""Chaos: what goes wrong with processes, leases, claims, clocks and facts, at random moments of a simulated life."""

import asyncio
from random import Random

from turnline.testing.chronicle import Chronicle
from turnline.testing.outside import Outside
from turnline.testing.seat import Seat, Seats
from turnline.testing.virtualtime import VirtualClock
from turnline.testing.witness import Witness

FROZEN_MAX_S = 20.0
JUMP_MAX_S = 40.0
JUMPS_MAX = 3

LOSE_LEASES = "UPDATE session SET lease_until = 0 WHERE owner IS NOT NULL"
LOSE_CLAIMS = "UPDATE outbox SET claim_until = 0 WHERE claim IS NOT NULL"


class Chaos:
    """`jumped_back_s` is how far the clock was set back in all."""

    def __init__(
        self,
        seats: Seats,
        random: Random,
        chronicle: Chronicle,
        outside: Outside,
        witness: Witness,
        clock: VirtualClock,
        sessions: list[str],
    ) -> None:
        self.jumped_back_s = 0.0
        self.jumps = 0
        self.freezes = 0
        self._seats = seats
        self._random = random
        self._chronicle = chronicle
        self._outside = outside
        self._witness = witness
        self._clock = clock
        self._sessions = sessions

    async def reign(self, within_s: float) -> None:
        """Let things go wrong."""
        acts = [self._freeze, self._kill, self._replace, self._lose_leases, self._lose_claims, self._jump, self._move]
        weights = [6, 2, 2, 2, 2, 1, 8]
        going: list[asyncio.Task[None]] = []
        for _ in range(self._random.randint(0, 25)):
            await asyncio.sleep(self._random.uniform(0, within_s / 12))
            act = self._random.choices(acts, weights)[0]
            going.append(asyncio.ensure_future(act(self._random.choice(self._seats.all))))
        await asyncio.gather(*going)

    async def _freeze(self, seat: Seat) -> None:
        node = seat.running
        if node is None or node.life.frozen:
            return
        seconds = self._random.uniform(0.1, self._random.choice([2.0, FROZEN_MAX_S]))
        self._chronicle.tell(f"{node.life.name} is frozen for {seconds:.1f} s")
        self.freezes += 1
        node.life.freeze()
        await asyncio.sleep(seconds)
        if node.life.frozen:
            self._chronicle.tell(f"{node.life.name} is thawed")
            node.life.thaw()

    async def _kill(self, seat: Seat) -> None:
        if seat.running is not None:
            self._chronicle.tell(f"{seat.running.life.name} is killed")
            seat.running.fuse.blown.set()

    async def _replace(self, seat: Seat) -> None:
        await seat.stop()

    async def _lose_leases(self, seat: Seat) -> None:
        self._chronicle.tell("all leases are lost")
        self._witness.connection.execute(LOSE_LEASES)

    async def _lose_claims(self, seat: Seat) -> None:
        self._chronicle.tell("all claims are lost")
        self._witness.connection.execute(LOSE_CLAIMS)
        self._outside.disturbed_at = asyncio.get_running_loop().time()

    async def _jump(self, seat: Seat) -> None:
        if self.jumps >= JUMPS_MAX:
            return
        seconds = self._random.uniform(-JUMP_MAX_S, JUMP_MAX_S)
        self._chronicle.tell(f"the clock is set by {seconds:.1f} s")
        self.jumps += 1
        self.jumped_back_s += max(-seconds, 0.0)
        self._clock.jump(seconds)
        self._outside.disturbed_at = asyncio.get_running_loop().time()

    async def _move(self, seat: Seat) -> None:
        self._outside.move(self._random.choice(self._sessions))
