"""A partition is taken out during matches: those in it stand still, are told so, and go on once it is back."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from services.engine.clocks import ticker as clocks
from services.engine.clocks.deadlines import Deadlines
from services.engine.clocks.ticker import Ticker
from services.engine.play.commitments import Commitments
from services.engine.play.live import LiveMatches
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.log import EventLog
from tests.engine.conftest import TestClock, running
from tests.engine.test_clocks import hands_of, set_clock
from tests.partitions.conftest import COUNT

HASHED = "SELECT tableoid::regclass::text FROM macao_log.events WHERE stream = $1 LIMIT 1"
BOUND = "SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = $1::text::regclass"


async def put_back(owner: Any, part: str, bound: str) -> None:
    await owner.execute(f"ALTER TABLE macao_log.events ATTACH PARTITION {part} {bound}")


async def live_for_by(ticker: Ticker, clock: TestClock, seconds: int) -> None:
    for _ in range(seconds):
        clock.turn(1)
        await ticker.tick()


async def test_a_move_is_not_taken_and_goes_through_later(
    database: str, redis_url: str, owner: Any, caplog: pytest.LogCaptureFixture
):
    async with running(database, redis_url, TestClock()) as engine:
        match = await engine.start(options={"first": 0, "target": 15})
        version = (await engine.view(match))["version"]
        part = await owner.fetchval(HASHED, match)
        bound = await owner.fetchval(BOUND, part)
        await owner.execute(f"ALTER TABLE macao_log.events DETACH PARTITION {part}")
        again = {"Idempotency-Key": "one-key-for-all", "If-Match": f'"{version}"'}
        path, move = f"/v1/matches/{match}/moves", {"move": {"type": "roll"}}
        for _ in range(2):
            refused = await engine.as_("p_0", "POST", path, move, **again)
            assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
            assert "nothing that was done before is lost" in refused.json()["detail"]
            assert "same Idempotency-Key" in refused.json()["advice"]
            assert refused.headers["Retry-After"] == "1"
        told = [record for record in caplog.records if "run macao doctor" in record.message]
        assert {(record.levelno, bool(record.exc_info)) for record in told} == {(logging.ERROR, True)}
        async with running(database, redis_url, TestClock()) as other:  # and it has not seen the match before
            for asked in ("", "/events", "/record", "/stream"):
                unread = await other.as_(None, "GET", f"/v1/matches/{match}{asked}")
                assert (unread.status_code, unread.json()["code"]) == (503, "unavailable")
            refused = await other.as_("p_0", "POST", path, move, **again)
            assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
            unknown = await other.as_(None, "GET", "/v1/matches/m_01KB9YABCDEFGHJKMNPQRSTVWX")
            assert unknown.status_code == 404
        await put_back(owner, part, bound)
        moved = await engine.as_("p_0", "POST", path, move, **again)
        assert (moved.status_code, moved.json()["events"][0]["type"]) == (200, "rolled")
        assert "Idempotent-Replayed" not in moved.headers


async def test_clocks_of_other_matches_go_on(
    database: str, redis_url: str, log: EventLog, owner: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clocks, "DUE_MAX", 1)
    clock = TestClock()
    async with running(database, redis_url, clock) as engine:
        _, ticker = hands_of(engine)
        await ticker.tick()
        stuck = await engine.start(turn_seconds=10)
        part = await owner.fetchval(HASHED, stuck)
        clock.turn(1)
        while await owner.fetchval(HASHED, match := await engine.start(turn_seconds=10)) == part:
            assert COUNT > 1
        for one in (stuck, match):
            await set_clock(engine, one)
        bound = await owner.fetchval(BOUND, part)
        await owner.execute(f"ALTER TABLE macao_log.events DETACH PARTITION {part}")
        await live_for_by(ticker, clock, 12)
        assert (await engine.view(match))["status"] == "ended"
        async with owner.transaction():  # who has only now to do with the match leaves its clock as it is
            live = LiveMatches(
                log, engine.app.state["provided"][Commitments], CATALOGUE, engine.platform.entropy
            )
            await Deadlines(live)._set(owner, stuck)
        assert await owner.fetchval("SELECT count(*) FROM macao_engine.clocks WHERE match = $1", stuck) == 1
        await put_back(owner, part, bound)
        monkeypatch.setattr(clocks, "TROUBLED_SECONDS", 0.0)
        _, another = hands_of(engine)
        await live_for_by(another, clock, 2)
        assert (await engine.view(stuck))["status"] == "ended"
