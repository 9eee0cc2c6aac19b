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

from services.cli.doctor import around, readers, truth
from services.cli.doctor.examining import CHECKS, examine
from services.cli.doctor.finding import Finding
from services.cli.doctor.patient import Patient
from services.engine.play.commitments import SEEDS
from services.runtime.clock import system_entropy
from services.runtime.logs.adding import Sites, add_log
from services.runtime.vault import Vault
from tests.http.app import SECRET_KEY, settings_of
from tests.logs.conftest import spread, stream_in, write
from tests.privacy.house import ROOT, House, house_of, macao
from tests.privacy.test_keys import NEW_ID, NEW_KEY, OLD_ID
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


async def test_logs_beside_the_main_one_are_looked_at_where_they_live(databases: Any, database: str) -> None:
    async with databases.fresh() as other:
        servers = {"log_servers": f"far={other}"}
        sites = Sites(database, {"far": other})
        await add_log(sites, "here", "main")
        await add_log(sites, "north", "far")
        async with spread(database, servers["log_servers"]) as log:
            for name in ("main", "here", "north"):
                await write(log, stream_in(name), b"{}", b"{}")
        async with looked_after(database, **servers) as patient:
            told = {one.subject: one.level for one in await examine(patient)}
            assert {told[f"chains{of}"] for of in ("", " of here", " of north")} == {"ok"}
        far = await asyncpg.connect(other)
        await far.execute("ALTER TABLE macao_log_north.events DISABLE TRIGGER append_only")
        await far.execute("UPDATE macao_log_north.events SET actor = 'x' WHERE version = 2")
        await far.close()
        async with looked_after(database, **servers) as patient:
            findings = [one for one in await found(patient) if one.subject.startswith("chains")]
            assert [(one.subject, one.level) for one in findings] == [("chains of north", "failure")]
            assert "is broken at version 2" in findings[0].said
        async with looked_after(database) as patient:
            said = [one.said for one in await found(patient) if one.subject == "logs"]
            assert said
            assert all("MACAO_LOG_SERVERS does not name a server far" in one for one in said)
