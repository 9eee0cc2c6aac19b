"""The server as a process: what a signal does to it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.http.app import SECRET_KEY

PROGRAM = """
import sys
from services.runtime.settings import Settings
from services.runtime.web.app import create_app
from services.runtime.web.logs import configure_logging
from services.runtime.web.server import listen, server_of
from tests.http.demo import demo

settings = Settings.from_environment()
configure_logging(settings.log_level)
app = create_app(settings, [demo])
with listen("127.0.0.1", 0) as listener:
    print(listener.getsockname()[1], flush=True)
    server = server_of(app, settings)
    server.run([listener])
sys.exit(0 if server.started else 1)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_a_signal_ends_the_server_in_good_order_with_a_stream_open(database, number):
    environment = {
        **os.environ,
        "MACAO_DATABASE_URL": database,
        "MACAO_SECRET_KEY": SECRET_KEY,
        "MACAO_REDIS_URL": "",
    }
    with subprocess.Popen(  # noqa: ASYNC220 - its first line is waited for anyway
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[2],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            url = f"http://127.0.0.1:{process.stdout.readline().strip()}"
            async with httpx.AsyncClient(base_url=url, timeout=10) as client:
                async with client.stream("GET", "/v1/follow/t_none") as response:
                    assert response.status_code == 404
                from services.runtime.database import Database
                from services.runtime.log import EventLog
                from tests.http.app import settings_of
                from tests.http.demo import write

                async with Database(settings_of(database)) as connections, EventLog(connections) as log:
                    await write(log, "t_1", 1)
                async with client.stream(
                    "GET", "/v1/follow/t_1", headers={"X-Request-Id": "the-stream"}
                ) as response:
                    lines = response.aiter_lines()
                    assert [await anext(lines) for _ in range(3)] == ["retry: 1000", "", "event: snapshot"]
                    began = time.monotonic()
                    process.send_signal(number)
                    assert [line async for line in lines][-1] == ""
            _, told = process.communicate(timeout=10)
        finally:
            process.kill()
        assert process.returncode == 0, told
        assert time.monotonic() - began < 4
        assert "Traceback" not in told
        assert '"status":404' in told
