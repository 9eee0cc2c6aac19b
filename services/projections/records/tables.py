"""The table of records in PostgreSQL.

Of each kind and game the best ``KEPT`` are kept, of which ``SHOWN_MAX`` at most are shown: when a match is voided,
others move up. What has fallen out of the table does not come back, so a voided match leaves it at its place in the
log, after what came before was cut to size: then it does not matter in which pages the events come.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

import msgspec
from msgspec import Struct

from services.contracts.envelope import Recorded
from services.projections.projection import Connection, Projection
from services.projections.records.fold import TYPES, Match, evolve
from services.projections.records.kinds import KINDS, Name

KEPT: Final = 200
SHOWN_MAX: Final = 50

_LOAD = "SELECT match_id, state FROM {schema}.records_matches WHERE match_id = ANY($1)"
_KEEP = """
INSERT INTO {schema}.records_matches (match_id, state) SELECT * FROM unnest($1::text[], $2::bytea[])
ON CONFLICT (match_id) DO UPDATE SET state = excluded.state
"""
_DROP = "DELETE FROM {schema}.records_matches WHERE match_id = ANY($1)"
_VOID = "DELETE FROM {schema}.records WHERE match_id = $1"
_ENTER = """
INSERT INTO {schema}.records (score, position, value, version, at_ms, seat, kind, game, match_id, players)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""
# The bar is the first row that is not kept; it goes, and all behind it.
_CUT = """
DELETE FROM {schema}.records AS row
USING unnest($1::text[], $2::text[]) AS touched (kind, game)
CROSS JOIN LATERAL (
    SELECT score, position FROM {schema}.records AS one
    WHERE one.kind = touched.kind AND one.game = touched.game
    ORDER BY score DESC, position OFFSET $3 LIMIT 1
) AS bar
WHERE row.kind = touched.kind AND row.game = touched.game
    AND (row.score < bar.score OR (row.score = bar.score AND row.position >= bar.position))
"""
_BARS = """
SELECT touched.kind, touched.game, bar.score FROM unnest($1::text[], $2::text[]) AS touched (kind, game)
CROSS JOIN LATERAL (
    SELECT score FROM {schema}.records AS one WHERE one.kind = touched.kind AND one.game = touched.game
    ORDER BY score DESC, position OFFSET $3 LIMIT 1
) AS bar
"""
_BEST = """
SELECT kind, game, value, match_id, version, at_ms, seat, players FROM {schema}.records
WHERE kind = $1 AND game = $2 ORDER BY score DESC, position LIMIT $3
"""
_BEST_OF_ALL = """
SELECT best.* FROM (SELECT DISTINCT game FROM {schema}.records WHERE kind = $1) AS played
CROSS JOIN LATERAL (
    SELECT kind, game, value, match_id, version, at_ms, seat, players, score, position FROM {schema}.records AS one
    WHERE one.kind = $1 AND one.game = played.game ORDER BY score DESC, position LIMIT $2
) AS best
ORDER BY best.score DESC, best.position LIMIT $2
"""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Match).decode


class Record(Struct, frozen=True):
    """A line of the table.

    Attributes:
        version: of the event that set it, in the stream of the match.
        at_ms: Unix time when the match ended.
        seat: who set it, None where it is the match's.
        players: by seat.
    """

    kind: Name
    game: str
    value: int
    match: str
    version: int
    at_ms: int
    seat: int | None
    players: tuple[str, ...]


class _Entry(Struct, frozen=True):
    """A mark of an ended match, as a row."""

    score: int
    position: int
    value: int
    version: int
    at_ms: int
    seat: int | None
    kind: Name
    game: str
    match: str
    players: tuple[str, ...]


class Records(Projection):
    """The best of each kind and game."""

    NAME: ClassVar = "records"
    VERSION: ClassVar = 1
    TABLES: ClassVar = {"records_matches": "match_id", "records": "match_id, kind"}
    TYPES: ClassVar = TYPES

    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Fold events into the table."""
        told = [recorded for recorded in batch if recorded.event.type in TYPES]
        if not told:
            return
        streams = list({recorded.event.stream for recorded in told})
        records = await connection.fetch(self.sql(_LOAD), streams)
        matches: dict[str, Match | None] = {row["match_id"]: _decode(row["state"]) for row in records}
        held = set(matches)
        changed: set[str] = set()
        entries: list[_Entry] = []
        for recorded in told:
            stream = recorded.event.stream
            before = matches.get(stream)
            after = evolve(before, recorded)
            if recorded.event.type == "match-voided":
                await self._enter(connection, entries)
                entries = []
                await connection.execute(self.sql(_VOID), stream)
            elif after is not None and after.ended:
                entries += _entries(stream, after, recorded)
                after = None
            if after is not before:
                matches[stream] = after
                changed.add(stream)
        await self._enter(connection, entries)
        await self._keep(connection, matches, changed, held)

    async def _keep(
        self, connection: Connection, matches: dict[str, Match | None], changed: set[str], held: set[str]
    ) -> None:
        gone = [stream for stream in changed if matches[stream] is None and stream in held]
        if gone:
            await connection.execute(self.sql(_DROP), gone)
        kept = [(stream, match) for stream in sorted(changed) if (match := matches[stream]) is not None]
        if kept:
            await connection.execute(
                self.sql(_KEEP), [stream for stream, _ in kept], [_encode(match) for _, match in kept]
            )

    async def _enter(self, connection: Connection, entries: list[_Entry]) -> None:
        """Enter marks, and cut what they touch to size; marks that would be cut at once are not entered at all."""
        touched = sorted({(entry.kind, entry.game) for entry in entries})
        if not touched:
            return
        kinds, games = [kind for kind, _ in touched], [game for _, game in touched]
        rows = await connection.fetch(self.sql(_BARS), kinds, games, KEPT - 1)
        bars = {(row["kind"], row["game"]): row["score"] for row in rows}
        entering = [
            entry
            for entry in entries
            if (bar := bars.get((entry.kind, entry.game))) is None or entry.score > bar
        ]
        if not entering:
            return
        await connection.executemany(self.sql(_ENTER), [msgspec.structs.astuple(entry) for entry in entering])
        await connection.execute(self.sql(_CUT), kinds, games, KEPT)

    async def best(
        self, connection: Connection, kinds: Iterable[Name], game: str | None, limit: int
    ) -> dict[Name, list[Record]]:
        """Return the best of each kind, of one game or of all of them."""
        found: dict[Name, list[Record]] = {}
        for kind in kinds:
            if game is None:
                rows = await connection.fetch(self.sql(_BEST_OF_ALL), kind, limit)
            else:
                rows = await connection.fetch(self.sql(_BEST), kind, game, limit)
            found[kind] = [
                Record(
                    row["kind"], row["game"], row["value"], row["match_id"], row["version"], row["at_ms"],
                    row["seat"], tuple(row["players"]),
                )
                for row in rows
            ]  # fmt: skip
        return found


def _entries(stream: str, match: Match, ended: Recorded) -> list[_Entry]:
    return [
        _Entry(
            score=-mark.value if KINDS[name].lowest else mark.value, position=ended.position, value=mark.value,
            version=mark.version, at_ms=ended.event.at_ms, seat=mark.seat, kind=name, game=match.game,
            match=stream, players=match.players,
        )
        for name, mark in match.marks.items()
    ]  # fmt: skip
