"""A lobby and an engine that die with SIGKILL in the middle of starting a match. Run as a script.

Arguments: the database's URL, the host's id, the table's id, the idempotency key, and the moment: ``before`` the engine
is asked, or ``after`` it has started the match and nobody has been told.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.lobby.engine import Engine
from services.runtime.web.request import PLATFORM
from tests.http.app import app_of, client_of, settings_of


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def main(database: str, host: str, table: str, key: str, moment: str) -> None:
    start = Engine.start

    async def start_and_die(self: Engine, requested: Any) -> None:
        if moment == "after":
            await start(self, requested)
        die()

    Engine.start = start_and_die  # type: ignore[method-assign]
    app = app_of(settings_of(database), [engine, lobby])
    async with client_of(app) as client:
        token = app.state[PLATFORM].tokens.access_token(host, frozenset({"play"}))
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": key}
        await client.post(f"/v1/tables/{table}/start", headers=headers)
    raise AssertionError("still alive")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
