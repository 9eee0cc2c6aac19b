"""``/v1/players/{id}/matches`` and ``/stats``: what a player has played.

Private matches show to those who sat in them, and count in the figures that those see of themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from litestar import Response, get
from litestar.params import FromPath
from msgspec import Struct

from services.contracts.ids import PLAYER, is_id
from services.projections.caching import PRIVATE, answer
from services.projections.history.tables import Entry, Figures, History
from services.projections.leaderboards.http import points
from services.runtime.web.operations import Conditional
from services.runtime.web.paging import BIGINT_MAX, PAGE_DEFAULT, Cursor, Limit, Number, cursor_of, key_of
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals


class SeatInHistory(Struct, frozen=True):
    """A seat of a match. ``place`` is None until the match has ended; ``bot`` is the bot's level or None."""

    seat: int
    player: str
    name: str | None
    bot: str | None
    place: int | None
    eliminated: bool


class RatingChange(Struct, frozen=True):
    """What a match did to the player's rating, in points with up to three decimals."""

    before: float
    after: float


class MatchInHistory(Struct, frozen=True):
    """A match as it stands in a player's history.

    Attributes:
        seat: the player's own.
        place: the player's own, None until the match has ended.
        started_at_ms: Unix time; so is ``ended_at_ms``.
        rounds: rounds, coups or deals played to their end.
        rating: None where the match did not count.
    """

    id: str
    table: str
    game: str
    status: Literal["running", "ended", "voided"]
    rated: bool
    visibility: Literal["public", "private"]
    seat: int
    place: int | None
    seats: list[SeatInHistory]
    rounds: int
    started_at_ms: int
    ended_at_ms: int | None
    rating: RatingChange | None


class HistoryPage(Struct, frozen=True):
    """A page of a history, newest first; ``next`` is the cursor of the page behind it, None on the last one."""

    items: list[MatchInHistory]
    next: str | None


class Statistics(Struct, frozen=True):
    """Figures over ended matches, one item a game."""

    player: str
    name: str | None
    items: list[Figures]


@get(
    "/players/{player:str}/matches",
    operation_id="list_matches_of_player",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    summary="A player's matches",
    responses=refusals("not-found"),
)
async def list_matches(
    request: Request, player: FromPath[str], cursor: Cursor = None, limit: Limit = PAGE_DEFAULT
) -> Response[HistoryPage]:
    """Return a player's matches, newest first. A player without any has an empty history."""
    before = BIGINT_MAX if cursor is None else key_of(cursor, tuple[Number])[0]
    platform = request.platform
    private = await _asks_for_themselves(request, player)
    async with platform.database.pool.acquire() as connection:
        found = await request.the(History).page(connection, player, before, limit + 1, private=private)
    shown = found[:limit]
    names = await platform.players.names_of({who for entry in shown for who in entry.row.players})
    following = cursor_of((shown[-1].row.started_position,)) if len(found) > limit else None
    return answer(request, HistoryPage([_shown(entry, names) for entry in shown], following), PRIVATE)


@get(
    "/players/{player:str}/stats",
    operation_id="get_statistics_of_player",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    summary="A player's figures",
    responses=refusals("not-found"),
)
async def get_statistics(request: Request, player: FromPath[str]) -> Response[Statistics]:
    """Return what is counted over a player's ended matches, by game."""
    platform = request.platform
    private = await _asks_for_themselves(request, player)
    async with platform.database.pool.acquire() as connection:
        figures = await request.the(History).figures(connection, player, private=private)
    names = await platform.players.names_of([player])
    return answer(request, Statistics(player, names.get(player), figures), PRIVATE)


async def _asks_for_themselves(request: Request, player: str) -> bool:
    if not is_id(PLAYER, player):
        raise Problem("not-found", "There is no player of that id.")
    return (await request.caller()).player == player


def _shown(entry: Entry, names: Mapping[str, str]) -> MatchInHistory:
    row = entry.row
    places = row.places or (None,) * len(row.players)
    seats = [
        SeatInHistory(seat, who, names.get(who), row.bots[seat], places[seat], seat in row.eliminated)
        for seat, who in enumerate(row.players)
    ]
    rating = None
    if entry.before is not None and entry.after is not None:
        rating = RatingChange(points(entry.before), points(entry.after))
    return MatchInHistory(
        id=row.match, table=row.table, game=row.game, status=row.status, rated=row.rated,
        visibility=row.visibility, seat=entry.seat, place=places[entry.seat], seats=seats, rounds=row.rounds,
        started_at_ms=row.started_at_ms, ended_at_ms=row.ended_at_ms, rating=rating,
    )  # fmt: skip
