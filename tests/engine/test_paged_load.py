"""A match that is longer than a page of the log is loaded page by page; a page may end inside a command."""

import random

import pytest

from services.engine.play import live as live_module
from services.engine.play.commitments import Commitments
from services.engine.play.live import LiveMatches
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.clock import system_entropy
from tests.engine.conftest import Engine

GAMES = {
    "dice-race": (2, {"first": 0}),
    "dice-bank": (3, {}),
    "cards-bank": (3, {"coups": 3}),
    "cards-places": (2, {}),
    "cards-points": (2, {}),
}


@pytest.mark.parametrize("game", GAMES)
async def test_pages_of_any_size_lead_to_the_same_match(
    engine: Engine, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(game)
    players, options = GAMES[game]
    match = await engine.start(players, options, game)
    for _ in range(12):
        view = await engine.view(match)
        if view["status"] != "running":
            break
        player = f"p_{view['to_act'][0]}"
        legal = (await engine.view(match, player))["legal"]
        move = chance.choice(legal)
        if move["type"] == "stake":
            move = {"type": "stake", "amount": move["min"]}
        assert (await engine.move(match, player, move)).is_success
    shared = engine.platform
    commitments: Commitments = engine.app.state["provided"][Commitments]
    loaded = []
    for size in (1, 2, 3, 5, 1000):
        monkeypatch.setattr(live_module, "PAGE_EVENTS", size)
        live = await LiveMatches(shared.log, commitments, CATALOGUE, system_entropy).get(match)
        assert live is not None
        loaded.append((live.head, live.match, live.turn, live.turn_since_ms))
    assert loaded.count(loaded[-1]) == len(loaded)
    assert loaded[0][0].version > 5
