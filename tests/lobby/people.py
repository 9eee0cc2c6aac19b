"""Players by the hundred, without asking the lobby for each of them."""

import itertools
from typing import Any

import httpx

from services.contracts.ids import PLAYER, make_id
from services.runtime.platform import Platform
from services.runtime.web.app import App
from services.runtime.web.request import PLATFORM
from tests.lobby.conftest import Guest

_numbers = itertools.count(1)


async def people(app: App, client: httpx.AsyncClient, count: int) -> list[Guest]:
    """Return so many players with tokens, who speak to one app."""
    platform: Platform = app.state[PLATFORM]
    ids = [make_id(PLAYER, 1, next(_numbers).to_bytes(10, "big")) for _ in range(count)]
    await platform.database.pool.executemany(
        "INSERT INTO macao_runtime.players (id, name, kind) VALUES ($1, $2, 'guest')",
        [(player, f"Stranger {number}") for number, player in enumerate(ids)],
    )
    return [Guest(client, _made(platform, player)) for player in ids]


def _made(platform: Platform, player: str) -> dict[str, Any]:
    token = platform.tokens.access_token(player, frozenset({"play"}))
    return {"player": {"id": player}, "token": token, "refresh_token": ""}
