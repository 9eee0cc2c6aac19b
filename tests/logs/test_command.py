"""``macao logs`` at the keyboard, and the commands that go through all logs."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from services.cli.main import main
from tests.logs.conftest import spread, stream_in, write
from tests.support.databases import PARTITIONS, Databases
from tests.support.up import ROOT

Run = Callable[..., "asyncio.Future[tuple[int, str]]"]


@pytest.fixture
def run(database: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in a thread, since it has a loop of its own; gives its code and what it said."""
    monkeypatch.setenv("MACAO_DATABASE_URL", database)
    monkeypatch.setenv("MACAO_LOG_SERVERS", "")

    async def command(*words: str) -> tuple[int, str]:
        with ThreadPoolExecutor(1) as threads:
            code = await asyncio.get_running_loop().run_in_executor(threads, main, words)
        return code, "".join(capfd.readouterr())

    return command


async def test_logs_are_shown_added_closed_moved_and_brought_up_to_date(
    run: Run, database: str, databases: Databases, monkeypatch: pytest.MonkeyPatch
):
    async with databases.fresh() as other:
        monkeypatch.setenv("MACAO_LOG_SERVERS", f"b={other}")
        assert await run("logs", "add", "north") == (
            0, "north is there, on main; services begin matches in it within a moment\n",
        )  # fmt: skip
        assert await run("logs", "close", "main") == (0, "new matches begin in main no more\n")
        code, told = await run("logs", "add", "north", "--server", "b", "--if-missing")
        assert (code, told) == (0, "north is there already, on main\n")
        code, told = await run("logs", "close", "north")
        assert (code, told) == (
            1, "macao: new matches have to begin somewhere, and north is the last log that is open.\n",
        )  # fmt: skip
        async with spread(database, f"b={other}") as log:
            await write(log, stream_in("north"), b"{}", b"{}")
            async with asyncio.timeout(5):
                while not await log.read_all(0):
                    await asyncio.sleep(0.01)
            code, told = await run("logs", "move", "north", "--to", "b")
            assert code == 0
            assert "north lives on b: 2 events. It could not be written to for" in told
        code, told = await run("logs")
        rows = [line.split() for line in told.splitlines()]
        assert rows[1:] == [
            ["main", "main", "no", "0", "0", str(PARTITIONS or "-")],
            ["north", "b", "yes", "2", "0", "-"],
        ]
        assert await run("logs", "unfence", "north") == (0, "north is written to again, where it is\n")
        code, told = await run("logs", "mend", "north")
        assert (code, told) == (1, "macao: the log north holds everything that was read of it.\n")
        assert await run("migrate") == (0, "nothing to do: the schema is up to date\n")
        code, told = await run("audit", "--all")
        assert code == 0
        assert "- 2 events in a tree" in told
        assert "1 streams chained" in told
        assert (await run("projections"))[0] == 0
        monkeypatch.setenv("MACAO_SECRET_KEY", "A" * 43)
        code, told = await run("accept-loss", "--log", "north")
        assert (code, "nothing" in told) == (1, True)
        code, told = await run("accept-loss", "--log", "nowhere")
        assert (code, told) == (1, "macao: there is no log nowhere; there are main, north.\n")
        monkeypatch.setenv("MACAO_LOG_SERVERS", "")
        for words in (("logs", "move", "north", "--to", "main"), ("migrate",), ("audit", "--all")):
            code, told = await run(*words)
            assert code in {1, 2}
            assert "MACAO_LOG_SERVERS does not name a server b" in told
        code, told = await run("projections")
        assert (code, "the server b, which MACAO_LOG_SERVERS does not name" in told) == (1, True)


@pytest.mark.slow
async def test_the_script_gives_each_log_a_server_of_its_own_and_can_be_run_again(
    run: Run, database: str, databases: Databases, tmp_path: Path
):
    async with databases.fresh() as b:
        await run("logs", "add", "n1")
        command = tmp_path / "macao"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m services.cli "$@"\n')
        command.chmod(0o755)
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "MACAO_LOG_SERVERS": f"b={b}",
            "MACAO": str(command),
        }
        for expected in ("n1 lives on b: 0 events", "n1 lives on b already"):
            done = await asyncio.to_thread(
                subprocess.run,
                ["sh", str(ROOT / "deploy/sql/spread-logs.sh"), "b"],
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert expected in done.stdout
