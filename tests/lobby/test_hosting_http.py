"""What the host decides over HTTP: bots, handing over, removing, house rules; and races with those who sit there."""

import asyncio

import asyncpg
import pytest

from tests.lobby.test_tables_http import until


async def test_a_bot_sits_down_plays_unrated_and_is_sent_away(lobby_app, database):
    ana = await lobby_app.guest("Ana")
    table = await lobby_app.table(ana, seats=3)
    path = f"/tables/{table['id']}"
    seated = await ana.post(f"{path}/bots", {"level": "sharp", "seat": 2})
    assert seated.status_code == 200, seated.text
    bot = seated.json()["seats"][2]
    assert (bot["bot"], bot["player"][:2]) == ("sharp", "p_")
    assert bot["name"]
    assert not seated.json()["rated"]
    connection = await asyncpg.connect(database)
    kind = await connection.fetchval("SELECT kind FROM macao_runtime.players WHERE id = $1", bot["player"])
    assert kind == "bot"
    second = (await ana.post(f"{path}/bots", {"level": "casual"}, key="second")).json()
    assert second["seats"][1]["bot"] == "casual"
    assert second["seats"][1]["name"] != bot["name"]
    again = await ana.post(f"{path}/bots", {"level": "casual"}, key="second")
    assert (again.json(), again.headers["Idempotent-Replayed"]) == (second, "true")
    full = await ana.post(f"{path}/bots", {"level": "casual"})
    assert (full.status_code, full.json()["code"]) == (409, "table-full")
    assert await connection.fetchval("SELECT count(*) FROM macao_runtime.players WHERE kind = 'bot'") == 2
    await connection.close()

    away = (await ana.ask("DELETE", f"{path}/seats/1")).json()
    assert (away["seats"][1]["player"], away["rated"]) == (None, False)
    ben = await lobby_app.guest("Ben")
    await ben.post(f"{path}/join", {"seed": "luck"})
    match = (await ana.post(f"{path}/start")).json()["match_id"]
    request = lobby_app.engine.started[match]
    assert [(seat.player, seat.seed, seat.bot) for seat in request.seats] == [
        (ana.id, "-", None), (ben.id, "luck", None), (bot["player"], "-", "sharp"),
    ]  # fmt: skip
    assert not request.rated


