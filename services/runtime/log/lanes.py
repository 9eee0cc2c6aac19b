"""Where appends wait for their turn: one lane a stream, the lanes in the order of their turn. No I/O in here."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque

from services.runtime.log.types import Append, Outcome


class Ticket:
    """An append on its way, and its caller's place to wait.

    Attributes:
        deadline: the loop's time at which the caller is told that there is no outcome.
        repeated: it was sent before, and nobody knows what came of it.
    """

    __slots__ = ("deadline", "item", "outcome", "repeated")

    def __init__(self, item: Append, outcome: asyncio.Future[Outcome], deadline: float) -> None:
        self.item = item
        self.outcome = outcome
        self.deadline = deadline
        self.repeated = False

    def succeed(self, outcome: Outcome) -> None:
        """Give the caller, if it still waits, its outcome."""
        if not self.outcome.done():
            self.outcome.set_result(outcome)

    def fail(self, error: Exception) -> None:
        """Give the caller, if it still waits, an error."""
        if not self.outcome.done():
            self.outcome.set_exception(error)


class Lanes:
    """Appends that wait. Those of one stream keep the order in which they came; streams take turns.

    What was taken is on its way until it is said to be done. Meanwhile its stream has no turn and its command is not
    taken again: several batches may be on their way at a time, and still nothing overtakes anything.
    """

    def __init__(self) -> None:
        self._ready: OrderedDict[str, deque[Ticket]] = OrderedDict()
        self._held: dict[str, deque[Ticket]] = {}
        self._flying: dict[str, Ticket] = {}
        self._commands: set[str] = set()
        self._waiting = 0

    def __len__(self) -> int:
        """Return how many wait."""
        return self._waiting

    @property
    def ready(self) -> int:
        """How many could be taken now, at most: one a stream."""
        return len(self._ready)

    def add(self, ticket: Ticket) -> None:
        """Let an append wait."""
        stream = ticket.item.stream
        lane = self._held.get(stream)
        if lane is None:
            lane = self._ready.get(stream)
        if lane is None:
            lane = self._ready[stream] = deque()
        lane.append(ticket)
        self._waiting += 1

    def take(self, most: int) -> list[Ticket]:
        """Take a batch: the first append of each stream, no command twice; sorted by stream, as the function asks."""
        batch: list[Ticket] = []
        skipped: list[tuple[str, deque[Ticket]]] = []
        while self._ready and len(batch) < most:
            stream, lane = self._ready.popitem(last=False)
            if lane[0].item.command in self._commands:
                skipped.append((stream, lane))
                continue
            ticket = lane.popleft()
            self._commands.add(ticket.item.command)
            self._held[stream] = lane
            self._flying[stream] = ticket
            batch.append(ticket)
        self._ready.update(skipped)
        self._waiting -= len(batch)
        batch.sort(key=_stream_of)
        return batch

    def done(self, batch: list[Ticket]) -> None:
        """Say that a batch is no longer on its way: its streams have turns again, behind the others."""
        for ticket in batch:
            self._commands.discard(ticket.item.command)
            del self._flying[ticket.item.stream]
            lane = self._held.pop(ticket.item.stream)
            if lane:
                self._ready[ticket.item.stream] = lane

    def late_on_their_way(self, now: float) -> list[Ticket]:
        """Return all that are on their way although their deadline has passed; they stay there."""
        return [ticket for ticket in self._flying.values() if ticket.deadline <= now]

    def take_late(self, now: float) -> list[Ticket]:
        """Take out all that wait although their deadline has passed; they will not be sent."""
        late: list[Ticket] = []
        for lanes in (self._ready, self._held):
            for lane in lanes.values():
                while lane and lane[0].deadline <= now:
                    late.append(lane.popleft())
        for stream in [stream for stream, lane in self._ready.items() if not lane]:
            del self._ready[stream]
        self._waiting -= len(late)
        return late


def _stream_of(ticket: Ticket) -> str:
    return ticket.item.stream
