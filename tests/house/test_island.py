"""The island test: contracts, runtime and one service, copied alone, migrate and start."""

import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from services.cli.embedded.ports import free_port
from tests.support.up import ROOT

START = """
import asyncio, sys
from services.runtime.migrate import migrate
from services.runtime.settings import Settings
from services.runtime.web.app import create_app
from services.runtime.web.server import listen, server_of
from services.{name}.app import service

settings = Settings.from_environment()
asyncio.run(migrate(settings.database_url))
server = server_of(create_app(settings, [service]), settings)
server.run([listen(settings.host, settings.port)])
"""


@pytest.fixture
async def empty_database(postgres_url: str) -> Iterator[str]:
    """A database in which nothing has been migrated."""
    name = f"macao_island_{uuid4().hex[:12]}"
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(f"CREATE DATABASE {name}")
    yield postgres_url.rsplit("/", 1)[0] + f"/{name}"
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


@pytest.mark.parametrize("name", ["engine", "lobby", "projections", "web"])
def test_a_service_starts_alone(name: str, tmp_path: Path, empty_database: str, redis_url: str) -> None:
    island = tmp_path / "island" / "services"
    island.mkdir(parents=True)
    shutil.copy(ROOT / "services/__init__.py", island)
    for package in ("contracts", "runtime", name):
        shutil.copytree(
            ROOT / "services" / package, island / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(island.parent),
        "MACAO_DATABASE_URL": empty_database,
        "MACAO_REDIS_URL": redis_url,
        "MACAO_SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "MACAO_PORT": str(port),
    }
    with (tmp_path / "output").open("w+") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", START.format(name=name)],
            cwd=tmp_path, env=environment, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            assert ready(port, process), (tmp_path / "output").read_text()
        finally:
            process.terminate()
            assert process.wait(20) in (0, -15), (tmp_path / "output").read_text()


def ready(port: int, process: subprocess.Popen[bytes]) -> bool:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/ready", timeout=5) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            time.sleep(0.1)
    return False
