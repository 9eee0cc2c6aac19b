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
    """Appends that wait. Those of one stream keep the order in which they came; streams take turns."""

    def __init__(self) -> None:
        self._lanes: OrderedDict[str, deque[Ticket]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, ticket: Ticket) -> None:
        """Let an append wait."""
        lane = self._lanes.get(ticket.item.stream)
        if lane is None:
            self._lanes[ticket.item.stream] = deque((ticket,))
        else:
            lane.append(ticket)
        self._count += 1

    def take(self, most: int) -> list[Ticket]:
        """Take a batch: the first append of each stream, no command twice; sorted by stream, as the function asks."""
        batch: list[Ticket] = []
        commands: set[str] = set()
        kept: list[tuple[str, deque[Ticket]]] = []
        while self._lanes and len(batch) < most:
            stream, lane = self._lanes.popitem(last=False)
            if lane[0].item.command not in commands:
                ticket = lane.popleft()
                commands.add(ticket.item.command)
                batch.append(ticket)
            if lane:
                kept.append((stream, lane))
        self._lanes.update(kept)  # behind those that have not had a turn yet
        self._count -= len(batch)
        batch.sort(key=_stream_of)
        return batch

    def take_late(self, now: float) -> list[Ticket]:
        """Take out all whose deadline has passed."""
        late: list[Ticket] = []
        for stream in [stream for stream, lane in self._lanes.items() if lane[0].deadline <= now]:
            lane = self._lanes[stream]
            while lane and lane[0].deadline <= now:
                late.append(lane.popleft())
            if not lane:
                del self._lanes[stream]
        self._count -= len(late)
        return late


def _stream_of(ticket: Ticket) -> str:
    return ticket.item.stream
