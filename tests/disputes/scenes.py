"""Five quarrels, one a game, played out the same way every time: the cases in docs/cases/ are these.

``python -m tests.disputes.scenes`` writes them anew; read the difference before it is kept.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from services.engine.clocks.ticker import Ticker
from services.engine.play.moves import Moves
from services.engine.play.pulse import Pulse
from tests.disputes.hall import ANNA, BELA, CORA, Hall, open_hall
from tests.engine.conftest import TestClock

DOCS = Path(__file__).resolve().parents[2] / "docs" / "cases"


class Quarrel(Struct):
    """A dispute that was ruled on: its match, who complained, and the report while the match ran and at the end."""

    match: str
    dispute: str
    complainant: str
    others: tuple[str, ...]
    early: str
    report: str


async def a_bust(hall: Hall) -> Quarrel:
    """dice-race: somebody rolls too much, and does not believe it."""
    match = await hall.start("dice-race", [ANNA, BELA, CORA], {"first": 0, "chips_to_win": 1})
    players = [ANNA, BELA, CORA]
    while True:
        view = await hall.view(match)
        player = players[view["turn"]]
        answer = await hall.play(match, player, {"type": "roll"})
        bust = next((event for event in answer["events"] if event["type"] == "busted"), None)
        if bust is not None:
            break
        if answer["events"][0]["data"]["total"] >= 9:
            await hall.play(match, player, {"type": "stand"})
    hall.clock.turn(4.2)
    opened = await hall.dispute(
        match,
        player,
        bust["version"],
        "I had nearly nothing and then this. Your die is loaded, always when I lead!",
    )
    dispute = _id(opened)
    early = await hall.report(dispute, player)
    await _race_on(hall, match, players)
    ruled = await hall.rule(
        dispute, "dismissed", "stands",
        "The die was fixed before the round began and comes out the same when it is drawn again."
        " The total was above nine.",
    )  # fmt: skip
    assert ruled.status_code == 200, ruled.text
    others = tuple(each for each in players if each != player)
    return Quarrel(match, dispute, player, others, early, await hall.report(dispute))


async def _race_on(hall: Hall, match: str, players: list[str]) -> None:
    while (view := await hall.view(match))["status"] == "running":
        move = "roll" if view["view"]["total"] < 6 else "stand"
        await hall.play(match, players[view["turn"]], {"type": move})


async def a_late_call(hall: Hall) -> Quarrel:
    """cards-places: the word comes 5 ms after the catch."""
    players = [ANNA, BELA]
    match = await hall.start("cards-places", players)
    while True:
        view = await hall.view(match)
        silent = next((each["seat"] for each in view["view"]["players"] if each["catchable"]), None)
        if silent is not None:
            break
        player = players[view["turn"]]
        own = await hall.view(match, player)
        plays = [move for move in own["legal"] if move["type"] == "play" and not move.get("macao")]
        await hall.play(match, player, max(plays, key=_length, default=own["legal"][0]))
    slow, quick = players[silent], players[1 - silent]
    hall.clock.turn(0.811)
    caught = await hall.send(match, quick, {"type": "catch", "seat": silent})
    hall.clock.turn(0.005)
    called = await hall.send(match, slow, {"type": "call"}, key="my-call")
    assert (caught.status_code, called.status_code) == (200, 409), (caught.text, called.text)
    hall.clock.turn(2.5)
    opened = await hall.dispute(
        match, slow, caught.json()["version"],
        "I said Macao! I pressed the button before the five cards came, everybody could see it.",
        refused_key="my-call",
    )  # fmt: skip
    dispute = _id(opened)
    early = await hall.report(dispute, slow)
    await hall.leave(match, slow)
    ruled = await hall.rule(
        dispute, "dismissed", "stands",
        "The call came in 5 ms after the catch. After a catch nothing is owed any more, so it was rightly refused.",
    )  # fmt: skip
    assert ruled.status_code == 200, ruled.text
    return Quarrel(match, dispute, slow, (quick,), early, await hall.report(dispute))


def _length(move: dict[str, Any]) -> int:
    return len(move["cards"])


async def a_refused_card(hall: Hall) -> Quarrel:
    """cards-points: a card that seemed to fit."""
    players = [ANNA, BELA]
    match = await hall.start("cards-points", players)
    for _ in range(40):
        view = await hall.view(match)
        player = players[view["turn"]]
        own = await hall.view(match, player)
        playable = {card for move in own["legal"] if move["type"] == "play" for card in move["cards"]}
        hand = own["view"]["players"][view["turn"]]["hand"]
        unfit = [card for card in hand if card not in playable]
        if own["version"] > 12 and unfit and playable:
            break
        await hall.play(match, player, next(iter(own["legal"])))
    hall.clock.turn(1.9)
    refused = await hall.send(match, player, {"type": "play", "cards": [unfit[0]]}, key="my-card")
    assert (refused.status_code, refused.json()["code"]) == (422, "card-does-not-fit"), refused.text
    hall.clock.turn(3.25)
    opened = await hall.dispute(
        match, player, view["version"], "This card goes on that one in every pub from here to the sea.",
        refused_key="my-card",
    )  # fmt: skip
    dispute = _id(opened)
    early = await hall.report(dispute, player)
    await hall.play(match, player, own["legal"][0])
    await hall.leave(match, players[1 - view["turn"]])
    ruled = await hall.rule(
        dispute, "dismissed", "stands",
        "Neither its suit nor its rank is that of the top card, and it is no nine and no ace.",
    )  # fmt: skip
    assert ruled.status_code == 200, ruled.text
    other = players[1 - view["turn"]]
    return Quarrel(match, dispute, player, (other,), early, await hall.report(dispute))


async def a_shuffle(hall: Hall) -> Quarrel:
    """cards-bank: the cards of a coup look arranged."""
    players = [ANNA, BELA, CORA]
    match = await hall.start("cards-bank", players, {"first_bank": 0, "coups": 3})
    while (view := await hall.view(match))["view"]["coup"] < 2:
        await _bank_on(hall, match, players, view)
    shuffle = next(event for event in reversed(await hall.events(match)) if event["type"] == "packs-shuffled")
    hall.clock.turn(6.6)
    opened = await hall.dispute(
        match, CORA, shuffle["version"], "The bank gets a nine every time. Nobody shuffled these cards."
    )
    dispute = _id(opened)
    early = await hall.report(dispute, CORA)
    while (view := await hall.view(match))["status"] == "running":
        await _bank_on(hall, match, players, view)
    ruled = await hall.rule(
        dispute, "dismissed", "stands",
        "The order was committed to before the stakes were laid, and follows from all three players' seeds.",
    )  # fmt: skip
    assert ruled.status_code == 200, ruled.text
    return Quarrel(match, dispute, CORA, (ANNA, BELA), early, await hall.report(dispute))


async def _bank_on(hall: Hall, match: str, players: list[str], view: dict[str, Any]) -> None:
    player = players[view["turn"]]
    move = (await hall.view(match, player))["legal"][-1]
    if move["type"] == "stake":
        move = {"type": "stake", "amount": move["max"]}
    await hall.play(match, player, move)


async def a_time_out(hall: Hall) -> Quarrel:
    """dice-bank: somebody's ten seconds are over. This one is upheld, and the match does not count."""
    players = [ANNA, BELA, CORA]
    await let_pass(hall, 1)
    match = await hall.start("dice-bank", players, {"first_bank": 0}, turn_seconds=10)
    await clock_set(hall, match)
    await let_pass(hall, 2)
    await hall.play(match, BELA, {"type": "roll"}, after_ms=0)
    await clock_set(hall, match)
    await let_pass(hall, 10)
    gone = next(event for event in await hall.events(match) if event["type"] == "player-eliminated")
    hall.clock.turn(20)
    opened = await hall.dispute(
        match, BELA, gone["version"], "My train went into a tunnel. I was there again after twelve seconds!"
    )
    dispute = _id(opened)
    early = await hall.report(dispute, BELA)
    await hall.leave(match, CORA)
    ruled = await hall.rule(
        dispute, "upheld", "void",
        "The clock was right to the millisecond. But all three agreed in writing to play on without it,\n"
        "and the host could not turn it off any more. The match is not to count.",
    )  # fmt: skip
    assert ruled.status_code == 200, ruled.text
    return Quarrel(match, dispute, BELA, (ANNA, CORA), early, await hall.report(dispute))


