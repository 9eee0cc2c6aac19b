"""The endpoints, over real tables."""

import pytest
import pytest_asyncio

from services.contracts.events.dice import Busted
from services.contracts.events.match import MatchEnded, MatchVoided, RoundStarted
from services.contracts.events.table import MatchRequested, PlayerJoined, TableClosed
from tests.projections.stories import START_MS, Story, a, player
from tests.projections.support import running

P1, P2, P3, P4 = (player(number) for number in range(1, 5))


@pytest_asyncio.fixture(loop_scope="session")
async def here(database):
    async with running(database) as app:
        yield app


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def empty(databases):
    async with databases.fresh() as url, running(url) as app:
        yield app


async def told(here, story):
    await here.tell(story.commands)
    return await here.caught_up()


def tables(count, story=None):
    story = story or Story()
    for number in range(1, count + 1):
        story.table(number, game=["dice-race", "cards-bank"][number % 2])
    return story


async def test_an_empty_lobby(empty):
    answer = await empty.get("/v1/lobby")
    assert answer.json() == {"items": [], "next": None, "position": 0}
    assert answer.headers["cache-control"] == "public, max-age=2"


async def test_a_table_on_the_board(here):
    story = Story()
    table = story.table(seats=3, turn_seconds=30)
    story.happen(table, PlayerJoined(2, P2, "-"))
    story.happen(table, MatchRequested(a("m", 1)))
    story.start(a("m", 1), P1, P2, table=table)
    story.happen(a("m", 1), RoundStarted(1, "round", (0, 1)))
    await here.name(1)
    await told(here, story)
    assert (await here.get("/v1/lobby")).json() == {
        "items": [
            {
                "id": table, "game": "dice-race", "options": {"target": 9},
                "seats": [
                    {"seat": 0, "player": P1, "name": "p1", "bot": None},
                    {"seat": 1, "player": None, "name": None, "bot": None},
                    {"seat": 2, "player": P2, "name": None, "bot": None},
                ],
                "seats_taken": 2, "host": P1, "state": "playing", "turn_seconds": 30, "rated": True,
                "match_id": a("m", 1),
                "match": {"id": a("m", 1), "state": "running", "round": 1, "started_at_ms": START_MS + 4000},
                "opened_at_ms": START_MS + 1000,
            }
        ],
        "next": None,
        "position": 5,
    }  # fmt: skip


async def test_lobby_filters_and_pages(here):
    story = tables(9)
    story.table(10, visibility="private")
    story.happen(a("t", 4), TableClosed("host"))
    story.happen(a("t", 6), MatchRequested(a("m", 1)))
    await told(here, story)

    async def ids(query):
        found, cursor = [], ""
        while True:
            page = (await here.get(f"/v1/lobby?limit=2{query}{cursor}")).json()
            assert len(page["items"]) <= 2
            found += [item["id"] for item in page["items"]]
            if page["next"] is None:
                return found
            cursor = f"&cursor={page['next']}"

    assert await ids("") == [a("t", number) for number in (9, 8, 7, 6, 5, 3, 2, 1)]
    assert await ids("&game=dice-race") == [a("t", number) for number in (8, 6, 2)]
    assert await ids("&state=playing") == [a("t", 6)]
    assert await ids("&game=dice-race&state=open") == [a("t", number) for number in (8, 2)]
    assert await ids("&game=chess") == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/lobby?cursor=nonsense", "/v1/lobby?cursor=WzFd", "/v1/lobby?cursor=", "/v1/lobby?cursor=%C3%A4",
        "/v1/lobby?limit=0", "/v1/lobby?limit=201", "/v1/lobby?limit=x", "/v1/lobby?state=closed",
        "/v1/lobby?cursor=" + "A" * 2000,
        "/v1/leaderboards/dice-race?cursor=WzFd",
        # [1e30,1,"p_1"], [9223372036854775808,1,"p_1"] and an id with a zero byte
        "/v1/leaderboards/dice-race?cursor=WzFlMzAsMSwicF8xIl0",
        "/v1/leaderboards/dice-race?cursor=WzkyMjMzNzIwMzY4NTQ3NzU4MDgsMSwicF8xIl0",
        "/v1/leaderboards/dice-race?cursor=WzEsMSwicF9cdTAwMDAiXQ",
        f"/v1/leaderboards/dice-race/players/{P1}?neighbours=21",
        f"/v1/players/{P1}/matches?cursor=WyJhIl0",
        "/v1/lobby/stream?after=-1", "/v1/lobby/stream?after=x", "/v1/lobby/stream?after=99999999999999999999",
    ],
)  # fmt: skip
async def test_malformed_queries(empty, path):
    answer = await empty.get(path)
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == "malformed-request"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/v1/leaderboards/No%20Game", "unknown-game"),
        ("/v1/leaderboards/a%00b", "unknown-game"),
        ("/v1/lobby?game=%00", "unknown-game"),
        (f"/v1/leaderboards/dice-race/players/{P1}", "not-found"),
        ("/v1/leaderboards/dice-race/players/p_1", "not-found"),
        ("/v1/leaderboards/dice-race/players/%00", "not-found"),
        ("/v1/players/x/matches", "not-found"),
        ("/v1/players/x/stats", "not-found"),
    ],
)
async def test_what_is_not_there(empty, path, code):
    answer = await empty.get(path)
    assert answer.status_code == 404, answer.text
    assert answer.json()["code"] == code


