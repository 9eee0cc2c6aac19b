"""Thinking time (G10): it runs out, durably and once; time in which the service was down costs nobody anything."""

import asyncio
from typing import Any

from services.engine.clocks.ticker import Ticker
from services.engine.play.moves import Moves
from services.engine.play.pulse import GAP_MS, Pulse
from tests.engine.conftest import Engine, TestClock, running


def hands_of(engine: Engine) -> tuple[Pulse, Ticker]:
    """The test's own hold on the clock; the engine's own ticker runs beside it, as another process would."""
    pulse = Pulse(engine.platform.database, engine.clock)
    moves: Moves = engine.app.state["provided"][Moves]
    return pulse, Ticker(engine.platform.database, pulse, moves, engine.clock)


async def live_for(engine: Engine, clock: TestClock, seconds: float, step: float = 1.0) -> None:
    """Let time go by while the service is alive."""
    _, ticker = hands_of(engine)
    while seconds > 0:
        clock.turn(min(step, seconds))
        seconds -= step
        await ticker.tick()


async def set_clock(engine: Engine, match: str) -> dict[str, Any]:
    """Wait until the clock of a match stands in the table, and return the view."""
    view = await engine.view(match)
    for _ in range(200):
        row = await engine.platform.database.pool.fetchrow(
            "select since_ms, due_ms from macao_engine.clocks where match = $1", match
        )
        if row is not None and row["due_ms"] == view["clock"]["deadline_ms"]:
            return view
        await asyncio.sleep(0.02)
    raise AssertionError("the clock was not set")


async def test_who_runs_out_of_time_is_eliminated_and_the_record_is_sound(
    engine: Engine, clock: TestClock
) -> None:
    await live_for(engine, clock, 1)
    match = await engine.start(turn_seconds=10)
    view = await set_clock(engine, match)
    assert view["clock"] == {
        "seat": 0, "turn_seconds": 10, "deadline_ms": clock.at_ms + 10_000, "now_ms": clock.at_ms,
    }  # fmt: skip
    await live_for(engine, clock, 9.9)
    assert (await engine.view(match))["status"] == "running"
    await live_for(engine, clock, 0.2)
    view = await engine.view(match)
    assert (view["status"], view["places"], view["clock"]) == ("ended", [2, 1], None)
    eliminated = next(event for event in await engine.events(match) if event["type"] == "player-eliminated")
    assert eliminated["actor"] == "clock"
    assert eliminated["cause"] == {"seat": 0, "move": {"type": "expire"}}
    assert eliminated["data"] == {"type": "player-eliminated", "seat": 0, "reason": "timeout", "place": 2}
    verdict = (await engine.as_(None, "GET", f"/v1/matches/{match}/audit")).json()
    assert verdict["sound"], verdict


async def test_each_move_has_its_own_time(engine: Engine, clock: TestClock) -> None:
    await live_for(engine, clock, 1)
    match = await engine.start(options={"first": 0, "target": 15}, turn_seconds=10)
    for _ in range(2):
        await set_clock(engine, match)
        await live_for(engine, clock, 8)
        assert (await engine.move(match, "p_0", {"type": "roll"})).status_code == 200
    view = await set_clock(engine, match)
    assert view["status"] == "running"
    assert view["clock"]["deadline_ms"] == clock.at_ms + 10_000


async def test_somebody_elses_leaving_gives_no_more_time(engine: Engine, clock: TestClock) -> None:
    await live_for(engine, clock, 1)
    match = await engine.start(3, turn_seconds=10)
    deadline = (await set_clock(engine, match))["clock"]["deadline_ms"]
    await live_for(engine, clock, 5)
    assert (await engine.move(match, "p_2", {"type": "leave"})).status_code == 200
    assert (await set_clock(engine, match))["clock"]["deadline_ms"] == deadline


async def test_time_in_which_the_service_was_down_is_given_back(engine: Engine, clock: TestClock) -> None:
    await live_for(engine, clock, 1)
    match = await engine.start(turn_seconds=10)
    deadline = (await set_clock(engine, match))["clock"]["deadline_ms"]
    await live_for(engine, clock, 4)
    clock.turn(30)  # nobody beats
    await live_for(engine, clock, 1)
    await asyncio.sleep(0.6)  # the engine's own pulse learns of the outage, too
    view = await engine.view(match)
    assert view["status"] == "running"
    given_back = view["clock"]["deadline_ms"] - deadline
    assert 30_000 <= given_back <= 30_000 + GAP_MS
    await live_for(engine, clock, 10)
    assert (await engine.view(match))["status"] == "ended"


async def test_of_two_engines_one_lets_the_clock_run_out(
    engine: Engine, database: str, redis_url: str, clock: TestClock
) -> None:
    await live_for(engine, clock, 1)
    matches = [await engine.start(turn_seconds=10) for _ in range(5)]
    for match in matches:
        await set_clock(engine, match)
    async with running(database, redis_url, clock) as other:
        await live_for(engine, clock, 9)
        clock.turn(1.5)
        tickers = [hands_of(one)[1] for one in (engine, other) for _ in range(3)]
        await asyncio.gather(*(ticker.tick() for ticker in tickers))
        for match in matches:
            types = [event["type"] for event in await engine.events(match)]
            assert types.count("player-eliminated") == 1
            assert types.count("match-ended") == 1


async def test_a_new_round_gives_its_whole_time_to_who_was_on_turn_before(
    engine: Engine, clock: TestClock
) -> None:
    """The bank leaves while the last of the others is to stake: in the next coup the same seat is the first to."""
    match = await engine.start(3, game="cards-bank", options={"first_bank": 0}, turn_seconds=10)
    await engine.move(match, "p_1", {"type": "stake", "amount": 1})
    clock.turn(9)
    assert (await engine.view(match))["clock"]["seat"] == 2
    left = await engine.as_("p_0", "POST", f"/v1/matches/{match}/moves", {"move": {"type": "leave"}})
    assert (left.status_code, left.json()["turn"]) == (200, 2)
    view = await engine.view(match)
    assert (view["clock"]["seat"], view["clock"]["deadline_ms"]) == (2, clock.at_ms + 10_000)