async def let_pass(hall: Hall, seconds: int) -> None:
    """Let time go by while the service is alive; a second at a time, so that nothing looks like an outage."""
    pulse = Pulse(hall.platform.database, hall.clock)
    ticker = Ticker(hall.platform.database, pulse, hall.the(Moves), hall.clock)
    for _ in range(seconds):
        hall.clock.turn(1)
        await ticker.tick()


async def clock_set(hall: Hall, match: str) -> None:
    """Wait until the running clock of a match stands in the table."""
    deadline_ms = (await hall.view(match))["clock"]["deadline_ms"]
    for _ in range(400):
        due_ms = await hall.platform.database.pool.fetchval(
            "select due_ms from macao_engine.clocks where match = $1", match
        )
        if due_ms == deadline_ms:
            return
        await asyncio.sleep(0.02)
    raise AssertionError("the clock was not set")


def _id(opened: Any) -> str:
    assert opened.status_code == 201, opened.text
    return opened.json()["id"]


SCENES: dict[str, Callable[[Hall], Awaitable[Quarrel]]] = {
    "dice-race-bust": a_bust,
    "dice-bank-time-out": a_time_out,
    "cards-bank-shuffle": a_shuffle,
    "cards-places-late-call": a_late_call,
    "cards-points-refused-card": a_refused_card,
}


async def played(name: str, database: str, redis_url: str) -> Quarrel:
    """Play a scene in a hall of its own."""
    async with open_hall(database, redis_url, TestClock(), seed=name) as hall:
        return await SCENES[name](hall)


async def write_all() -> None:
    """Write docs/cases/ anew."""
    from services.runtime.migrate import migrate
    from tests.support.backends import Backend
    from tests.support.databases import Databases

    backend = Backend()
    servers = backend.servers()
    try:
        databases = Databases(servers.postgres_url, migrate)
        await databases.make_template()
        DOCS.mkdir(exist_ok=True)
        for name in SCENES:
            async with databases.fresh() as database:
                quarrel = await played(name, database, servers.redis_url)
            (DOCS / f"{name}.md").write_text(quarrel.report, encoding="utf-8")
            print(DOCS / f"{name}.md")  # noqa: T201 - a command says what it did
        await databases.drop_template()
    finally:
        backend.close()


if __name__ == "__main__":
    asyncio.run(write_all())