async def test_a_leaderboard(here):
    story = Story()
    story.play(a("m", 1), [P1, P2, P3], [1, 2, 3])
    story.play(a("m", 2), [P3, P4], [1, 1])
    await here.name(1, 2, 3)
    await told(here, story)
    answer = await here.get("/v1/leaderboards/dice-race")
    # The second match, a draw: 980 against 1000, K 40. E = 1 / (1 + 10 ** 0.05) = 0.47124...; 40 * 0.02875 = 1.150
    lines = [
        {"rank": 1, "player": P1, "name": "p1", "rating": 1020.0, "games": 1, "provisional": True},
        {"rank": 2, "player": P2, "name": "p2", "rating": 1000.0, "games": 1, "provisional": True},
        {"rank": 3, "player": P4, "name": None, "rating": 998.85, "games": 1, "provisional": True},
        {"rank": 4, "player": P3, "name": "p3", "rating": 981.15, "games": 2, "provisional": True},
    ]
    assert answer.json() == {"items": lines, "next": None}
    first = (await here.get("/v1/leaderboards/dice-race?limit=3")).json()
    second = (await here.get(f"/v1/leaderboards/dice-race?limit=3&cursor={first['next']}")).json()
    assert first["items"] + second["items"] == lines
    assert second["next"] is None
    standing = (await here.get(f"/v1/leaderboards/dice-race/players/{P2}?neighbours=1")).json()
    assert standing == {"player": lines[1], "above": lines[:1], "below": lines[2:3]}
    assert (await here.get("/v1/leaderboards/cards-bank")).json() == {"items": [], "next": None}


