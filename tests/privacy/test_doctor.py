"""The doctor finds nothing at a healthy deployment, and at a broken one what is broken and what to do."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from services.cli.doctor import around, logs, readers, truth
from services.cli.doctor.examining import CHECKS, examine
from services.cli.doctor.finding import Finding
from services.cli.doctor.patient import Patient
from services.engine.play.commitments import SEEDS
from services.runtime.clock import system_entropy
from services.runtime.logs.adding import Sites, add_log
from services.runtime.logs.spread import SpreadLog
from services.runtime.vault import Vault
from tests.http.app import SECRET_KEY, settings_of
from tests.logs.conftest import spread, stream_in, write
from tests.privacy.house import ROOT, House, house_of, macao
from tests.privacy.test_keys import NEW_ID, NEW_KEY, OLD_ID
from tests.support.databases import PARTITIONS
from tests.support.up import Up, open_directory


@asynccontextmanager
async def looked_after(database: str, **settings: Any) -> AsyncIterator[Patient]:
    """Give a patient, seen by the owner of the database."""
    connection = await asyncpg.connect(database)
    try:
        secret_key = settings.pop("secret_key", SECRET_KEY)
        yield Patient(replace(settings_of(database, **settings), secret_key=secret_key), connection)
    finally:
        await connection.close()


async def found(patient: Patient) -> list[Finding]:
    """Return what is not well; a test may not say more of the machine that it runs on."""
    return [
        one
        for one in await examine(patient)
        if one.level != "ok" and one.subject not in {"disks", "connections"}
    ]


async def lived_in(house: House) -> None:
    """Have a match played, and everybody who reads the log hear of it."""
    anna, bela = await house.account("Anna"), await house.account("Bela")
    match = await house.started(anna, bela)
    await house.played(match, anna, bela)
    await house.until_ended(anna, match)
    await house.until("/log/checkpoint", lambda seen: seen["size"] > 10)


async def broken(patient: Patient, *statements: str) -> None:
    """Break something that triggers stand in the way of."""
    await patient.connection.execute("SET session_replication_role = origin")
    for statement in statements:
        await patient.connection.execute(statement)


async def test_a_healthy_deployment(database: str, redis_url: str, tmp_path: Path) -> None:
    more = {"redis_url": redis_url, "checkpoint_directory": str(tmp_path)}
    async with house_of(database, **more) as house:
        await lived_in(house)
        await asyncio.sleep(1.2)  # checkpoints of what came last
        async with looked_after(database, **more) as patient:
            everything = await examine(patient)
            # The server of the tests does not wait for its disk, and lets us in as its superuser.
            assert [one for one in everything if one.level == "failure" and one.subject != "durability"] == []
            assert {one.subject for one in await found(patient)} <= {"durability", "rights"}
            told = {one.subject for one in everything}
            assert {"PostgreSQL", "migrations", "triggers", "secret keys", "chains", "checkpoints", "readers", "Redis",
                    "clocks"} <= told  # fmt: skip
            assert len(told) >= len(CHECKS) - 1


UNTRIGGERED = "ALTER TABLE macao_log.events DISABLE TRIGGER append_only"
BROKEN: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "an event was changed": (
        (UNTRIGGERED, "UPDATE macao_log.events SET body = '{}' WHERE type = 'rolled'",
         "ALTER TABLE macao_log.events ENABLE ALWAYS TRIGGER append_only"),
        "chains", "is broken at version", "macao audit --all",
    ),
    "an event is gone": (
        (UNTRIGGERED, "DELETE FROM macao_log.events WHERE position = 7",
         "ALTER TABLE macao_log.events ENABLE ALWAYS TRIGGER append_only"),
        "numbering", "some are missing", "macao audit --all",
    ),
    "the tail was lost": (
        (UNTRIGGERED, "DELETE FROM macao_log.events WHERE position > 9",
         "ALTER TABLE macao_log.events ENABLE ALWAYS TRIGGER append_only"),
        "checkpoints", "a tail was lost", "LogRewritten",
    ),
    "a trigger is off": ((UNTRIGGERED,), "triggers", "append_only on macao_log.events", "ENABLE ALWAYS TRIGGER"),
    "a right too many": (
        ("GRANT DELETE ON macao_log.commands TO macao_app",), "rights", "macao_app holds DELETE on macao_log.commands",
        "REVOKE DELETE ON macao_log.commands FROM macao_app",
    ),
    "a right for everybody": (
        ("GRANT UPDATE ON macao_log.events TO PUBLIC",), "rights", "public holds UPDATE on macao_log.events", "REVOKE",
    ),
    "a right too few": (
        ("REVOKE SELECT ON macao_log.streams FROM macao_app",), "rights", "lacks SELECT on macao_log.streams", "GRANT",
    ),
    "a migration is missing": (
        ("DELETE FROM macao_migrations.applied WHERE name = '0016_keys'",), "migrations", "0016_keys", "macao migrate",
    ),
    "a newer version was here": (
        ("INSERT INTO macao_migrations.applied VALUES ('log', 'migration', '9999_later', 'x')",), "migrations",
        "log/migration/9999_later", "newer version",
    ),
    "a reader stopped": (
        ("UPDATE macao_log.subscriptions SET state = 'lost-tail' WHERE name = 'history'",), "readers",
        "history is lost-tail", "macao rebuild history",
    ),
    "a reader is silent": (
        ("UPDATE macao_log.subscriptions SET heartbeat_at = now() - interval '1 hour' WHERE name = 'lobby-tables'",),
        "readers", "nobody works on lobby-tables", "Is the lobby up?",
    ),
    "a stream is parked": (
        ("UPDATE macao_log.subscriptions SET parked = 2 WHERE name = 'board'",), "readers",
        "board leaves out 2 streams",
        "macao release board",
    ),
    "commits do not wait": (
        ("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$",),
        "durability", "synchronous_commit is off", "synchronous_commit = on",
    ),
    "a false signature": (
        ("ALTER TABLE macao_tree.checkpoints DISABLE TRIGGER append_only",
         "UPDATE macao_tree.checkpoints SET at_ms = at_ms + 1",
         "ALTER TABLE macao_tree.checkpoints ENABLE ALWAYS TRIGGER append_only"),
        "checkpoints", "false signature", "macao audit --all",
    ),
}  # fmt: skip


async def test_what_is_broken_in_the_database_is_named(databases: Any) -> None:
    # One deployment that ran, and was stopped; each break is undone by its transaction.
    async with databases.fresh() as database:
        async with house_of(database) as house:
            await lived_in(house)
        for name, (statements, subject, said, advice) in BROKEN.items():
            async with looked_after(database) as patient:
                if name == "commits do not wait":
                    await broken(patient, *statements)
                else:
                    transaction = patient.connection.transaction()
                    await transaction.start()
                    await broken(patient, *statements)
                    findings = await found(patient)
                    await transaction.rollback()
            if name == "commits do not wait":
                async with looked_after(database) as again:
                    findings = await found(again)
                    await again.connection.execute(
                        statements[0].replace("SET synchronous_commit = off", "RESET ALL")
                    )
            hits = [one for one in findings if one.subject == subject and said in one.said]
            assert hits, (name, findings)
            assert any(advice in one.advice for one in hits), (name, hits)


async def test_what_is_broken_around_is_named(house: House, database: str, tmp_path: Path) -> None:
    await lived_in(house)
    nowhere = str(tmp_path / "nowhere")
    cases: list[tuple[dict[str, Any], str, str, str]] = [
        ({"redis_url": "redis://127.0.0.1:1/0"}, "Redis", "does not answer", "MACAO_REDIS_URL"),
        ({"redis_url": "nonsense"}, "Redis", "cannot be used", "redis://"),
        ({"secret_key": NEW_KEY}, "secret keys", f"need the key {OLD_ID}", "Put that key back"),
        ({"secret_key": NEW_KEY}, "signing keys", f"the key {OLD_ID}", "Put the key back"),
        ({"secret_key": "abc"}, "secret keys", "MACAO_SECRET_KEY holds", "docs/operations.md"),
        ({"secret_key": f"{SECRET_KEY},{NEW_KEY}"}, "secret keys", f"no row needs {NEW_ID}", "Take it out"),
        ({"secret_key": f"{NEW_KEY},{SECRET_KEY}"}, "secret keys", "not finished", "macao keys rotate"),
        ({"checkpoint_directory": nowhere}, "checkpoints", "is not here", "where the engine runs"),
        ({}, "checkpoints", "kept nowhere but in the database", "MACAO_CHECKPOINT_DIRECTORY"),
    ]
    for settings, subject, said, advice in cases:
        async with looked_after(database, **settings) as patient:
            hits = [one for one in await found(patient) if one.subject == subject and said in one.said]
        assert hits, (settings, subject)
        assert all(advice in one.advice for one in hits), hits
    async with looked_after(database) as patient:
        for skew, level in ((0.0, "ok"), (2.0, "warning"), (60.0, "failure")):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(around.time, "time", lambda skew=skew: 0.0 + skew + _now())
                (finding,) = await around.clocks(patient)
            assert finding.level == level, finding


def _now() -> float:
    return datetime.now(UTC).timestamp()


async def test_a_database_without_anything_and_one_that_is_away(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MACAO_SECRET_KEY", SECRET_KEY)
    assert await macao("doctor", "--json", "--database", postgres_url) == 1
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {"subject": "migrations", "level": "failure", "said": "the database holds nothing of ours",
            "advice": "Run macao migrate, as the owner."} in told  # fmt: skip
    assert all(one["advice"] for one in told if one["level"] != "ok")
    assert await macao("doctor", "--database", "postgresql://nobody@127.0.0.1:1/none") == 1
    assert "FAILURE  PostgreSQL: it cannot be reached" in capsys.readouterr().out
    monkeypatch.setenv("MACAO_SECRET_KEY", "")
    assert await macao("doctor", "--database", postgres_url) == 1
    assert "MACAO_SECRET_KEY is not set" in capsys.readouterr().out


@pytest.mark.slow
def test_the_one_machine_is_found_by_itself() -> None:
    with open_directory() as directory, Up(directory / "home") as up:
        up.wait_ready()
        environment = {**os.environ, "MACAO_HOME": str(up.home), "PYTHONPATH": str(ROOT)}
        for name in ("MACAO_DATABASE_URL", "MACAO_SECRET_KEY", "MACAO_REDIS_URL"):
            environment.pop(name, None)
        done = subprocess.run(
            [sys.executable, "-P", "-m", "services.cli", "doctor", "--json"], cwd=ROOT, env=environment,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        told = [json.loads(line) for line in done.stdout.splitlines()]
        failures = [one for one in told if one["level"] == "failure" and one["subject"] != "disks"]
        assert failures == [], done.stderr
        assert any(one["subject"] == "services" and one["level"] == "ok" for one in told)
        up.end(signal.SIGINT)


def test_the_bounds_are_sensible() -> None:
    assert readers.SILENT_SECONDS < readers.LAG_SECONDS
    assert truth.STREAMS * truth.EVENTS_MAX <= 100_000
    assert SEEDS.purpose == "match seed"
    assert Vault(SECRET_KEY, system_entropy).key_ids == (OLD_ID,)


UNTRIGGERED_NORTH = "ALTER TABLE macao_log_north.events DISABLE TRIGGER append_only"
TRIGGERED_NORTH = "ALTER TABLE macao_log_north.events ENABLE ALWAYS TRIGGER append_only"
BROKEN_ELSEWHERE: dict[str, tuple[tuple[str, ...], str, str, str]] = {
    "an event was changed": (
        (UNTRIGGERED_NORTH, "UPDATE macao_log_north.events SET actor = 'x' WHERE version = 2", TRIGGERED_NORTH),
        "chains of north", "is broken at version 2", "macao audit --all",
    ),
    "a trigger is off": (
        (UNTRIGGERED_NORTH,), "triggers of north", "append_only on macao_log_north.events", "ENABLE ALWAYS TRIGGER",
    ),
    "a trigger of the tree is gone": (
        ("DROP TRIGGER append_only ON macao_tree_north.losses",), "triggers of north",
        "append_only on macao_tree_north.losses", "macao audit --all",
    ),
    "a right too many": (
        ("GRANT DELETE ON macao_log_north.commands TO macao_app",), "rights of north",
        "macao_app holds DELETE on macao_log_north.commands",
        "REVOKE DELETE ON macao_log_north.commands FROM macao_app",
    ),
    "a right for everybody": (
        ("GRANT INSERT ON macao_tree_north.losses TO PUBLIC",), "rights of north",
        "public holds INSERT on macao_tree_north.losses", "REVOKE",
    ),
    "a right too few": (
        ("REVOKE SELECT ON macao_log_north.streams FROM macao_app",), "rights of north",
        "lacks SELECT on macao_log_north.streams", "GRANT SELECT",
    ),
    "it may not be appended to": (
        ("REVOKE EXECUTE ON FUNCTION macao_log_north.append_many FROM macao_app",), "rights of north",
        "may not append to the log north", "GRANT EXECUTE ON FUNCTION macao_log_north.append_many",
    ),
    "a script is missing": (
        ("DELETE FROM macao_migrations.applied WHERE package = 'tree@north' AND name = '0002_losses'",),
        "migrations of north", "tree@north/migrations/0002_losses", "macao migrate",
    ),
    "a newer version was here": (
        ("INSERT INTO macao_migrations.applied VALUES ('log@north', 'migration', '9999_later', 'x')",),
        "migrations of north", "log@north/migration/9999_later", "newer version",
    ),
    "it is fenced": (
        ("SET search_path = macao_log_north",
         "CREATE TRIGGER fenced BEFORE INSERT ON events EXECUTE FUNCTION refuse_append()", "RESET search_path"),
        "logs", "north is fenced", "macao logs unfence north",
    ),
    "it lost its tail": (
        (UNTRIGGERED_NORTH, "DELETE FROM macao_log_north.events WHERE position > 1", TRIGGERED_NORTH),
        "logs", "north does not hold the event at its position 2", "macao logs mend north",
    ),
    "commits do not wait": (
        ("SET LOCAL synchronous_commit = off",), "durability of the server far", "synchronous_commit is off",
        "ALTER SYSTEM",
    ),
    "its schema is not there": (
        ("ALTER SCHEMA macao_log_north RENAME TO macao_log_other",), "logs", "there is no schema macao_log_north",
        "MACAO_LOG_SERVERS",
    ),
}  # fmt: skip


class Borrowed:
    """A connection in the middle of a transaction, which who borrows it does not close."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def close(self) -> None:
        """Do nothing."""


