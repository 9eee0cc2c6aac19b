"""The doctor looks at every partition; what is wrong with one is named, and what is to be done."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import asyncpg

from services.cli.auditing.findings import LogFinding, Report
from services.cli.auditing.log_audit import audit_log
from services.cli.doctor.partitions import partitions
from services.cli.doctor.truth import numbering
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.log import EventLog
from services.runtime.logs.adding import Sites, add_log
from tests.logs.conftest import spread, stream_in, write
from tests.partitions.conftest import COUNT
from tests.partitions.test_numbering import AGAIN
from tests.privacy.test_doctor import looked_after
from tests.store.writers import Stream
from tests.support.databases import PARTITIONS

BROKEN: dict[str, tuple[str, str, str]] = {
    "a partition was taken out": (
        "ALTER TABLE macao_log.events DETACH PARTITION macao_log.events_003",
        f"a part of macao_log.events was taken out of it (of modulus {COUNT} the remainders 3)", "ATTACH PARTITION",
    ),
    "a partition is gone": ("DROP TABLE macao_log.events_000, macao_log.events_001", "the remainders 0, 1)", "Stop"),
    "a partition may be changed": (
        "ALTER TABLE macao_log.events_001 DISABLE TRIGGER append_only",
        "missing, or not always on: append_only on macao_log.events_001", "ENABLE ALWAYS TRIGGER",
    ),
    "a partition may be written to": (
        "DROP TRIGGER by_the_table ON macao_log.events_000",
        "missing, or not always on: by_the_table on macao_log.events_000", "macao audit --all",
    ),
    "a trigger that can be switched off": (
        "ALTER TABLE macao_log.events_001 ENABLE TRIGGER append_only", "append_only on macao_log.events_001", "ALWAYS",
    ),
    "nobody counts": (
        "ALTER TABLE macao_log.events DISABLE TRIGGER numbered", "numbered on macao_log.events", "ENABLE ALWAYS",
    ),
    "a right too many": (
        "GRANT INSERT ON macao_log.events_002 TO macao_app", "macao_app holds INSERT on macao_log.events_002",
        "REVOKE ALL ON macao_log.events_002 FROM macao_app",
    ),
    "a right for everybody": (
        "GRANT TRUNCATE ON macao_log.events_002 TO PUBLIC", "public holds TRUNCATE on macao_log.events_002", "REVOKE",
    ),
    "a key is gone": (
        "ALTER TABLE macao_log.events_002 DROP CONSTRAINT events_002_pkey",
        "no key over positions on events_002 of macao_log", "ADD PRIMARY KEY (position)",
    ),
}  # fmt: skip


async def test_what_is_broken_in_a_partition_is_named(database: str, log: EventLog):
    for _ in range(12):
        await log.append(Stream().next())
    async with looked_after(database) as patient:
        (sound,) = await partitions(patient)
        assert (sound.level, sound.said) == ("ok", f"all {COUNT} of macao_log.events are there, and closed")
        for name, (statement, said, advice) in BROKEN.items():
            transaction = patient.connection.transaction()
            await transaction.start()
            await patient.connection.execute(statement)
            findings = await partitions(patient)
            await transaction.rollback()
            assert {one.level for one in findings} == {"failure"}, (name, findings)
            assert any(said in one.said and advice in one.advice for one in findings), (name, findings)


async def test_room_for_the_locks_on_many_partitions(databases: Any):
    async with databases.fresh(64 if PARTITIONS is None else None) as url, looked_after(url) as patient:
        room = int(await patient.value("SELECT current_setting('max_locks_per_transaction')"))
        (finding,) = await partitions(patient)
        if 2 * (PARTITIONS or 64) > room:
            assert (finding.level, "max_locks_per_transaction = 128" in finding.advice) == ("warning", True)
        else:
            assert finding.level == "ok"


async def test_a_log_in_one_table_has_none(databases: Any):
    async with databases.fresh() as url, looked_after(url) as patient:
        (finding,) = await partitions(patient)
        assert finding.level == "ok"


async def test_partitions_of_other_logs_are_looked_at_where_they_live(databases: Any, database: str):
    async with databases.fresh() as other:
        sites = Sites(database, {"b": other})
        await add_log(sites, "north", "b", 4)
        async with spread(database, f"b={other}") as log:
            await write(log, stream_in("north"))
        async with looked_after(database, log_servers=f"b={other}") as patient:
            far = await sites.connect("b")
            try:
                assert [one.level for one in await partitions(patient)] == ["ok", "ok"]
                await far.execute(
                    "ALTER TABLE macao_log_north.events DETACH PARTITION macao_log_north.events_002"
                )
            finally:
                await far.close()
            findings = {one.subject: one for one in await partitions(patient)}
            assert findings["partitions"].level == "ok"
            assert "a part of macao_log_north.events was taken out" in findings["partitions of north"].said


async def test_a_position_that_stands_twice_is_found(database: str, log: EventLog, owner: Any):
    """Who takes the trigger away can write one; the doctor and the audit see it."""
    for _ in range(5):
        await log.append(Stream().next())
    await owner.execute("ALTER TABLE macao_log.events DISABLE TRIGGER numbered")
    for number in range(64):  # each partition has a key of its own
        with suppress(asyncpg.UniqueViolationError):
            await owner.execute(AGAIN.format(rows=f"(5, 'm_{number}', 1)"))
            break
    await owner.execute(
        "INSERT INTO macao_log.streams SELECT stream, 'm', version, hash FROM macao_log.events ON CONFLICT DO NOTHING"
    )
    async with looked_after(database) as patient:
        (finding,) = await numbering(patient)
        assert finding.said == "between the positions 1 and 5 some stand twice"
        assert any("numbered on macao_log.events" in one.said for one in await partitions(patient))
    found: list[LogFinding] = []
    await audit_log(owner, CATALOGUE, Report(found.append))
    assert "positions go up to 5, and 6 events stand there: some stand twice" in [one.text for one in found]


async def test_events_that_went_with_a_partition_are_missed(database: str, log: EventLog, owner: Any):
    """The numbering and the audit say so as well: a hole is a hole, whoever made it."""
    for _ in range(30):
        await log.append(Stream().next())
    part = await owner.fetchval("SELECT tableoid::regclass::text FROM macao_log.events WHERE position = 7")
    gone = {row[0] for row in await owner.fetch(f"SELECT position FROM {part}")}
    await owner.execute(f"ALTER TABLE macao_log.events DETACH PARTITION {part}")
    async with looked_after(database) as patient:
        (finding,) = await numbering(patient)
        assert finding.level == "failure"
    found: list[LogFinding] = []
    await audit_log(owner, CATALOGUE, Report(found.append))
    assert ("tree", min(gone)) in {(one.check, one.position) for one in found}
    assert sum(one.check == "order" and "none is in the log" in one.text for one in found) == len(gone)
