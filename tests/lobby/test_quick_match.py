"""Quick match: strangers sit together at once, nobody is left hanging, and no table is over-full."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.lobby.tables.bots import NAMES
from services.lobby.tables.filling import ALONE_MS, COMPANY_MS
from tests.http.app import TurnableClock, app_of, client_of, settings_of
from tests.lobby.people import people
from tests.lobby.test_tables_http import until

QUICK = "/quick-match"
GAME = {"game": "dice-race"}


async def strangers(lobby_app, count):
    return [await lobby_app.guest(f"Stranger {number}") for number in range(count)]


def seated(table):
    return [seat["player"] for seat in table["seats"] if seat["player"]]


async def state_of(guest, table, state):
    async def reached():
        shown = (await guest.get(f"/tables/{table['id']}")).json()
        return shown if shown["state"] == state else None

    return await until(reached)


async def test_two_strangers_sit_together_and_play_after_a_moment(lobby_app):
    ana, ben = await strangers(lobby_app, 2)
    first = await ana.post(QUICK, {**GAME, "seed": "a"})
    assert first.status_code == 200, first.text
    table = first.json()
    assert (table["filling"], len(table["seats"]), table["turn_seconds"], table["rated"]) == (
        True,
        4,
        30,
        True,
    )
    assert (table["visibility"], table["options"], table["host"]) == ("public", {"target": 9}, ana.id)
    assert first.headers["Location"] == f"/v1/tables/{table['id']}"
    second = (await ben.post(QUICK, {**GAME, "seed": "b"})).json()
    assert (second["id"], seated(second), second["state"]) == (table["id"], [ana.id, ben.id], "open")
    lobby_app.clock.forward_ms += COMPANY_MS
    playing = await state_of(ana, table, "playing")
    assert (seated(playing), len(playing["seats"]), playing["filling"]) == ([ana.id, ben.id], 2, False)

    async def begun():
        return lobby_app.engine.started.get(playing["match_id"])

    request = await until(begun)
    assert [seat.seed for seat in request.seats] == ["-", "b"], "the first came before the commitment"
    assert request.rated and request.turn_seconds == 30


async def test_who_opened_the_table_gives_a_seed_afterwards(lobby_app):
    ana, *others = await strangers(lobby_app, 4)
    table = (await ana.post(QUICK, GAME)).json()
    await ana.ask("PUT", f"/tables/{table['id']}/seed", {"seed": "aa"})
    for guest in others:
        table = (await guest.post(QUICK, {**GAME, "seed": "cc"})).json()
    assert table["state"] == "playing"
    seeds = [seat.seed for seat in lobby_app.engine.started[table["match_id"]].seats]
    assert seeds == ["aa", "cc", "cc", "cc"]


async def test_a_full_table_starts_at_once(lobby_app):
    tables = [(await guest.post(QUICK, GAME)).json() for guest in await strangers(lobby_app, 4)]
    assert len({table["id"] for table in tables}) == 1
    assert [table["state"] for table in tables] == ["open", "open", "open", "playing"]
    assert tables[-1]["match_id"] in lobby_app.engine.started
    fifth = (await (await lobby_app.guest()).post(QUICK, GAME)).json()
    assert fifth["id"] != tables[0]["id"]


async def test_who_takes_the_last_seat_by_the_list_starts_it_as_well(lobby_app):
    ana, ben, cat, dan = await strangers(lobby_app, 4)
    for guest in (ana, ben, cat):
        table = (await guest.post(QUICK, GAME)).json()
    joined = (await dan.post(f"/tables/{table['id']}/join", {})).json()
    assert (joined["state"], joined["match_id"] in lobby_app.engine.started) == ("playing", True)


async def test_somebody_alone_is_joined_by_a_bot(lobby_app):
    (ana,) = await strangers(lobby_app, 1)
    table = (await ana.post(QUICK, GAME)).json()
    lobby_app.clock.forward_ms += COMPANY_MS * 2
    await asyncio.sleep(0.8)
    assert (await ana.get(f"/tables/{table['id']}")).json()["state"] == "open"
    lobby_app.clock.forward_ms += ALONE_MS
    playing = await state_of(ana, table, "playing")
    assert [seat["bot"] for seat in playing["seats"]] == [None, "casual"]
    assert playing["seats"][1]["name"] in NAMES
    assert not playing["rated"]

    async def begun():
        return lobby_app.engine.started.get(playing["match_id"])

    assert not (await until(begun)).rated


async def test_a_gap_is_closed_before_the_start(lobby_app):
    ana, ben, cat = await strangers(lobby_app, 3)
    for guest in (ana, ben, cat):
        table = (await guest.post(QUICK, GAME)).json()
    await ana.post(f"/tables/{table['id']}/leave")
    lobby_app.clock.forward_ms += COMPANY_MS
    playing = await state_of(ben, table, "playing")
    assert (seated(playing), len(playing["seats"]), playing["host"]) == ([ben.id, cat.id], 2, ben.id)


async def test_the_host_may_start_as_soon_as_there_are_enough(lobby_app):
    ana, ben = await strangers(lobby_app, 2)
    table = (await ana.post(QUICK, GAME)).json()
    early = await ana.post(f"/tables/{table['id']}/start")
    assert (early.status_code, early.json()["code"]) == (409, "seats-empty")
    await ben.post(QUICK, GAME)
    started = await ana.post(f"/tables/{table['id']}/start")
    assert (started.status_code, started.json()["match_id"] in lobby_app.engine.started) == (200, True)


async def test_nobody_is_removed_and_nothing_is_changed_while_it_fills(lobby_app):
    ana, ben = await strangers(lobby_app, 2)
    table = (await ana.post(QUICK, GAME)).json()
    await ben.post(QUICK, GAME)
    path = f"/tables/{table['id']}"
    for method, tail, body in (
        ("DELETE", "/seats/1", None), ("PATCH", "", {"rated": False}), ("POST", "/bots", {"level": "sharp"}),
        ("POST", "/host", {"player": ben.id}),
    ):  # fmt: skip
        refused = await ana.ask(method, path + tail, body)
        assert (refused.status_code, refused.json()["code"]) == (409, "quick-match-filling")


async def test_a_retry_and_a_second_request_keep_the_seat(lobby_app):
    ana, ben = await strangers(lobby_app, 2)
    first = await ana.post(QUICK, GAME, key="quick")
    again = await ana.post(QUICK, GAME, key="quick")
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (first.json(), "true")
    other = await ana.post(QUICK, GAME)
    assert (other.status_code, other.json()["id"], seated(other.json())) == (
        200,
        first.json()["id"],
        [ana.id],
    )
    reused = await ana.post(QUICK, {**GAME, "seed": "x"}, key="quick")
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency-key-reused")
    at_once = await asyncio.gather(*(ben.post(QUICK, GAME, key="ben") for _ in range(5)))
    assert {(answer.status_code, answer.json()["id"]) for answer in at_once} == {(200, first.json()["id"])}
    assert seated((await ana.get(f"/tables/{first.json()['id']}")).json()) == [ana.id, ben.id]


async def test_who_left_may_ask_again(lobby_app):
    ana, ben = await strangers(lobby_app, 2)
    table = (await ana.post(QUICK, GAME)).json()
    await ben.post(QUICK, GAME)
    await ana.post(f"/tables/{table['id']}/leave")
    back = (await ana.post(QUICK, GAME)).json()
    assert (back["id"], sorted(seated(back))) == (table["id"], sorted([ana.id, ben.id]))


async def test_after_a_match_a_new_request_is_a_new_table(lobby_app):
    four = await strangers(lobby_app, 4)
    for guest in four:
        table = (await guest.post(QUICK, GAME)).json()
    await lobby_app.engine.end(table["match_id"], left=(0,))
    other = (await four[0].post(QUICK, GAME)).json()
    assert other["id"] != table["id"]


async def test_the_last_seat_at_somebodys_table_fits_and_starts(lobby_app):
    ana, ben, cat = await strangers(lobby_app, 3)
    table = await lobby_app.table(ana)

    async def listed():
        return (await ana.get("/tables")).json()["items"]

    await until(listed)
    sat = (await ben.post(QUICK, GAME)).json()
    assert (sat["id"], sat["state"], seated(sat)) == (table["id"], "playing", [ana.id, ben.id])
    assert sat["match_id"] in lobby_app.engine.started
    assert (await cat.post(QUICK, GAME)).json()["id"] != table["id"]


@pytest.mark.parametrize(
    "settings",
    [{"options": {"target": 11}}, {"visibility": "private"}, {"rated": False}, {"seats": 3}],
    ids=lambda settings: next(iter(settings)),
)
async def test_other_tables_do_not_fit(lobby_app, settings):
    ana, ben, cat = await strangers(lobby_app, 3)
    unfit = await lobby_app.table(ana, **settings)
    with_bot = await lobby_app.table(cat, seats=3)
    await cat.post(f"/tables/{with_bot['id']}/bots", {"level": "casual"})
    await asyncio.sleep(0.5)
    sat = (await ben.post(QUICK, GAME)).json()
    assert sat["id"] not in {unfit["id"], with_bot["id"]}
    assert sat["filling"]


@pytest.mark.parametrize("game", ["whist", "", "../matches", "dice-race/rules", "Dice", "x" * 64])
async def test_an_unknown_game_is_said_to_be_one(lobby_app, game):
    ana = await lobby_app.guest()
    answer = await ana.post(QUICK, {"game": game})
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown-game")


async def test_a_seat_that_was_promised_in_vain_is_handed_out_again(lobby_app):
    """Whoever was to open a table, or to sit there, has died: others are not kept waiting for it."""
    from services.lobby.tables.quick import QuickMatch

    quick = lobby_app.client._transport.app.state["provided"][QuickMatch]
    ana, ben = await strangers(lobby_app, 2)
    await quick._database.pool.execute(
        "INSERT INTO macao_lobby.quick_tables (id, game, seats, promised)"
        " VALUES ('t_01KB9Y00000000000000000000', 'dice-race', 4, 1)"
    )
    answers = await asyncio.gather(ana.post(QUICK, GAME), ben.post(QUICK, GAME))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["id"] for answer in answers}) == 1


async def test_free_seats_are_found_again_on_the_board(lobby_app):
    from services.lobby.tables.quick import QuickMatch

    quick = lobby_app.client._transport.app.state["provided"][QuickMatch]
    ana, ben = await strangers(lobby_app, 2)
    table = (await ana.post(QUICK, GAME)).json()
    pool = quick._database.pool
    await pool.execute("DELETE FROM macao_lobby.quick_tables")

    async def found():
        await pool.execute("SELECT macao_lobby.tidy_quick_tables(10, 60)")
        return await pool.fetchval("SELECT promised FROM macao_lobby.quick_tables WHERE id = $1", table["id"])

    assert await until(found) == 1
    assert (await ben.post(QUICK, GAME)).json()["id"] == table["id"]


@asynccontextmanager
async def two_lobbies(database, redis_url):
    """Two processes' worth of lobby and engine over one database."""
    clock = TurnableClock()
    async with AsyncExitStack() as stack:
        apps = [app_of(settings_of(database, redis_url), [engine, lobby], clock) for _ in range(2)]
        clients = [await stack.enter_async_context(client_of(app)) for app in apps]
        yield apps, clients, clock


