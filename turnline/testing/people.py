"""The people of a simulation: clients that send again until they are heard, two who answer one question, operators."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from random import Random
from typing import Any, TypeVar

from consumers.bus import StoreBus
from sessionstore.errors import Conflict, NotFound
from sessionstore.event import Event, Kind, Rank
from sessionstore.inbox import Accepted, BodyConflict, NewRow, PutResult
from sessionstore.key import SessionKey
from sessionstore.wait import NewAnswer
from turnline.testing.cast import TOOLS, Act
from turnline.testing.chronicle import Chronicle
from turnline.testing.evidence import Ledger
from turnline.testing.node import Node
from turnline.testing.outside import Outside
from turnline.testing.seat import Seats, Unreachable
from turnline.testing.witness import Witness

T = TypeVar("T")

AGAIN_S = 0.7
REDRIVES_MAX = 3

OPEN = "SELECT wait_id FROM wait WHERE status = 'open' AND kind = 'approval' ORDER BY asked_at, wait_id"
UNKNOWN = "SELECT effect_id FROM outbox WHERE state = 'unknown' ORDER BY pos"
ASKED = "SELECT effect_id FROM outbox WHERE state = 'unknown' AND due IS NULL ORDER BY pos"
ENDED_BADLY = "SELECT effect_id FROM outbox WHERE state IN ('failed', 'expired', 'unknown') ORDER BY pos"
DEAD = "SELECT dead_id, tenant || '/' || event_id AS event FROM dead WHERE state = 'dead' ORDER BY dead_id"


class People:
    """Everyone outside who wants something of the system."""

    def __init__(
        self,
        seats: Seats,
        random: Random,
        chronicle: Chronicle,
        ledger: Ledger,
        outside: Outside,
        witness: Witness,
        channels: list[str],
    ) -> None:
        self._seats = seats
        self._random = random
        self._chronicle = chronicle
        self._ledger = ledger
        self._outside = outside
        self._witness = witness
        self._channels = channels
        self._redrives: dict[str, int] = {}
        self.sessions = [self._session(n) for n in range(random.randint(2, 6))]

    async def send_all(self, within_s: float) -> None:
        """Events at random moments; on return each is acknowledged, and was sent again where a client does so."""
        events = [self._event(n) for n in range(self._random.randint(10, 40))]
        await asyncio.gather(*(self._client(event, self._random.uniform(0, within_s)) for event in events))

    async def meddle(self, within_s: float) -> None:
        """Answers and operations at random moments."""
        acts = [self._answer_one, self._mark_one, self._resend_one, self._redrive_one]
        for _ in range(self._random.randint(0, 25)):
            await asyncio.sleep(self._random.uniform(0, within_s / 12))
            act = self._random.choices(acts, [12, 2, 1, 3])[0]
            await act()

    async def finish(self) -> int:
        """Answer, mark and redrive all that is left, as long as it helps; returns how much was done."""
        done = 0
        for row in self._witness.rows(OPEN):
            await self._until_heard(self._answer(row["wait_id"], "boss", "approved"))
            done += 1
        for row in self._witness.rows(ASKED):
            done += await self._mark(row["effect_id"])
        for row in self._witness.rows(DEAD):
            done += await self._redrive(row["dead_id"], row["event"])
        return done

    async def _client(self, event: Event, at_s: float) -> None:
        await asyncio.sleep(at_s)
        name = (event.tenant, event.source, event.id)
        await self._until_heard(self._put(event, b"body"))
        self._ledger.acknowledged[name] = event.session
        while self._random.random() < 0.35:
            await asyncio.sleep(self._random.choice([0.0, self._random.uniform(0, 10)]))
            body = b"body" if self._random.random() < 0.9 else b"another"
            await self._until_heard(self._put(self._rerouted(event), body))

    def _rerouted(self, event: Event) -> Event:
        """Between two deliveries a routing rule may have changed; the first one counts."""
        others = [key for key in self.sessions if key.tenant == event.tenant]
        if self._random.random() < 0.8:
            return event
        key = self._random.choice(others)
        return replace(event, session=key.text, agent=key.agent)

    def _put(self, event: Event, body: bytes) -> Callable[[Node], Coroutine[Any, Any, PutResult]]:
        async def put(node: Node) -> PutResult:
            [result] = await StoreBus(node.store.inbox).publish([NewRow(event, body)])
            if isinstance(result, Accepted):
                self._ledger.accepted[event.tenant, event.source, event.id] += 1
            if isinstance(result, BodyConflict) and body == b"body":
                raise AssertionError(f"{event.id} was put again as it was, and is said to have another body")
            self._chronicle.tell(f"put {event.id} into {event.session}: {type(result).__name__}")
            return result

        return put

    async def _until_heard(self, act: Callable[[Node], Coroutine[Any, Any, T]]) -> T:
        while True:
            try:
                return await self._seats.call(act)
            except Unreachable:
                await asyncio.sleep(AGAIN_S)

    async def _once(self, act: Callable[[Node], Coroutine[Any, Any, object]]) -> bool:
        try:
            await self._seats.call(act)
        except (Unreachable, Conflict, NotFound) as error:
            self._chronicle.tell(f"people were told {type(error).__name__}: {error}")
            return False
        return True

    def _answer(self, wait_id: str, by: str, answer: str) -> Callable[[Node], Coroutine[Any, Any, object]]:
        async def give(node: Node) -> object:
            [result] = await node.store.waits.answer([NewAnswer(wait_id, answer, by)])
            self._ledger.answers.append((wait_id, by, result))
            self._chronicle.tell(f"{by} answered {wait_id[:8]} {answer}: {type(result).__name__}")
            return result

        return give

    async def _answer_one(self) -> None:
        """Two people answer the same question at once, and do not agree."""
        wait_id = self._one_of(OPEN)
        if wait_id is None:
            return
        words = ["approved", "rejected", "approved", "perhaps"]
        who = [("ann", self._random.choice(words)), ("bob", self._random.choice(words))]
        await asyncio.gather(*(self._once(self._answer(wait_id, by, word)) for by, word in who))

    async def _mark_one(self) -> None:
        effect_id = self._one_of(UNKNOWN)
        if effect_id is not None:
            await self._mark(effect_id)

    async def _mark(self, effect_id: str) -> bool:
        """By the truth, where that is settled."""
        truth = self._outside.truth(effect_id)
        if truth is None:
            return True

        async def mark(node: Node) -> None:
            await node.store.operations.mark(effect_id, truth, "operator", "looked")

        self._ledger.marked.add(effect_id)
        self._chronicle.tell(f"operator marks {effect_id[:8]} {truth}")
        return await self._once(mark)

    async def _resend_one(self) -> None:
        effect_id = self._one_of(ENDED_BADLY)
        if effect_id is None or self._outside.truth(effect_id) is None:
            return

        async def resend(node: Node) -> None:
            await node.store.operations.resend(effect_id, "operator")

        self._ledger.resent.add(effect_id)
        self._chronicle.tell(f"operator resends {effect_id[:8]}")
        await self._once(resend)

    async def _redrive_one(self) -> None:
        found = self._witness.rows(DEAD)
        if found:
            dead = self._random.choice(found)
            await self._redrive(dead["dead_id"], dead["event"])

    async def _redrive(self, dead_id: str, event: str) -> bool:
        self._redrives[event] = self._redrives.get(event, 0) + 1
        if self._redrives[event] > REDRIVES_MAX:
            return False

        async def redrive(node: Node) -> None:
            await node.store.operations.redrive(dead_id, "operator")

        self._chronicle.tell(f"operator redrives {dead_id[:8]}")
        return await self._once(redrive)

    def _one_of(self, query: str) -> str | None:
        found = [str(next(iter(row.values()))) for row in self._witness.rows(query)]
        return self._random.choice(found) if found else None

    def _session(self, n: int) -> SessionKey:
        agent = self._random.choice(["echo", "echo", "collect", "slow"])
        tenant = self._random.choice(["default", "other"])
        return SessionKey(tenant, agent, (("sim", "x"), ("dm", str(n))))

    def _event(self, n: int) -> Event:
        random = self._random
        key = random.choice(self.sessions)
        channel = random.choice(self._channels)
        command = random.random() < 0.05
        return Event(
            tenant=key.tenant,
            source="sim",
            id=f"e{n}",
            type="nudge" if command else "message",
            session=key.text,
            agent=key.agent,
            data={"text": f"e{n}", "acts": self._acts(key.agent)},
            kind=Kind.COMMAND if command else Kind.MESSAGE,
            rank=Rank.COMMAND if command else Rank.REST,
            reply_route={"adapter": channel, "lane": channel} if random.random() < 0.9 else None,
        )

    def _acts(self, agent: str) -> list[Act]:
        count = self._random.choice([1, 1, 2, 3, 5])
        acts = [self._act() for _ in range(count)]
        return [act for act in acts if agent != "slow" or act[0] not in ("sleep", "stubborn", "step")]

    def _act(self) -> Act:
        random = self._random
        tool = random.choice(TOOLS)
        acts: list[tuple[int, Act]] = [
            (8, ["reply"]),
            (2, ["send", random.choice(self._channels)]),
            (6, ["call", tool, random.choice([0, 0, 1, 2])]),
            (3, ["fire", tool, random.choice([None, 2.0, 20.0])]),
            (4, ["ask", tool, random.choice([[], ["fact"]]), random.choice([None, 5.0, 30.0])]),
            (3, ["timer", random.uniform(0, 30)]),
            (7, ["step", random.choice("pq"), random.uniform(0.1, 3)]),
            (3, ["sleep", random.choice([random.uniform(0, 2), random.uniform(0, 8)])]),
            (1, ["stubborn", 8.0]),
            (2, ["fail", random.choice([0, 1, 2])]),
            (1, ["complete"]),
        ]
        return random.choices([act for _, act in acts], [weight for weight, _ in acts])[0]