@pytest.mark.parametrize("body", [{}, {"level": "perfect"}, {"level": "sharp", "seat": -1}, {"level": None}])
async def test_a_bot_has_a_level(lobby_app, body):
    ana = await lobby_app.guest()
    table = await lobby_app.table(ana)
    answer = await ana.post(f"/tables/{table['id']}/bots", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")


async def test_where_a_bot_has_sat_nothing_is_rated_any_more(lobby_app):
    """CP-9.1: also when the bot has left again, and whatever the settings say."""
    ana = await lobby_app.guest()
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    assert not (await ana.post(f"{path}/bots", {"level": "casual"})).json()["rated"]
    assert not (await ana.ask("DELETE", f"{path}/seats/1")).json()["rated"]
    assert not (await ana.ask("PATCH", path, {"rated": True})).json()["rated"]


async def test_a_table_with_nothing_but_bots_closes(lobby_app):
    ana = await lobby_app.guest()
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    await ana.post(f"{path}/bots", {"level": "casual"})
    assert (await ana.post(f"{path}/leave")).json()["state"] == "closed"


async def test_the_host_hands_over(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana, seats=3)
    path = f"/tables/{table['id']}"
    await ben.post(f"{path}/join", {})
    await ana.post(f"{path}/bots", {"level": "casual"})
    bot = (await ana.get(path)).json()["seats"][2]["player"]
    for player in (bot, ana.id, "p_nobody"):
        unfit = await ana.post(f"{path}/host", {"player": player})
        assert (unfit.status_code, unfit.json()["code"]) == (422, "host-unfit")
        assert unfit.json()["params"] == {"players": [ben.id]}
    stranger = await ben.post(f"{path}/host", {"player": ben.id})
    assert (stranger.status_code, stranger.json()["code"]) == (403, "not-host")
    assert (await ana.post(f"{path}/host", {"player": ben.id})).json()["host"] == ben.id
    late = await ana.ask("DELETE", f"{path}/seats/2")
    assert (late.status_code, late.json()["code"]) == (403, "not-host")
    assert (await ben.post(f"{path}/start")).status_code == 200


async def test_the_code_of_a_private_table_goes_to_the_new_host(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana, visibility="private")
    path = f"/tables/{table['id']}"
    await ben.post(f"{path}/join", {"invite_code": table["invite_code"]})
    await ana.post(f"{path}/host", {"player": ben.id})
    assert (await ana.get(path)).json()["invite_code"] is None
    assert (await ben.get(path)).json()["invite_code"] == table["invite_code"]


async def test_house_rules_are_never_rated(lobby_app):
    ana = await lobby_app.guest()
    table = await lobby_app.table(ana, options={"house": 1}, rated=True)
    path = f"/tables/{table['id']}"
    assert not table["rated"]
    assert not (await ana.ask("PATCH", path, {"rated": True})).json()["rated"]
    assert not (await ana.ask("PATCH", path, {"options": {}})).json()["rated"]
    assert (await ana.ask("PATCH", path, {"rated": True})).json()["rated"]
    assert not (await ana.ask("PATCH", path, {"options": {"house": 2}})).json()["rated"]


async def test_who_leaves_a_match_leaves_the_table(lobby_app):
    ana, ben, cat = [await lobby_app.guest(name) for name in ("Ana", "Ben", "Cat")]
    table = await lobby_app.table(ana, seats=3)
    path = f"/tables/{table['id']}"
    for player in (ben, cat):
        await player.post(f"{path}/join", {})
    match = (await ana.post(f"{path}/start")).json()["match_id"]
    await lobby_app.engine.end(match, left=(0, 2))

    async def is_open():
        shown = (await ben.get(path)).json()
        return shown if shown["state"] == "open" else None

    shown = await until(is_open)
    assert [seat["player"] for seat in shown["seats"]] == [None, ben.id, None]
    assert (shown["host"], shown["commitment_number"]) == (ben.id, 2)


async def test_a_table_that_everybody_left_in_the_match_closes(lobby_app):
    ana = await lobby_app.guest("Ana")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    await ana.post(f"{path}/bots", {"level": "casual"})
    match = (await ana.post(f"{path}/start")).json()["match_id"]
    await lobby_app.engine.end(match, left=(0,))

    async def is_closed():
        return (await ana.get(path)).json()["state"] == "closed"

    await until(is_closed)
    assert len(lobby_app.engine.committed) == 1, "no commitment is made that nobody would see"


async def test_spectators_watch_without_a_token(lobby_app):
    ana = await lobby_app.guest("Ana")
    table = await lobby_app.table(ana)
    seen = await lobby_app.client.get(f"/v1/tables/{table['id']}")
    assert (seen.status_code, seen.json()["seats"][0]["name"]) == (200, "Ana")


async def one_of(*asked):
    """Carry out at once; exactly one gets through, and the others get these codes."""
    answers = await asyncio.gather(*asked)
    assert [answer.is_success for answer in answers].count(True) == 1, [answer.text for answer in answers]
    return [answer.json()["code"] for answer in answers if not answer.is_success]


async def test_a_kick_against_a_join_for_the_seat_has_one_order(lobby_app):
    """The host removes Ben while Cat wants his seat: Cat has it or hears that it was taken, and Ben is out."""
    for _ in range(5):
        ana, ben, cat = [await lobby_app.guest(name) for name in ("Ana", "Ben", "Cat")]
        table = await lobby_app.table(ana)
        path = f"/tables/{table['id']}"
        await ben.post(f"{path}/join", {})
        kick, join = await asyncio.gather(
            ana.ask("DELETE", f"{path}/seats/1"), cat.post(f"{path}/join", {"seat": 1})
        )
        seat = (await ana.get(path)).json()["seats"][1]["player"]
        assert kick.status_code == 200 or (kick.status_code, join.status_code) == (200, 409)
        if join.is_success:
            # Had the join come first, the seat was taken: so the kick was first, and nobody kicked Cat.
            assert seat == cat.id
        else:
            assert (join.status_code, seat) == (409, None)
            assert join.json()["code"] in {"seat-taken", "table-full"}


async def test_a_kick_against_leaving_frees_the_seat_once(lobby_app):
    for _ in range(5):
        ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
        table = await lobby_app.table(ana)
        path = f"/tables/{table['id']}"
        await ben.post(f"{path}/join", {})
        codes = await one_of(ana.ask("DELETE", f"{path}/seats/1"), ben.post(f"{path}/leave"))
        assert codes in (["seat-free"], ["not-seated"])


async def test_a_bot_and_a_person_for_one_seat_have_one_winner(lobby_app):
    for _ in range(5):
        ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
        table = await lobby_app.table(ana)
        path = f"/tables/{table['id']}"
        codes = await one_of(
            ana.post(f"{path}/bots", {"level": "casual", "seat": 1}), ben.post(f"{path}/join", {"seat": 1})
        )
        assert set(codes) <= {"seat-taken", "table-full"}


async def test_handing_over_against_a_start_has_one_order(lobby_app):
    for _ in range(5):
        ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
        table = await lobby_app.table(ana)
        path = f"/tables/{table['id']}"
        await ben.post(f"{path}/join", {})
        codes = await one_of(ana.post(f"{path}/host", {"player": ben.id}), ana.post(f"{path}/start"))
        assert codes in (["match-running"], ["not-host"])


async def test_settings_against_a_start_have_one_order(lobby_app):
    """What the match is played by is what the table said when it started."""
    for _ in range(5):
        ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
        table = await lobby_app.table(ana)
        path = f"/tables/{table['id']}"
        await ben.post(f"{path}/join", {})
        changed, started = await asyncio.gather(
            ana.ask("PATCH", path, {"options": {"target": 21}}), ana.post(f"{path}/start")
        )
        assert started.status_code == 200
        played = lobby_app.engine.started[started.json()["match_id"]].options
        assert played == ({"target": 21} if changed.is_success else {"target": 9})
