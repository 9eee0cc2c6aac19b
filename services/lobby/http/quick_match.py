"""Quick match: a seat among strangers, at once."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, post
from litestar.params import JSONBody
from msgspec import Meta

from services.lobby.http.answers import WRITES, Cause, Seed, answer, begin, checked_seed
from services.lobby.tables.quick import QuickMatch
from services.lobby.tables.views import TableView
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.operations import MADE, Keyed
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals


class QuickMatchRequest(Body, frozen=True):
    """What to play, and an own seed for the chance."""

    game: Annotated[str, Meta(max_length=64, examples=["dice-race"])]
    seed: Seed | None = None


@post(
    "/quick-match",
    status_code=200,
    guards=[needs("play")],
    tags=["tables"],
    operation_id="quick_match",
    operation_class=Keyed,
    opt=MADE,
    summary="Sit down with strangers",
    responses=refusals(*WRITES[:3], "unknown-game", "seed-invalid", "bot-matches-many", "unavailable"),
)
async def quick_match(request: Request, data: JSONBody[QuickMatchRequest]) -> Response[TableView]:
    """Take a seat at a public table for the game with its default options, and get a match without further ado.

    Strangers who ask for the same game sit together, up to four at a table, with a thinking time of 30 seconds where
    the game has none of its own. The match starts by itself: at once when the table is full, five seconds after enough
    players for the game are there, and with a bot (unrated then) for somebody who has been alone for thirty seconds.
    A public table of the default options that somebody else opened counts, too, when this takes its last free seat:
    its match starts at once.

    The answer is the table. ``match_id`` names the match as soon as ``state`` is ``playing``; the table's stream tells.
    Who asks again while waiting keeps the seat; ``leave`` gives it up. Who has as many matches with bots running as one
    player may have is refused (``bot-matches-many``), since this may become another one.

    ``seed`` counts at a table that was open already. Who has to open one (its ``host``) came before its commitment, and
    gives a seed with ``PUT /v1/tables/{id}/seed`` then.
    """
    seed = await checked_seed(request, data.seed)
    caller = await request.caller()
    done = await request.the(QuickMatch).seat(
        data.game,
        seed,
        player=caller.player,
        command=await request.command(),
        cause=Cause("quick-match", seed=data.seed),
    )
    await begin(request, done)
    return await answer(request, done, caller.player, {"Location": f"/v1/tables/{done.table.id}"})
