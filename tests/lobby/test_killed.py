"""A match is started exactly once, also when the process that starts it is killed between the two steps."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.runtime.web.request import PLATFORM
from tests.http.app import app_of, client_of, settings_of
from tests.lobby.people import people
from tests.lobby.test_tables_http import until

DYING = Path(__file__).with_name("dying_lobby.py")
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_a_lobby_that_is_killed_while_it_starts_a_match(database, moment):
    app = app_of(settings_of(database), [engine, lobby])
    async with client_of(app) as client:
        log = app.state[PLATFORM].log
        ana, ben = await people(app, client, 2)
        table = (await ana.post("/tables", {"game": "dice-race", "seats": 2})).json()
        path = f"/tables/{table['id']}"
        await ben.post(f"{path}/join", {"seed": "luck"})
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(DYING), database, ana.id, table["id"], "start", moment
        )
        async with asyncio.timeout(60):
            assert await process.wait() == -signal.SIGKILL

        shown = (await ben.get(path)).json()
        assert (shown["state"], shown["match_id"]) == ("playing", table["next_match_id"])

        async def begun():
            answer = await ben.get(f"/matches/{table['next_match_id']}")
            return answer.json() if answer.status_code == 200 else None

        # Nobody asks again: the lobby that lives makes up for it.
        view = await until(begun, 20)
        assert [seat["player"] for seat in view["seats"]] == [ana.id, ben.id]
        again = await ana.post(f"{path}/start", key="start")
        assert again.json() == {"match_id": table["next_match_id"]}
        assert again.headers["Idempotent-Replayed"] == "true"
        twice = await ana.post(f"{path}/start")
        assert (twice.status_code, twice.json()["code"]) == (409, "match-running")
        events = [recorded.event.type for recorded in await log.read_all(0)]
        assert events.count("match-requested") == events.count("match-started") == 1