async def test_what_is_broken_in_a_log_beside_the_main_one_is_named(
    databases: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with databases.fresh() as other:
        servers = {"log_servers": f"far={other}"}
        sites = Sites(database, {"far": other})
        await add_log(sites, "here", "main", PARTITIONS)
        await add_log(sites, "north", "far", PARTITIONS)
        async with spread(database, servers["log_servers"]) as log:
            for name in ("main", "here", "north"):
                await write(log, stream_in(name), b"{}", b"{}")
            async with asyncio.timeout(10):
                while len(await log.read_all(0)) < 6:
                    await asyncio.sleep(0.02)
        async with looked_after(database, **servers) as patient:
            everything = await examine(patient)
        told = {one.subject: one for one in everything}
        for subject in ("chains", "numbering", "migrations"):
            assert {told[f"{subject}{of}"].level for of in ("", " of here", " of north")} == {"ok"}
        assert told["PostgreSQL of the server far"].level == "ok"
        assert told["logs"].said == "main, here, north can be reached and are read"
        assert told["rights"].said == "the application may append to each of 3 logs, and change nothing"
        assert told["triggers"].said == "each of 3 logs refuses changes, by the owner as well"
        assert not [one for one in everything if one.level == "failure" and "durability" not in one.subject]

        far = await asyncpg.connect(other)

        async def reached(*_: object, **__: object) -> Any:
            return Borrowed(far)

        for name, (statements, subject, said, advice) in BROKEN_ELSEWHERE.items():
            transaction = far.transaction()
            await transaction.start()
            for statement in statements:
                await far.execute(statement)
            async with looked_after(database, **servers) as patient:
                with monkeypatch.context() as patch:
                    patch.setattr("services.cli.doctor.patient.asyncpg.connect", reached)
                    findings = await found(patient)
            await transaction.rollback()
            hits = [one for one in findings if one.subject == subject and said in one.said]
            assert hits, (name, findings)
            assert any(advice in one.advice for one in hits), (name, hits)
            # Nothing is said of the logs that are well.
            others = {one.subject for one in findings if one.level == "failure"} - {"durability"}
            assert all("north" in one or "far" in one or one == "logs" for one in others), (name, findings)
        await far.close()


async def test_logs_that_cannot_be_looked_at_are_named(databases: Any, database: str) -> None:
    async with databases.fresh() as other:
        await add_log(Sites(database, {"far": other}), "north", "far")
        for servers, said in (
            ("", "north cannot be looked at: MACAO_LOG_SERVERS does not name a server far"),
            ("far=nonsense", "north cannot be looked at: MACAO_LOG_SERVERS cannot be used"),
            ("far=postgresql://nobody@127.0.0.1:1/none", "north cannot be looked at: the server far cannot be reached"),
        ):  # fmt: skip
            async with looked_after(database, log_servers=servers) as patient:
                findings = await found(patient)
            failures = [
                one.said for one in findings if one.level == "failure" and one.subject != "durability"
            ]
            assert len(failures) == 1, failures
            assert failures[0].startswith(said)


async def read_in_north(log: SpreadLog) -> None:
    """Write an event into the log north, and wait until it has its place in the reading order."""
    await write(log, stream_in("north"), b"{}")
    async with asyncio.timeout(10):
        while not await log.read_all(0):
            await asyncio.sleep(0.02)


async def test_a_reader_that_is_behind_is_told_where(database: str) -> None:
    await add_log(Sites(database, {}), "north", "main")
    async with spread(database) as log:
        await read_in_north(log)
        async with looked_after(database) as patient:
            await broken(
                patient,
                "INSERT INTO macao_log.subscriptions (name, version) VALUES ('board', 1)",
                "ALTER TABLE macao_log_north.events DISABLE TRIGGER append_only",
                "UPDATE macao_log_north.events SET recorded_at = now() - interval '1 hour'",
            )
            (finding,) = await readers.subscriptions(patient)
    assert finding.level == "warning"
    assert finding.said == "board is 1 events behind, 3600 s, at the log north"


async def test_a_log_that_nobody_reads_is_named(database: str) -> None:
    await add_log(Sites(database, {}), "north", "main")
    async with spread(database) as log:
        await read_in_north(log)
    async with looked_after(database) as patient:
        await broken(
            patient,
            "DELETE FROM macao_runtime.reading_order",
            "ALTER TABLE macao_log_north.events DISABLE TRIGGER append_only",
            "UPDATE macao_log_north.events SET recorded_at = now() - interval '2 minutes'",
        )
        (finding,) = await logs.logs(patient)
    assert (finding.subject, finding.level) == ("logs", "warning")
    assert finding.said == "1 events of north are not read, the oldest for 120 s"
