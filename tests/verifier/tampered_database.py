"""A match tampered with in the database under the service, and what the API and its record say of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import asyncpg

from services.contracts.envelope import Draft, Event, Head, chain
from services.engine.play.commitments import SEED_PURPOSE
from services.engine.record import base64url
from tests.engine.conftest import Engine
from tests.verifier.tampering import Tampering, events

MATCH = events()[0].stream
OTHER = "t_00000000000000000000000001"
BEFORE, ROOM, AFTER = 280, len(events()), 250
"""How the log is laid out: events of others, those of the match, events of others; what is too much comes behind."""

COLUMNS = "version, type, schema, actor, command, at_ms, cause, body, seal, salt, sealed, previous, hash"


class Tamperer:
    """Somebody with all rights on the database, who has switched its triggers off."""

    def __init__(self, connection: asyncpg.Connection[Any]) -> None:
        self._connection = connection

    async def put_match(self, engine: Engine) -> None:
        """Put the whole match where the service would have written it."""
        seed = bytes.fromhex(json.loads(events()[-1].body)["seed"])
        for table in ("events", "streams"):
            await self._connection.execute(f"ALTER TABLE macao_log.{table} DISABLE TRIGGER ALL")
        await self._connection.execute(
            "INSERT INTO macao_engine.commitments (number, match, command, game, commitment, seed_sealed, seed, state)"
            " VALUES (1, $1, 'c_commitment', 'cards-bank', $2, $3, $4, 'played')",
            MATCH,
            json.loads(events()[0].body)["commitment"],
            engine.platform.vault.encrypt(SEED_PURPOSE, seed, MATCH.encode()),
            seed.hex(),
        )
        await self._put_others()
        await self.put(events(), events()[-1].head)

    async def tamper(self, tampering: Tampering) -> None:
        """Change the rows of the match."""
        told = tampering.change(list(events()))
        await self.put(told, events()[-1].head if tampering.end == "kept" else told[-1].head)

    async def _put_others(self) -> None:
        """Fill the log around the match with events of a table, so that its place lies deep in the sealed tree."""
        drafts = [Draft("host-passed", 1, b'{"type":"host-passed","player":"p_1"}')] * (BEFORE + AFTER)
        others = chain(Head(), drafts, stream=OTHER, actor="p_1", command="c_1", at_ms=1, cause=None)
        places = [*range(1, BEFORE + 1), *range(BEFORE + ROOM + 1, BEFORE + ROOM + AFTER + 1)]
        await self._insert(OTHER, zip(places, others, strict=True))
        await self._insert_head(OTHER, "t", others[-1].head)

    async def put(self, told: Sequence[Event], head: Head) -> None:
        """Put these rows in the place of those that are there."""
        async with self._connection.transaction():
            await self._connection.execute("DELETE FROM macao_log.events WHERE stream = $1", MATCH)
            await self._connection.execute("DELETE FROM macao_log.streams WHERE id = $1", MATCH)
            places = [*range(BEFORE + 1, BEFORE + ROOM + 1), *range(BEFORE + ROOM + AFTER + 1, 1000)]
            await self._insert(MATCH, zip(places, told, strict=False))
            await self._insert_head(MATCH, "m", head)

    async def _insert(self, stream: str, told: Iterable[tuple[int, Event]]) -> None:
        await self._connection.executemany(
            f"INSERT INTO macao_log.events (position, stream, recorded_at, {COLUMNS})"
            " VALUES ($1, $2, now(), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
            [(position, stream, *_row(event)) for position, event in told],
        )

    async def _insert_head(self, stream: str, kind: str, head: Head) -> None:
        await self._connection.execute(
            "INSERT INTO macao_log.streams (id, kind, version, hash) VALUES ($1, $2, $3, $4)",
            stream,
            kind,
            head.version,
            head.hash,
        )


def _row(event: Event) -> tuple[Any, ...]:
    return tuple(getattr(event, name) for name in COLUMNS.split(", "))


async def audit_of(engine: Engine) -> dict[str, Any]:
    """Return the verdict of ``GET /v1/matches/{id}/audit``."""
    answer = await engine.as_(None, "GET", f"/v1/matches/{MATCH}/audit")
    assert answer.status_code == 200, answer.text
    verdict: dict[str, Any] = answer.json()
    return verdict


async def record_of(engine: Engine) -> bytes:
    """Return what ``macao export`` downloads."""
    answer = await engine.as_(None, "GET", f"/v1/matches/{MATCH}/record")
    assert answer.status_code == 200, answer.text
    return answer.content


def key_of(engine: Engine) -> str:
    """Return the key under which the service signs records, in base64url."""
    (key,) = [key for key in engine.platform.tokens.public_keys() if key.purpose == "record"]
    return base64url(key.raw)
