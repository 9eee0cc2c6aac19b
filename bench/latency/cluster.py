"""The services as processes of their own, so that nothing but the doorbell between processes can be quick."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx
from msgspec import Struct

from services.cli.embedded.ports import free_port

ROOT: Final = Path(__file__).resolve().parents[2]
START_SECONDS: Final = 60.0


class Cluster(Struct, frozen=True):
    """Where the services answer: moves go to one engine, spectators watch at the other."""

    engine: str
    watched: str
    lobby: str
    projections: str


@asynccontextmanager
async def cluster(
    database_url: str, redis_url: str, poll_seconds: float, output: Path
) -> AsyncIterator[Cluster]:
    """Start two engines, a lobby and the projections; stop them at the end."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "MACAO_DATABASE_URL": database_url,
        "MACAO_REDIS_URL": redis_url,
        "MACAO_SECRET_KEY": "A" * 43,
        "MACAO_POLL_SECONDS": str(poll_seconds),
        "MACAO_BOTS": "false",
        "MACAO_LOG_LEVEL": "warning",
    }
    ports = {name: free_port() for name in ("engine", "watched", "lobby", "projections")}
    urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
    processes: list[subprocess.Popen[bytes]] = []
    with output.open("ab") as log:
        for name, port in ports.items():
            more = {"MACAO_ENGINE_URL": urls["engine"]} if name == "lobby" else {}
            service = "engine" if name == "watched" else name
            processes.append(
                subprocess.Popen(  # noqa: ASYNC220 - before anything is measured
                    [sys.executable, "-P", "-m", "services.cli", "serve", service, "--port", str(port)],
                    env={**environment, **more}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                )
            )  # fmt: skip
    try:
        async with httpx.AsyncClient(timeout=5) as http:
            for url in urls.values():
                await _ready(http, url)
        yield Cluster(**urls)
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _ready(http: httpx.AsyncClient, url: str) -> None:
    async with asyncio.timeout(START_SECONDS):
        while True:
            try:
                if (await http.get(f"{url}/health/ready")).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            await asyncio.sleep(0.1)
