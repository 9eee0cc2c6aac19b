"""An operator who rewrites history, with all the rights and all the keys there are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import asyncpg
import msgspec

from services.contracts.envelope import Event, Head, chain
from services.contracts.events.catalogue import draft, fact_of
from services.contracts.events.chance import SeedRevealed
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import SPECTATOR, Leave, Refusal

Owner = asyncpg.Connection

TABLES = ("macao_log.events", "macao_log.commands", "macao_log.streams", "macao_tree.checkpoints")


@asynccontextmanager
async def operator(url: str) -> AsyncIterator[Owner]:
    """Somebody for whom no trigger fires; they stand again afterwards, as if nothing had been."""
    connection = await asyncpg.connect(url)
    try:
        for table in TABLES:
            await connection.execute(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
        yield connection
        for table in TABLES:
            await connection.execute(f"ALTER TABLE {table} ENABLE TRIGGER ALL")
    finally:
        await connection.close()


def with_another_loser(events: Sequence[Event], seat: int) -> list[Event]:
    """The match as it would have been, had this seat left first: dice, decisions and chain are right."""
    facts = [fact_of(event) for event in events]
    seed = next(bytes.fromhex(fact.seed) for fact in facts if isinstance(fact, SeedRevealed))
    opening = sum(event.command == events[0].command for event in events)
    match = matches.fold(facts[:opening], CATALOGUE)
    after = matches.decide(match, seat, Leave(), matches.keys_of(match, seed))
    assert not isinstance(after, Refusal)
    first = events[opening]
    drafts = [draft(fact, matches.redact(match.rules, fact, SPECTATOR), bytes(16)) for fact in after]
    return [
        *events[:opening],
        *chain(
            events[opening - 1].head, drafts, stream=first.stream, command=first.command, at_ms=first.at_ms,
            actor=match.started.seats[seat].player, cause=msgspec.json.encode({"seat": seat, "move": Leave()}),
        ),
    ]  # fmt: skip


async def rewrite(owner: Owner, events: Sequence[Event]) -> None:
    """Put events in the places of those of the same versions, and move the head of their stream."""
    for event in events:
        done = await owner.execute(
            "UPDATE macao_log.events SET type = $3, schema = $4, actor = $5, command = $6, at_ms = $7, cause = $8,"
            " body = $9, seal = $10, salt = $11, sealed = $12, previous = $13, hash = $14"
            " WHERE stream = $1 AND version = $2",
            *(getattr(event, field) for field in event.__struct_fields__),
        )
        assert done == "UPDATE 1", "the other course of the match has as many events"
    head: Head = events[-1].head
    await owner.execute(
        "UPDATE macao_log.streams SET version = $2, hash = $3 WHERE id = $1",
        events[0].stream, head.version, head.hash,
    )  # fmt: skip


async def forget_what_was_signed(owner: Owner) -> None:
    """Throw the sealed tree away, so that the service seals and signs the other history."""
    await owner.execute("DELETE FROM macao_tree.tiles")
    await owner.execute("DELETE FROM macao_tree.checkpoints")
