"""Carries out what is asked of tables that are there: load, decide, append; decide anew when somebody else was faster.

It needs the log and nothing else: no engine, no other process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import Struct

from services.lobby.tables.deciding import Refusal, decide
from services.lobby.tables.orders import Order
from services.lobby.tables.streams import Loaded, TableStreams, Written
from services.lobby.tables.table import Table
from services.runtime.log import Appended, Conflict, Duplicate, EventLog, Reused
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

ATTEMPTS_MAX: Final = 32
"""How often an order is decided anew because others were faster. Each time somebody got through."""


class Done(Struct, frozen=True):
    """The table as the order left it; ``replayed``: it did so when it was first given."""

    table: Table
    replayed: bool = False


Plan = Callable[[Table], Awaitable[Order]]
"""Makes the order that fits the table as it stands; asked anew when somebody else was faster."""


class Clerk:
    """Looks after tables that are there."""

    def __init__(self, log: EventLog, streams: TableStreams) -> None:
        self._log = log
        self._streams = streams

    async def find(self, table: str) -> Table:
        """Return a table with everything written so far.

        Raises:
            Problem: ``not-found``.
        """
        return (await self._load(table)).table

    async def act(self, table: str, order: Order | Plan, *, actor: str, command: Command, cause: Any) -> Done:
        """Carry out an order, or the order that a plan makes for the table as it stands.

        Raises:
            Problem: ``not-found``, the refusal's code, ``idempotency-key-reused``; ``unavailable``, when it is crowded.
        """
        earlier = await self.carried_out(command)
        if earlier is not None:
            return earlier
        for _ in range(ATTEMPTS_MAX):
            loaded = await self._load(table)
            planned = await order(loaded.table) if callable(order) else order
            facts = decide(loaded.table, planned, actor)
            if isinstance(facts, Refusal):
                # The same command may have got through meanwhile, sent twice at once: then this is its answer.
                earlier = await self.carried_out(command)
                if earlier is not None:
                    return earlier
                raise Problem(facts.code, params=facts.params)
            outcome, after = await self._streams.append(
                table, loaded, facts, actor=actor, command=command, cause=cause
            )
            match outcome:
                case Appended():
                    return Done(after)
                case Duplicate():
                    return await self._first_answer(outcome.answer)
                case Reused():
                    raise Problem("idempotency-key-reused")
                case Conflict():
                    continue
        raise Problem("unavailable", "Others kept acting at this table first.")

    async def _load(self, table: str) -> Loaded:
        loaded = await self._streams.load(table)
        if loaded is None:
            raise Problem("not-found", "There is no such table.")
        return loaded

    async def carried_out(self, command: Command) -> Done | None:
        """Return what a command led to if it was carried out before.

        Raises:
            Problem: ``idempotency-key-reused``.
        """
        known = await self._log.find_command(command.id)
        if known is None:
            return None
        if known.request_hash != command.hash:
            raise Problem("idempotency-key-reused")
        return await self._first_answer(known.answer)

    async def _first_answer(self, answer: bytes) -> Done:
        written = msgspec.json.decode(answer, type=Written)
        table = await self._streams.load_at(written.table, written.version)
        if table is None:
            raise Problem("not-found", "There is no such table.")
        return Done(table, replayed=True)
