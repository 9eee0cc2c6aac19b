"""Several lobbies over one database, and a table followed over the network."""

import asyncio

from services.lobby.app import service as lobby
from tests.http.app import TurnableClock, app_of, client_of, settings_of
from tests.http.serving import served, stream_of
from tests.lobby.conftest import Lobby
from tests.lobby.fake_engine import FakeEngine
from tests.lobby.test_tables_http import until


async def test_two_lobbies_finish_each_match_once(database):
    engine = FakeEngine()
    settings = settings_of(database)
    apps = [app_of(settings, [engine.service, lobby]) for _ in range(2)]
    async with client_of(apps[0]) as one, client_of(apps[1]) as other:
        first, second = Lobby(one, engine, TurnableClock()), Lobby(other, engine, TurnableClock())
        ana, ben = await first.guest("Ana"), await second.guest("Ben")
        paths = []
        for _ in range(6):
            table = await first.table(ana)
            paths.append(f"/tables/{table['id']}")
            assert (await ben.post(f"{paths[-1]}/join", {})).status_code == 200
        for round_number in (1, 2):
            started = await asyncio.gather(*(ana.post(f"{path}/start") for path in paths))
            matches = [answer.json()["match_id"] for answer in started]
            await asyncio.gather(*(engine.end(match) for match in matches))

            async def all_open():
                shown = [(await ben.get(path)).json() for path in paths]
                return shown if all(table["state"] == "open" for table in shown) else None

            shown = await until(all_open)
            assert [table["match_id"] for table in shown] == matches
            assert len(engine.started) == 6 * round_number
        assert sorted(commitment.number for commitment in engine.committed.values()) == list(range(1, 19))
        types = [
            item.event.type for item in await engine.platform.log.read_stream(paths[0].rpartition("/")[2])
        ]
        assert types.count("match-finished") == types.count("match-requested") == 2


async def test_a_table_is_followed_from_its_beginning_to_a_rematch(database):
    engine = FakeEngine()
    async with served(database, [engine.service, lobby]) as site, client_of_url(site.url) as client:
        first = Lobby(client, engine, site.clock)
        ana, ben = await first.guest("Ana"), await first.guest("Ben")
        table = await first.table(ana)
        path = f"/tables/{table['id']}"
        async with stream_of(site.url, f"/v1{path}/stream") as reader:
            event, version, shown = await reader.next()
            assert (event, version) == ("snapshot", 3)
            assert shown == {**table, "invite_code": None}
            await ben.post(f"{path}/join", {"seed": "x"})
            event, version, change = await reader.next()
            assert (event, version, change["type"]) == ("change", 4, "player-joined")
            assert change["event"] == {"type": "player-joined", "seat": 1, "player": ben.id, "seed": "x"}
            assert change["table"]["seats"][1]["name"] == "Ben"
            match = (await ana.post(f"{path}/start")).json()["match_id"]
            await engine.end(match)
            told = [await reader.next() for _ in range(3)]
            assert [change["type"] for _, _, change in told] == [
                "match-requested",
                "match-finished",
                "commitment-published",
            ]
            assert [change["table"]["state"] for _, _, change in told] == ["playing", "open", "open"]
        async with stream_of(site.url, f"/v1{path}/stream?after=4") as reader:
            event, version, shown = await reader.next()
            assert (event, version, shown["state"]) == ("snapshot", 4, "open")
            assert [(await reader.next())[1] for _ in range(3)] == [5, 6, 7]


def client_of_url(url):
    import httpx

    return httpx.AsyncClient(base_url=url)
