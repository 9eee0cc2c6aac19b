"""The commands log: what is in it, what is not, and that no move waits for it."""

import asyncio
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from services.contracts.events.dispute import Arrived
from services.engine.disputes import command_log
from services.engine.disputes.command_log import CommandLog
from services.engine.disputes.entries import MOVE_BYTES_MAX, Entry, kept_move
from services.engine.rules.games.cards_places import Play
from services.engine.rules.games.dice_race import Roll
from services.runtime.settings import Settings, SettingsError
from tests.disputes.hall import ANNA, BELA, CORA, Hall

DAY_MS = 86_400_000
ARRIVED = Arrived(1_800_000_000_000, ANNA, "c_1", {"type": "roll"}, 3, 200, None, None, 4, 1_800_000_000_001)
MATCH = "m_01KB9YTEST0000000000000000"


async def test_who_sent_what_when_and_what_was_answered(hall: Hall) -> None:
    match = await hall.start("dice-race", [ANNA, BELA], {"first": 0})
    version = (await hall.view(match))["version"]
    at_ms = hall.clock.at_ms
    await hall.send(match, ANNA, {"type": "stand"})
    hall.clock.turn(0.002)
    await hall.send(match, BELA, {"type": "roll"})
    hall.clock.turn(0.003)
    accepted = await hall.send(match, ANNA, {"type": "roll"}, key="k", version=version)
    hall.clock.turn(0.004)
    await hall.send(match, ANNA, {"type": "roll"}, key="k", version=version)
    await hall.send(match, ANNA, {"type": "roll"}, version=version)
    await hall.send(match, ANNA, {"type": "fly"})
    path = f"/v1/matches/{match}/moves"
    await hall.ask(ANNA, "POST", path, {"move": {"type": "roll"}})
    await hall.ask(ANNA, "POST", path, {"move": {"type": "roll"}, "secret": "a-token"})
    await hall.send(match, CORA, {"type": "roll"})  # does not sit there
    await hall.ask(None, "POST", path, {"move": {"type": "roll"}})
    rows = await hall.logged(match)
    told = [(row["arrived_ms"] - at_ms, row["player"], row["status"], row["code"], row["clause"], row["version"])
            for row in rows]  # fmt: skip
    after = accepted.json()["version"]
    assert told == [
        (0, ANNA, 409, "must-roll-first", "DR-2.2", version),
        (2, BELA, 409, "not-your-turn", "DR-2.1", version),
        (5, ANNA, 200, None, None, after),
        (9, ANNA, 200, None, None, after),
        (9, ANNA, 412, "stale-version", None, after),
        (9, ANNA, 400, "malformed-request", None, None),
        (9, ANNA, 428, "version-missing", None, None),
        (9, ANNA, 400, "malformed-request", None, None),
    ]
    assert [row["move"] for row in rows][-3:] == [None, b'{"type":"roll"}', None]
    assert rows[2]["command"] == rows[3]["command"]
    assert "a-token" not in str(rows)


async def test_no_move_waits_for_the_log_or_fails_with_it(hall: Hall) -> None:
    """Its table is locked away, and then gone: the match goes on, and the log says how much it lost."""
    match = await hall.start("dice-race", [ANNA, BELA], {"first": 0})
    log = hall.the(CommandLog)
    connection = await asyncpg.connect(hall.platform.settings.database_url)
    try:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("lock table macao_engine.command_log in access exclusive mode")
        async with asyncio.timeout(1.5):
            for _ in range(5):
                assert (await hall.send(match, ANNA, {"type": "stand"})).status_code == 409
        await transaction.rollback()
        assert len(await hall.logged(match)) == 5
        await connection.execute("alter table macao_engine.command_log rename to lost")
        assert (await hall.send(match, ANNA, {"type": "roll"})).status_code == 200
        await log.flush()
        await connection.execute("alter table macao_engine.lost rename to command_log")
    finally:
        await connection.close()
    for _ in range(200):
        if len(await hall.logged(match)) == 6:
            break
        await asyncio.sleep(0.02)
    assert len(await hall.logged(match)) == 6
    metrics = (await hall.http.get("/metrics")).text
    assert "macao_command_log_written_total 6.0" in metrics


