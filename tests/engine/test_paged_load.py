"""A match that is longer than a page of the log is loaded page by page; a page may end inside a command."""

import random
from typing import cast

import pytest
from msgspec.structs import replace

from services.contracts.envelope import Link
from services.engine.play import live as live_module
from services.engine.play.commitments import Commitments
from services.engine.play.live import DamagedMatchError, Live, LiveMatches
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.clock import system_entropy
from services.runtime.log import EventLog
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


class Changed:
    """A log that holds a match in another state than it was written in."""

    connections = 0

    def __init__(self, links: list[Link]) -> None:
        self._links = links

    async def head_of(self, _stream: str) -> None:
        return None

    async def read_links(self, _stream: str, after: int = 0, limit: int = 1_000) -> list[Link]:
        return [link for link in self._links if link.version > after][:limit]


@pytest.mark.parametrize("size", [2, 1000])
async def test_a_match_whose_links_do_not_hold_is_damaged(
    engine: Engine, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    match = await engine.start(2, {"first": 0}, "dice-race")
    for _ in range(4):
        player = f"p_{(await engine.view(match))['to_act'][0]}"
        assert (await engine.move(match, player, {"type": "roll"})).is_success
    links = await engine.platform.log.read_links(match)
    commitments: Commitments = engine.app.state["provided"][Commitments]
    monkeypatch.setattr(live_module, "PAGE_EVENTS", size)

    async def loaded(changed: list[Link]) -> Live | None:
        log = cast("EventLog", Changed(changed))
        return await LiveMatches(log, commitments, CATALOGUE, system_entropy).get(match)

    whole = await loaded(links)
    assert whole is not None
    assert whole.head == links[-1].head
    assert await loaded([]) is None
    for at in range(1, len(links)):
        for broken in (
            replace(links[at], previous=bytes(32)),
            replace(links[at], type="teleported"),
            replace(links[at], whole=b'{"type":"rolled"'),
            None,
        ):
            behind = links[at + 1 :]
            if broken is None and not behind:
                continue  # who lost the end sees a match that is shorter
            with pytest.raises(DamagedMatchError):
                await loaded([*links[:at], *([broken] if broken else []), *behind])