async def test_a_reader_who_has_it_gets_304(here):
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    await told(here, story)
    for path in (
        "/v1/leaderboards/dice-race",
        f"/v1/leaderboards/dice-race/players/{P1}",
        f"/v1/players/{P1}/matches",
    ):
        first = await here.get(path)
        tag = first.headers["etag"]
        again = await here.get(path, headers={"If-None-Match": f'"other", W/{tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    story.commands.clear()
    story.play(a("m", 2), [P1, P2], [1, 2])
    await told(here, story)
    changed = await here.get("/v1/leaderboards/dice-race", headers={"If-None-Match": tag})
    assert changed.status_code == 200


async def test_a_players_matches_and_figures(here):
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    story.play(a("m", 2), [P2, P1], [1, 2], visibility="private")
    end = story.play(a("m", 3), [P1, P2], [2, 1], game="cards-places", rated=False)
    story.start(a("m", 4), P1, P2)
    story.happen(a("m", 4), MatchVoided("ruled"))
    await here.name(1, 2)
    await told(here, story)
    page = (await here.get(f"/v1/players/{P1}/matches")).json()
    assert [(item["id"], item["status"], item["place"], item["rating"]) for item in page["items"]] == [
        (a("m", 4), "voided", None, None),
        (a("m", 3), "ended", 2, None),
        (a("m", 1), "ended", 1, {"before": 1000.0, "after": 1020.0}),
    ]
    item = page["items"][1]
    assert item["seats"] == [
        {"seat": 0, "player": P1, "name": "p1", "bot": None, "place": 2, "eliminated": False},
        {"seat": 1, "player": P2, "name": "p2", "bot": None, "place": 1, "eliminated": False},
    ]
    assert (item["rated"], item["visibility"], item["seat"]) == (False, "public", 0)
    assert item["ended_at_ms"] == story.records[end - 1].event.at_ms
    token = here.token(P1)
    mine = (await here.get(f"/v1/players/{P1}/matches", headers=token)).json()
    assert [item["id"] for item in mine["items"]] == [a("m", number) for number in (4, 3, 2, 1)]
    paged = (await here.get(f"/v1/players/{P1}/matches?limit=3", headers=token)).json()
    rest = (await here.get(f"/v1/players/{P1}/matches?limit=3&cursor={paged['next']}", headers=token)).json()
    assert paged["items"] + rest["items"] == mine["items"]
    assert len((await here.get(f"/v1/players/{P1}/matches", headers=here.token(P2))).json()["items"]) == 3
    statistics = (await here.get(f"/v1/players/{P1}/stats")).json()
    nothing = dict.fromkeys(
        ("busts", "calls", "catches", "caught", "stacked", "penalty_cards", "chips", "points"), 0
    )
    assert statistics == {
        "player": P1, "name": "p1",
        "items": [
            {
                "game": "cards-places", "matches": 1, "rated": 0, "wins": 0, "eliminated": 0,
                "rounds": 0, "rounds_won": 0, "places": {"2": 1}, "streak": 0, "streak_longest": 0, **nothing,
            },
            {
                "game": "dice-race", "matches": 1, "rated": 1, "wins": 1, "eliminated": 0,
                "rounds": 0, "rounds_won": 0, "places": {"1": 1}, "streak": 1, "streak_longest": 1, **nothing,
            },
        ],
    }  # fmt: skip


async def test_the_table_of_records(here):
    story = Story()
    story.start(a("m", 1), P1, P2)
    story.happen(a("m", 1), Busted(1))
    story.happen(a("m", 1), MatchEnded((1, 2)))
    story.play(a("m", 2), [P1, P3], [1, 2], game="cards-places", visibility="private")
    await here.name(1)
    await told(here, story)
    answer = await here.get("/v1/records")
    line = {
        "rank": 1, "value": 1, "game": "dice-race", "match": a("m", 1), "version": 2, "seat": 1,
        "players": [{"seat": 0, "player": P1, "name": "p1"}, {"seat": 1, "player": P2, "name": None}],
        "at_ms": START_MS + 3000,
    }  # fmt: skip
    busts, fastest = answer.json()["items"]
    assert busts == {
        "kind": "most-busts", "title": "Most busts of one player in a match", "unit": "times", "lines": [line],
    }  # fmt: skip
    assert fastest["kind"] == "fastest-match"
    assert fastest["lines"] == [{**line, "value": 2000, "version": 3, "seat": None}]
    assert answer.headers["cache-control"] == "public, max-age=2"
    assert (await here.get("/v1/records/dice-race")).json() == answer.json()
    assert (await here.get("/v1/records/cards-places")).json() == {"items": [], "next": None}
    assert (await here.get("/v1/records/No%20Game")).json()["code"] == "unknown-game"
    assert (await here.get("/v1/records?limit=51")).json()["code"] == "malformed-request"


async def test_boards_of_established_and_provisional_players(here):
    story = Story()
    for number in range(30):
        story.play(a("m", number), [P1, P2], [1, 1])
    story.play(a("m", 40), [P3, P4], [1, 2])
    await told(here, story)

    async def board(players):
        page = (await here.get(f"/v1/leaderboards/dice-race?players={players}")).json()
        return [(item["rank"], item["player"], item["provisional"]) for item in page["items"]]

    assert await board("established") == [(1, P1, False), (2, P2, False)]
    assert await board("provisional") == [(1, P3, True), (2, P4, True)]
    assert await board("all") == [(1, P3, True), (2, P1, False), (3, P2, False), (4, P4, True)]
    path = "/v1/leaderboards/dice-race/players"
    assert (await here.get(f"{path}/{P2}?players=established")).json()["player"]["rank"] == 2
    assert (await here.get(f"{path}/{P4}?players=established")).status_code == 404
    assert (await here.get("/v1/leaderboards/dice-race?players=some")).json()["code"] == "malformed-request"


async def test_the_projections_themselves(here):
    position = await told(here, tables(3))
    answer = await here.get("/v1/projections")
    items = answer.json()["items"]
    assert [item["name"] for item in items] == ["board", "leaderboards", "history", "records"]
    versions = {projection.NAME: projection.VERSION for projection in here.projections}
    for item in items:
        assert item == {
            "name": item["name"], "version": versions[item["name"]], "state": "running", "healthy": True,
            "position": position,
            "lag_positions": 0, "lag_seconds": 0.0, "parked": 0, "silent_seconds": item["silent_seconds"],
            "rebuild": None, "leader": None, "last_error": None, "dead_letters": None,
        }  # fmt: skip
        assert 0 <= item["silent_seconds"] < 15
    assert (await here.get("/health/ready")).json()["checks"]["projections"] == "ok"


async def test_lag_is_counted_in_events_and_seconds(here):
    await told(here, tables(3))
    async with here.platform.database.pool.acquire() as connection:
        await connection.execute(
            "UPDATE macao_log.subscriptions SET position = 1, event_hash = '\\x00', "
            "heartbeat_at = now() - interval '1 minute' WHERE name = 'history'"
        )
    item = (await here.get("/v1/projections")).json()["items"][2]
    assert (item["position"], item["lag_positions"], item["state"], item["healthy"]) == (
        1,
        2,
        "silent",
        False,
    )
    assert 0 < item["lag_seconds"] < 60


async def test_a_match_that_ends_is_off_the_board_when_its_table_says_so(here):
    story = Story()
    table = story.table()
    story.happen(table, MatchRequested(a("m", 1)))
    story.start(a("m", 1), P1, P2, table=table)
    story.happen(a("m", 1), MatchEnded((1, 2)))
    await told(here, story)
    (item,) = (await here.get("/v1/lobby?state=playing")).json()["items"]
    assert item["match"]["state"] == "ended"
