"""Tables built anew while the old ones serve: the same rows, no reader disturbed, no debris, whatever is killed."""

import asyncio
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import asyncpg
import pytest
import pytest_asyncio

from services.projections.board.tables import Board
from services.projections.history.tables import History
from services.projections.rebuilding import BusyError, RebuildError, Rebuilding, StoppedError
from services.projections.rebuilds import Reason, Rebuilds
from services.runtime.database import Database
from services.runtime.log import EventLog
from tests.projections.stories import Story, a, invented, player
from tests.projections.support import PROJECTIONS, contents, eventually, running, settings_of
from tests.support.up import ROOT

P1, P2 = player(1), player(2)
REBUILDS = Rebuilds("macao_log")


@pytest_asyncio.fixture(loop_scope="session")
async def owner(database):
    connection = await asyncpg.connect(database)
    yield connection
    await connection.close()


@pytest_asyncio.fixture(loop_scope="session")
async def here(database):
    async with running(database) as app:
        yield app


@asynccontextmanager
async def followed(database, story):
    """A log that was worked off, and nobody who follows it any more."""
    async with running(database) as here:
        await here.tell(story.commands)
        await here.caught_up()
    async with Database(settings_of(database)) as opened:
        yield opened, EventLog(opened)


async def build(opened, log, projection, purpose="switch", **more):
    await REBUILDS.request(opened.pool, projection.NAME, projection.VERSION, Reason.OPERATOR, purpose)
    return await Rebuilding(opened, log, projection, purpose, page_max=50, **more).run()


async def debris(owner):
    """Return what stands in the schema of builds."""
    return [
        row[0]
        for row in await owner.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = 'macao_projections_next'::regnamespace"
        )
    ]


async def shape(owner, schema):
    """Return everything that is declared of the tables of a schema: columns, constraints, indexes, rights, comments."""
    columns = await owner.fetch(
        "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name "
        "FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, ordinal_position",
        schema,
    )
    constraints = await owner.fetch(
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE connamespace = $1::regnamespace ORDER BY 1, 2",
        schema,
    )
    indexes = await owner.fetch(
        "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = $1 ORDER BY 1", schema
    )
    tables = await owner.fetch(
        "SELECT relname, reloptions, relacl::text, obj_description(oid, 'pg_class'), relowner "
        "FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY 1",
        schema,
    )
    comments = await owner.fetch(
        "SELECT relname, objsubid, description FROM pg_description JOIN pg_class AS c ON c.oid = objoid "
        "WHERE relnamespace = $1::regnamespace ORDER BY 1, 2",
        schema,
    )
    return [columns, constraints, indexes, tables, comments]


@pytest.mark.parametrize("at", range(len(PROJECTIONS)))
async def test_rebuilt_tables_are_the_same_down_to_their_declarations(database, owner, at):
    projection = PROJECTIONS[at]
    await owner.execute(
        "CREATE ROLE reporting; GRANT SELECT ON ALL TABLES IN SCHEMA macao_projections TO reporting"
    )
    try:
        async with followed(database, invented(21)) as (opened, log):
            declared, rows = await shape(owner, "macao_projections"), await contents(owner, projection)
            oids = await owner.fetch(
                "SELECT oid FROM pg_class WHERE relname = ANY($1)", list(projection.TABLES)
            )
            for _ in range(2):
                outcome = await build(opened, log, projection)
                assert outcome.position == await log.head_position()
            assert await shape(owner, "macao_projections") == declared
            assert await contents(owner, projection) == rows
            assert rows.count(b"\n") > 10
            new = await owner.fetch(
                "SELECT oid FROM pg_class WHERE relname = ANY($1)", list(projection.TABLES)
            )
            assert not {row[0] for row in oids} & {row[0] for row in new}
            assert await debris(owner) == []
    finally:
        await owner.execute("DROP OWNED BY reporting; DROP ROLE reporting")


async def test_comparing_finds_a_row_that_differs_and_changes_nothing(database, owner):
    async with followed(database, invented(22)) as (opened, log):
        outcome = await build(opened, log, History(), "compare")
        assert outcome.differences == {"history": 0, "history_seats": 0}
        await owner.execute(
            "UPDATE macao_projections.history SET rounds = rounds + 1 "
            "WHERE match_id = (SELECT min(match_id) FROM macao_projections.history);"
            "DELETE FROM macao_projections.history_seats "
            "WHERE player = (SELECT min(player) FROM macao_projections.history_seats)"
        )
        wrong = await contents(owner, History())
        outcome = await build(opened, log, History(), "compare")
        assert outcome.differences is not None
        assert outcome.differences["history"] == 1
        assert outcome.differences["history_seats"] > 0
        assert (await REBUILDS.of(owner, "history")).differences == sum(outcome.differences.values())
        assert await contents(owner, History()) == wrong
        await build(opened, log, History())
        assert (await build(opened, log, History(), "compare")).differences == {
            "history": 0,
            "history_seats": 0,
        }
        assert await debris(owner) == []


