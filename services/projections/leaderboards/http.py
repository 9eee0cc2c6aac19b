"""``/v1/leaderboards``: ranks by page, and a player among neighbours.

Ratings are shown as numbers of points with up to three decimals (1016.667); within, they are whole
thousandths. A rank counts the players ahead in the one total order: rating, then rated games, both falling,
then the player's id. So no two players share a rank, and it is the same on every reading of the same rows.

Players with fewer than 30 rated games are provisional. ``players=established`` is the board without them, with ranks
of its own, ``players=provisional`` theirs; without it all are in one list, and each line says which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, TypeAlias

from litestar import Response, get
from litestar.params import FromPath, QueryParameter
from msgspec import Struct

from services.contracts.ids import PLAYER, is_id
from services.projections.caching import answer
from services.projections.leaderboards import ratings
from services.projections.leaderboards.ranks import Players, Ranking, Ranks
from services.projections.slugs import game_of
from services.runtime.platform import Platform
from services.runtime.web.operations import Conditional
from services.runtime.web.paging import PAGE_DEFAULT, Cursor, Id, Limit, Number, cursor_of, key_of
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals

NEIGHBOURS_DEFAULT: Final = 3
NEIGHBOURS_MAX: Final = 20

Which: TypeAlias = Annotated[
    Players,
    QueryParameter(
        description="`established` or `provisional` (under 30 rated games): a board of these alone, with its own ranks."
    ),
]


class Ranked(Struct, frozen=True):
    """A line of a leaderboard.

    Attributes:
        rank: from 1; nobody shares one.
        name: None for a player who is no longer known.
        rating: points, with up to three decimals.
        games: rated games.
        provisional: under 30 rated games.
    """

    rank: int
    player: str
    name: str | None
    rating: float
    games: int
    provisional: bool


class LeaderboardPage(Struct, frozen=True):
    """A page of a leaderboard; ``next`` is the cursor of the page behind it, None on the last one."""

    items: list[Ranked]
    next: str | None


class Neighbourhood(Struct, frozen=True):
    """A player's line, with those right above, best first, and those right below."""

    player: Ranked
    above: list[Ranked]
    below: list[Ranked]


def points(rating: int) -> float:
    """Return thousandths as points. The division is exact to the third decimal in any rating that can be reached."""
    return rating / ratings.THOUSANDTHS


async def ranked(platform: Platform, rankings: Sequence[Ranking]) -> list[Ranked]:
    """Return lines as they are shown, names included."""
    names = await platform.players.names_of(ranking.player for ranking in rankings)
    return [
        Ranked(
            rank=at.rank, player=at.player, name=names.get(at.player), rating=points(at.rating), games=at.games,
            provisional=at.provisional,
        )
        for at in rankings
    ]  # fmt: skip


@get(
    "/leaderboards/{game:str}",
    operation_id="get_leaderboard",
    operation_class=Conditional,
    summary="The leaderboard of a game",
    responses=refusals("unknown-game"),
)
async def get_leaderboard(
    request: Request,
    game: FromPath[str],
    players: Which = "all",
    cursor: Cursor = None,
    limit: Limit = PAGE_DEFAULT,
) -> Response[LeaderboardPage]:
    """Return a page, from the top or from behind a cursor. Everybody with a rated game is on it, or those asked for."""
    after = None if cursor is None else key_of(cursor, tuple[Number, Number, Id])
    platform = request.platform
    async with platform.database.pool.acquire() as connection:
        found = await request.the(Ranks).page(connection, game_of(game), after, limit + 1, players)
    shown = found[:limit]
    following = cursor_of(shown[-1].key) if len(found) > limit else None
    return answer(request, LeaderboardPage(await ranked(platform, shown), following))


@get(
    "/leaderboards/{game:str}/players/{player:str}",
    operation_id="get_standing",
    operation_class=Conditional,
    summary="A player's rank, with neighbours",
    responses=refusals("unknown-game", "not-found"),
)
async def get_standing(
    request: Request,
    game: FromPath[str],
    player: FromPath[str],
    players: Which = "all",
    neighbours: Annotated[
        int, QueryParameter(ge=0, le=NEIGHBOURS_MAX, description="How many to show on either side.")
    ] = NEIGHBOURS_DEFAULT,
) -> Response[Neighbourhood]:
    """Return where a player stands; 404 for a player without a rated game, or who is not on the board asked for."""
    found = None
    platform = request.platform
    if is_id(PLAYER, player):
        async with platform.database.pool.acquire() as connection:
            found = await request.the(Ranks).around(connection, game_of(game), player, neighbours, players)
    if found is None:
        raise Problem(
            "not-found", "This player has no rating in this game, or not one of the kind asked for."
        )
    above, here, below = found
    lines = await ranked(platform, [*above, here, *below])
    at = len(above)
    return answer(request, Neighbourhood(player=lines[at], above=lines[:at], below=lines[at + 1 :]))
