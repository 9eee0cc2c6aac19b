"""Event stores of other people: the eventsourcing library and message-db, each driven as fast as it goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import asyncpg

from bench.append.contenders import BODY, CAUSE
from bench.append.pgbench import measure_pgbench
from bench.installing import NotToBeHadError, python_with
from bench.node import installed

HERE: Final = Path(__file__).parent
PINS: Final = HERE / "eventsourcing.txt"
DRIVER: Final = HERE / "eventsourcing_driver.py"
PROJECT: Final = HERE / "message_db"
WRITERS_MAX: Final = 16
"""More threads than these make the eventsourcing library slower."""
START_SECONDS_MAX: Final = 60.0

MESSAGE_DB_FILES: Final = (
    "schema/message-store",
    "tables/messages",
    "types/message",
    *(
        f"functions/{name}"
        for name in (
            "message-store-version", "hash-64", "acquire-lock", "category", "is-category", "id", "cardinal-id",
            "stream-version", "write-message",
        )
    ),
    "indexes/messages-id",
    "indexes/messages-stream",
    "indexes/messages-category",
)  # fmt: skip
"""What its own installer runs, in its order, but for pgcrypto (of which nothing is used here) and what only reads."""

MESSAGE_DB_SCRIPT: Final = f"""
SELECT message_store.write_message(gen_random_uuid()::varchar, 'match-' || :client_id, 'rolled',
'{BODY.decode()}'::jsonb, '{CAUSE.decode()}'::jsonb);
"""
"""Each client has a stream; all streams are of one category, as one total order takes it."""

Measure = Callable[[str, int, float], Awaitable[float]]
"""Writes to a database, with so many callers, for so many seconds; returns the events a second."""


class Eventsourcing:
    """The library in a Python of its own.

    Raises:
        NotToBeHadError: it cannot be installed.
    """

    def __init__(self) -> None:
        self._python = python_with(PINS)

    async def prepare(self, database_url: str) -> None:
        """Make its schema."""
        connection: asyncpg.Connection[Any] = await asyncpg.connect(database_url)
        await connection.execute("CREATE SCHEMA IF NOT EXISTS eventsourcing")
        await connection.close()

    async def measure(self, database_url: str, callers: int, seconds: float) -> float:
        """Write with as many threads, but no more than are good for it."""
        parts = urlsplit(database_url)
        process = await asyncio.create_subprocess_exec(
            str(self._python), "-P", str(DRIVER), str(min(callers, WRITERS_MAX)), str(seconds),
            env={
                "PGHOST": parts.hostname or "", "PGPORT": str(parts.port), "PGUSER": unquote(parts.username or ""),
                "PGPASSWORD": unquote(parts.password or ""), "PGDATABASE": parts.path.lstrip("/"),
            },
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(seconds * 10 + START_SECONDS_MAX):
            output, errors = await process.communicate(BODY)
        if process.returncode:
            raise RuntimeError(f"eventsourcing failed: {errors.decode(errors='replace')[-2000:]}")
        told = json.loads(output)
        return float(told["events"] / told["seconds"])


class MessageDb:
    """Its functions in PostgreSQL, called by pgbench.

    Args:
        pgbench: the program.

    Raises:
        NotToBeHadError: they cannot be installed, or there is no pgbench.
    """

    def __init__(self, pgbench: Path | None) -> None:
        if pgbench is None:
            raise NotToBeHadError("there is no pgbench here")
        self._pgbench = pgbench
        self._files = installed(PROJECT).packages / "@eventide/message-db/database"

    async def prepare(self, database_url: str) -> None:
        """Make its schema, as its installer does."""
        connection: asyncpg.Connection[Any] = await asyncpg.connect(database_url)
        await connection.execute("SET search_path = message_store, public; SET client_min_messages = warning")
        for name in MESSAGE_DB_FILES:
            await connection.execute((self._files / f"{name}.sql").read_text("utf-8"))
        await connection.close()

    async def measure(self, database_url: str, callers: int, seconds: float) -> float:
        """Write with as many clients."""
        return await measure_pgbench(
            self._pgbench,
            database_url,
            callers,
            seconds,
            MESSAGE_DB_SCRIPT,
            "-c search_path=message_store,public",
        )