@pytest.mark.slow
async def test_under_load_nobody_notices(here, owner):
    """Events come in, readers read, and the tables are replaced again and again: every answer is whole."""
    story = invented(23, commands=600)
    told = asyncio.create_task(slowly(here, story))
    answers = []

    async def read():
        while not told.done():
            for path in ("/v1/lobby?limit=200", "/v1/leaderboards/dice-race", f"/v1/players/{P1}/matches"):
                answer = await here.get(path)
                answers.append(answer.status_code)
                assert answer.status_code == 200, answer.text
            await asyncio.sleep(0)

    readers = [asyncio.create_task(read()) for _ in range(3)]
    switches = 0
    operator = here.token("p_operator", "operate")
    while not told.done():
        for projection in here.projections:
            answer = await here.client.post(
                f"/v1/projections/{projection.NAME}/rebuild", json={}, headers=operator
            )
            assert answer.status_code == 202
        await eventually(all_done(owner))
        switches += len(here.projections)
    await told
    await asyncio.gather(*readers)
    await here.caught_up()
    assert switches >= 6
    assert len(answers) > 50
    for projection in here.projections:
        before = await contents(owner, projection)
        await here.client.post(f"/v1/projections/{projection.NAME}/rebuild", json={}, headers=operator)
        await eventually(all_done(owner))
        assert await contents(owner, projection) == before
    assert await debris(owner) == []


async def slowly(here, story):
    for at in range(0, len(story.commands), 20):
        await here.tell(story.commands[at : at + 20])
        await asyncio.sleep(0.1)


def all_done(owner):
    async def done():
        rows = await owner.fetch("SELECT state, last_error FROM macao_log.rebuilds")
        assert not [row for row in rows if row["state"] == "failed"], rows
        return {row["state"] for row in rows} == {"done"}

    return done


async def test_a_rebuild_that_is_killed_is_taken_up_again(database, owner):
    """kill -9 in the middle: the debris is there, and gone when the next process has built the tables."""
    async with followed(database, invented(24)):
        rows = await contents(owner, History())
        script = (
            "import asyncio, os, signal, sys\n"
            "from services.projections.history.tables import History\n"
            "from services.projections.rebuilding import Rebuilding\n"
            "from services.runtime.database import Database\n"
            "from services.runtime.log import EventLog\n"
            "from services.runtime.settings import Settings\n"
            "database = Database(Settings(database_url=sys.argv[1], secret_key=''))\n"
            "die = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
            "pages = iter(range(100))\n"
            "build = Rebuilding(database, EventLog(database), History(), 'switch', page_max=50,\n"
            "                   stopping=lambda: next(pages) == 3 and die())\n"
            "asyncio.run(build.run())\n"
        )
        await REBUILDS.request(owner, "history", History.VERSION, Reason.OPERATOR)
        killed = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", script, database], cwd=ROOT, timeout=60, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert "history" in await debris(owner)
        assert await contents(owner, History()) == rows
        assert (await REBUILDS.of(owner, "history")).state == "running"
    async with running(database):  # any process of the service takes it up by itself
        await eventually(all_done(owner))
    assert await debris(owner) == []
    assert await contents(owner, History()) == rows


async def test_one_at_a_time_and_stopping_leaves_the_request(database, owner):
    async with followed(database, invented(25)) as (opened, log):
        other = await asyncpg.connect(database)
        await other.execute("SELECT pg_advisory_lock($1)", REBUILDS.lock("history"))
        with pytest.raises(BusyError):
            await build(opened, log, History())
        await other.close()
        with pytest.raises(StoppedError):
            await build(opened, log, History(), stopping=lambda: True)
        assert (await REBUILDS.of(owner, "history")).state == "waiting"
        assert await debris(owner) == []


async def test_a_migration_in_between_is_noticed(database, owner):
    async with followed(database, invented(26)) as (opened, log):
        changed = False

        def alter(_position, _head):
            nonlocal changed
            if not changed:
                changed = True
                subprocess.run([sys.executable, "-c", ALTER, database], cwd=ROOT, timeout=60, check=True)

        with pytest.raises(RebuildError, match=r"a migration changed macao_projections\.history"):
            await build(opened, log, History(), told=alter)
        assert await debris(owner) == []


ALTER = """
import asyncio, asyncpg, sys
async def alter():
    connection = await asyncpg.connect(sys.argv[1])
    await connection.execute("ALTER TABLE macao_projections.history ADD COLUMN more text")
    await connection.close()
asyncio.run(alter())
"""


async def test_what_depends_on_the_old_tables_stops_the_switch(database, owner):
    async with followed(database, invented(27)) as (opened, log):
        await owner.execute("CREATE VIEW public.mine AS SELECT match_id FROM macao_projections.history")
        with pytest.raises(
            RebuildError, match=r"something of yours depends on the old tables: view public\.mine"
        ):
            await build(opened, log, History())
        assert await debris(owner) == []