async def test_the_queue_is_bounded_and_nobody_fills_it_alone(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = CollectorRegistry()
    log = CommandLog(hall.platform.database, hall.clock, 30, registry)
    monkeypatch.setattr(command_log, "QUEUE_MAX", 6)
    monkeypatch.setattr(command_log, "SHARE_MAX", 4)
    for number in range(10):
        log.note(Entry(MATCH, replace(ARRIVED, command=f"c_{number}"), "r_1"))
    for _ in range(5):
        log.note(Entry(MATCH, replace(ARRIVED, player=BELA), "r_1"))
    dropped = {
        reason: registry.get_sample_value("macao_command_log_dropped_total", {"reason": reason})
        for reason in ("share", "queue")
    }
    assert dropped == {"share": 6, "queue": 3}
    await log.flush()
    rows = await hall.logged(MATCH)
    assert [row["command"] for row in rows] == ["c_0", "c_1", "c_2", "c_3", "c_1", "c_1"]
    log.note(Entry(MATCH, ARRIVED, "r_1"))
    await log.flush()
    assert len(await hall.logged(MATCH)) == 7


async def test_days_are_partitions_and_old_ones_go(hall: Hall) -> None:
    pool = hall.platform.database.pool
    log = hall.the(CommandLog)
    now_ms = 1_600_000_000_000  # the database's clock is later; the earlier of both counts
    for days in (-1, 0, 12):
        for at_ms in (now_ms + days * DAY_MS, now_ms + days * DAY_MS + DAY_MS - 1):
            log.note(Entry(MATCH, replace(ARRIVED, at_ms=at_ms), "r_1"))
    await log.flush()
    assert len(await hall.logged(MATCH)) == 6
    assert await pool.fetchval("select macao_engine.keep_command_log($1, 30)", now_ms + 20 * DAY_MS) == 0
    assert await pool.fetchval("select macao_engine.keep_command_log($1, 8)", now_ms + 9 * DAY_MS) > 0
    left = [row["arrived_ms"] for row in await hall.logged(MATCH)]
    assert left and min(left) >= now_ms and max(left) == now_ms + 13 * DAY_MS - 1
    # However short a time is asked for, and however fast the clock: what may be disputed stays.
    today_ms = await pool.fetchval("select (extract(epoch from now()) * 1000)::bigint")
    log.note(Entry(MATCH, replace(ARRIVED, at_ms=today_ms - 6 * DAY_MS), "r_1"))
    await log.flush()
    await pool.fetchval("select macao_engine.keep_command_log($1, 0)", today_ms + 400 * DAY_MS)
    assert [row["arrived_ms"] for row in await hall.logged(MATCH)] == [today_ms - 6 * DAY_MS]


async def test_the_application_may_add_to_the_log_and_not_change_it(hall: Hall) -> None:
    pool = hall.platform.database.pool
    for statement in (
        "update macao_engine.command_log set player = ''",
        "delete from macao_engine.command_log",
        "truncate macao_engine.command_log",
        "drop table macao_engine.command_log",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await pool.execute(statement)


@pytest.mark.parametrize(
    ("move", "kept"),
    [
        (Roll(), {"type": "roll"}),
        (Play(("TH", "TD")), {"type": "play", "cards": ["TH", "TD"], "suit": None, "macao": False}),
        (Play(("eyJhbGciOiJFZERTQSJ9.eyJz",)), {"type": "play", "cards": ["..."], "suit": None, "macao": False}),
        (Play(('"' * 20,)), {"type": "play", "cards": ["..."], "suit": None, "macao": False}),
        (Play(("TH",) * 100), {"type": "play"}),
    ],
)  # fmt: skip
def test_of_a_move_little_is_kept_and_nothing_long_enough_to_be_a_secret(move: Any, kept: Any) -> None:
    assert kept_move(move) == kept
    assert len(str(kept)) <= MOVE_BYTES_MAX


def test_evidence_cannot_be_set_to_go_before_it_may_be_needed() -> None:
    given = {"MACAO_DATABASE_URL": "x", "MACAO_SECRET_KEY": "x", "MACAO_COMMAND_LOG_DAYS": "7"}
    with pytest.raises(SettingsError, match="MACAO_COMMAND_LOG_DAYS"):
        Settings.from_environment(given)