@pytest.mark.slow
async def test_two_who_ask_two_lobbies_at_the_same_moment_meet(database, redis_url):
    async with two_lobbies(database, redis_url) as (apps, clients, _):
        ana, ben = await people(apps[0], clients[0], 1) + await people(apps[1], clients[1], 1)
        for game in ("dice-race", "dice-bank", "cards-bank", "cards-points", "cards-places"):
            asked = [guest.post(QUICK, {"game": game}) for guest in (ana, ben)]
            # A second is what is promised; the rest is for a machine that is busy with other tests.
            async with asyncio.timeout(5):
                tables = [answer.json() for answer in await asyncio.gather(*asked)]
            assert tables[0]["id"] == tables[1]["id"]
            assert {ana.id, ben.id} in [set(seated(table)) for table in tables]


@pytest.mark.slow
@pytest.mark.parametrize(("game", "askers"), [("dice-race", 200), ("cards-places", 201)])
async def test_hundreds_at_once_all_sit_and_play(database, redis_url, game, askers):
    async with two_lobbies(database, redis_url) as (apps, clients, clock), asyncio.timeout(90):
        split = (askers + 1) // 2
        guests = await people(apps[0], clients[0], split) + await people(apps[1], clients[1], askers - split)
        answers = await asyncio.gather(*(guest.post(QUICK, {"game": game}) for guest in guests))
        assert {answer.status_code for answer in answers} == {200}
        tables = {answer.json()["id"] for answer in answers}
        for guest, answer in zip(guests, answers, strict=True):
            assert guest.id in seated(answer.json())

        async def all_playing():
            shown = [(await clients[0].get(f"/v1/tables/{table}")).json() for table in tables]
            return shown if all(table["state"] == "playing" for table in shown) else None

        # Whoever is not at a full table waits for the company's time, and a last one for a bot.
        clock.forward_ms += ALONE_MS + COMPANY_MS
        shown = await until(all_playing, 60)
        sizes = Counter(len(table["seats"]) for table in shown)
        assert all(2 <= size <= 4 for size in sizes), sizes
        persons = [seat["player"] for table in shown for seat in table["seats"] if seat["bot"] is None]
        assert sorted(persons) == sorted(guest.id for guest in guests), "everybody sits, and nobody twice"
        bots = sum(seat["bot"] is not None for table in shown for seat in table["seats"])
        assert bots == (askers % 4 == 1), "only a last one, who would be alone, plays with a bot"
        await check_matches(clients[1], shown)


async def check_matches(client, tables):
    """Each table has one match, and in it sit those who sit at the table."""
    assert len({table["match_id"] for table in tables}) == len(tables)
    for table in tables:

        async def started(match=table["match_id"]):
            answer = await client.get(f"/v1/matches/{match}")
            return answer.json() if answer.status_code == 200 else None

        match = await until(started)
        assert [seat["player"] for seat in match["seats"]] == seated(table)
        assert match["clock"]["turn_seconds"] == 30