async def test_tables_of_an_older_version_serve_until_the_new_ones_are_built(database, owner, monkeypatch):
    story = invented(28)
    async with running(database) as old:
        await old.tell(story.commands)
        await old.caught_up()
        rows = await contents(owner, History())
        newer = History.VERSION + 1
        monkeypatch.setattr(History, "VERSION", newer)
        await owner.execute("UPDATE macao_projections.history SET rounds = 99")  # as an older version has it
        async with running(database) as new:

            async def switched():
                versions = await owner.fetch(
                    "SELECT version FROM macao_log.subscriptions WHERE name = 'history'"
                )
                return [row[0] for row in versions] == [newer]

            await eventually(switched)
            await eventually(all_done(owner))
            assert await contents(owner, History()) == rows
            assert (await REBUILDS.of(owner, "history")).reason == "version"
            # The old process leaves them alone from now on.
            story.commands.clear()
            story.play(a("m", 555), [P1, P2], [1, 2])
            await new.tell(story.commands)
            await new.caught_up()
            await asyncio.sleep(1.5)
            versions = await owner.fetch("SELECT version FROM macao_log.subscriptions WHERE name = 'history'")
            assert [row[0] for row in versions] == [newer]


@pytest.mark.slow
async def test_a_lost_tail_is_repaired_by_a_rebuild(database, owner):
    story = invented(29, commands=60)
    async with running(database) as here:
        await here.tell(story.commands)
        await here.caught_up()
    # A failover to a standby that was behind: the last events are gone, and their numbers are used again.
    await owner.execute("ALTER TABLE macao_log.events DISABLE TRIGGER append_only")
    await owner.execute("ALTER TABLE macao_log.streams DISABLE TRIGGER never_removed")
    left = story.position - 20
    await owner.execute(
        f"DELETE FROM macao_log.events WHERE position > {left}; DELETE FROM macao_log.streams"
    )
    async with running(database) as here:
        again = Story()
        again._number = 10_000  # other commands
        for number in range(700, 710):
            again.play(a("m", number), [P1, P2], [1, 2])
        await here.tell(again.commands)

        async def repaired():
            items = (await here.get("/v1/projections")).json()["items"]
            return all(item["healthy"] and item["rebuild"] for item in items)

        await eventually(repaired)
        await here.caught_up()
        assert {(await REBUILDS.of(owner, one.NAME)).reason for one in PROJECTIONS} == {"lost-tail"}
        served = await here.contents()
        assert a("m", 709).encode() in served
    async with Database(settings_of(database)) as opened:
        for projection in PROJECTIONS:
            outcome = await build(opened, EventLog(opened), projection, "compare")
            assert set((outcome.differences or {"": 1}).values()) == {0}


@pytest.mark.slow
async def test_the_command_line_builds_and_compares_and_ctrl_c_leaves_nothing(database, owner):
    async with followed(database, invented(30)) as (_opened, _log):

        def macao(*arguments, **more):
            return subprocess.Popen(
                [sys.executable, "-m", "services.cli", *arguments, "--database", database],
                cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more,
            )  # fmt: skip

        rows = [await contents(owner, projection) for projection in PROJECTIONS]
        for arguments, told in (
            (("rebuild", "--all"), "the new tables serve"),
            (("rebuild", "--all", "--compare"), "the same, byte for byte, as what is served"),
        ):
            out, err = await asyncio.to_thread(macao(*arguments).communicate, timeout=60)
            assert not err
            assert out.count(told) == len(PROJECTIONS), out
        assert [await contents(owner, projection) for projection in PROJECTIONS] == rows
        await owner.execute("UPDATE macao_projections.board SET host = 'nobody'")
        compared = macao("rebuild", "board", "--compare")
        out, _ = await asyncio.to_thread(compared.communicate, timeout=60)
        assert compared.returncode == 1
        assert "rows differ" in out
        # Somebody writes in the served tables: the switch waits, and is interrupted.
        async with owner.transaction():
            await owner.execute("LOCK TABLE macao_projections.board IN ACCESS SHARE MODE")
            process = macao("rebuild", "board")
            await eventually(lambda: waits(database))
            process.send_signal(signal.SIGINT)
            _, err = await asyncio.to_thread(process.communicate, timeout=60)
        assert "interrupted; nothing was changed" in err
        assert process.returncode == 1
        assert await debris(owner) == []
        assert (await REBUILDS.of(owner, "board")).state == "failed"


async def waits(database):
    connection = await asyncpg.connect(database)
    try:
        return await connection.fetchval("SELECT count(*) > 0 FROM pg_locks WHERE NOT granted")
    finally:
        await connection.close()


def test_every_projection_can_be_built_in_another_schema():
    for projection in PROJECTIONS:
        assert type(projection)("macao_projections_next").sql("{schema}.x") == "macao_projections_next.x"
    assert Board.TABLES.keys().isdisjoint(History.TABLES)
