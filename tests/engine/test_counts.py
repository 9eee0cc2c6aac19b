"""What the engine tells Prometheus."""

import asyncio
import re

from prometheus_client import CollectorRegistry

from services.engine.clocks.ticker import Ticker
from services.engine.play.counts import Counts
from tests.engine.conftest import Engine, TestClock
from tests.engine.test_clocks import hands_of


async def counted(engine: Engine) -> dict[str, float]:
    """Every sample of this process, by its name with its labels."""
    text = (await engine.as_(None, "GET", "/metrics")).text
    return {name: float(value) for name, value in re.findall(r"^([^#\s]\S*) (\S+)$", text, re.MULTILINE)}


async def test_moves_are_counted_by_what_became_of_them(engine: Engine) -> None:
    match = await engine.start()
    path = f"/v1/matches/{match}/moves"
    version = (await engine.as_("p_0", "GET", f"/v1/matches/{match}")).json()["version"]
    at = {"If-Match": f'"{version}"'}
    roll = {"move": {"type": "roll"}}
    assert (await engine.as_("p_1", "POST", path, roll, **at)).status_code == 409
    assert (await engine.as_("p_0", "POST", path, roll, **at, **{"Idempotency-Key": "one-roll"})).is_success
    assert (await engine.as_("p_0", "POST", path, roll, **at, **{"Idempotency-Key": "one-roll"})).is_success
    assert (await engine.as_("p_0", "POST", path, roll, **at)).status_code == 412
    samples = await counted(engine)
    outcomes = {
        outcome: samples[f'macao_moves_total{{game="dice-race",outcome="{outcome}"}}']
        for outcome in ("not-your-turn", "accepted", "replayed", "stale-version")
    }
    assert outcomes == {"not-your-turn": 1, "accepted": 1, "replayed": 1, "stale-version": 1}


async def test_appends_are_counted_by_batch(engine: Engine) -> None:
    before = await counted(engine)
    await asyncio.gather(*(engine.start() for _ in range(3)))
    after = await counted(engine)
    commands = "macao_append_batch_commands_sum"
    assert after[commands] - before[commands] == 3
    assert after["macao_append_batch_seconds_count"] > before["macao_append_batch_seconds_count"]
    assert after["macao_append_waiting"] == 0


async def test_it_is_told_how_late_a_clock_was_noticed(engine: Engine, clock: TestClock) -> None:
    registry = CollectorRegistry()
    # Of a match that there is not: the engine's own ticker looks as well, and must not be the first to end it.
    await engine.platform.database.pool.execute(
        "insert into macao_engine.clocks (match, seat, since_ms, due_ms) values ('m_none', 0, $1, $2)",
        clock.at_ms,
        clock.at_ms + 10_000,
    )
    pulse, _ = hands_of(engine)
    ticker = Ticker(engine.platform.database, pulse, StillMoves(), clock, Counts(registry))  # type: ignore[arg-type]
    for _ in range(12):
        clock.turn(1)
        await pulse.beat()
    await ticker.tick()
    assert registry.get_sample_value("macao_clock_late_seconds_count") == 1
    assert registry.get_sample_value("macao_clock_late_seconds_sum") == 2.0


class StillMoves:
    """Moves of a process that was the first to find the clock."""

    async def expire(self, *_: object) -> bool:
        return True
