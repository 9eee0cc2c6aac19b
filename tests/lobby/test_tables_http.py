import asyncio

import pytest


async def until(condition, seconds=10.0):
    async with asyncio.timeout(seconds):
        while not (found := await condition()):
            await asyncio.sleep(0.02)
        return found


async def test_a_table_is_opened_joined_and_started(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    assert table["host"] == ana.id
    assert table["seats"][0] == {"seat": 0, "player": ana.id, "name": "Ana", "bot": None}
    assert table["seats"][1] == {"seat": 1, "player": None, "name": None, "bot": None}
    assert (table["state"], table["match_id"], table["options"]) == ("open", None, {"target": 9})
    assert table["commitment"] and table["commitment_number"] == 1 and table["next_match_id"].startswith("m_")

    joined = await ben.post(f"/tables/{table['id']}/join", {"seed": "lucky-7"})
    assert joined.status_code == 200, joined.text
    assert joined.json()["seats"][1]["name"] == "Ben"
    assert joined.headers["ETag"] == f'"{joined.json()["version"]}"'
    started = await ana.post(f"/tables/{table['id']}/start")
    assert started.status_code == 200, started.text
    assert started.json() == {"match_id": table["next_match_id"]}
    request = lobby_app.engine.started[table["next_match_id"]]
    assert [(seat.player, seat.seed) for seat in request.seats] == [(ana.id, "-"), (ben.id, "lucky-7")]
    shown = (await ben.get(f"/tables/{table['id']}")).json()
    assert (shown["state"], shown["match_id"], shown["next_match_id"]) == (
        "playing",
        table["next_match_id"],
        None,
    )


async def test_a_rematch_has_a_new_commitment_and_no_old_seeds(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    await ben.post(f"{path}/join", {"seed": "old"})
    first = (await ana.post(f"{path}/start")).json()["match_id"]
    await lobby_app.engine.end(first)

    async def is_open():
        shown = (await ana.get(path)).json()
        return shown if shown["state"] == "open" else None

    shown = await until(is_open)
    assert shown["match_id"] == first
    assert shown["commitment_number"] == 2
    second = (await ana.post(f"{path}/start")).json()["match_id"]
    assert second == shown["next_match_id"] != first
    assert [seat.seed for seat in lobby_app.engine.started[second].seats] == ["-", "-"]


@pytest.mark.parametrize("code", ["unavailable"])
async def test_a_start_that_the_engine_did_not_answer_is_made_up_for(lobby_app, code):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    await ben.post(f"{path}/join", {})
    lobby_app.engine.refuse, lobby_app.engine.refusals = code, 5
    refused = await ana.post(f"{path}/start", key="start")
    assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")

    async def is_started():
        return table["next_match_id"] in lobby_app.engine.started

    await until(is_started)
    again = await ana.post(f"{path}/start", key="start")
    assert again.json() == {"match_id": table["next_match_id"]}
    assert again.headers["Idempotent-Replayed"] == "true"
    assert len(lobby_app.engine.started) == 1


async def test_of_many_who_want_one_seat_one_gets_it(lobby_app):
    ana = await lobby_app.guest()
    others = [await lobby_app.guest(f"Racer {number}") for number in range(12)]
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}/join"
    answers = await asyncio.gather(*(other.post(path, {"seat": 1}) for other in others))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 11
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {
        "seat-taken",
        "table-full",
    }
    shown = (await ana.get(f"/tables/{table['id']}")).json()
    winner = next(other for other, answer in zip(others, answers, strict=True) if answer.status_code == 200)
    assert shown["seats"][1]["player"] == winner.id


async def test_everybody_who_fits_gets_a_seat(lobby_app):
    ana = await lobby_app.guest()
    others = [await lobby_app.guest(f"Racer {number}") for number in range(8)]
    table = await lobby_app.table(ana, seats=6)
    answers = await asyncio.gather(*(other.post(f"/tables/{table['id']}/join", {}) for other in others))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [409] * 3


async def test_start_and_leave_at_once_have_one_winner(lobby_app):
    for _ in range(5):
        ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
        table = await lobby_app.table(ana)
        path = f"/tables/{table['id']}"
        await ben.post(f"{path}/join", {})
        start, again, leave = await asyncio.gather(
            ana.post(f"{path}/start"), ana.post(f"{path}/start"), ben.post(f"{path}/leave")
        )
        assert sorted([start.status_code, again.status_code, leave.status_code]) == [200, 409, 409]
        if leave.status_code == 409:
            assert leave.json()["code"] == "match-running"
    assert lobby_app.engine.asked_to_start == len(lobby_app.engine.started)


async def test_a_retry_gets_the_first_answer_whatever_happened_since(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    first = await ben.post(f"{path}/join", {}, key="join-1")
    await ben.post(f"{path}/leave")
    again = await ben.post(f"{path}/join", {}, key="join-1")
    assert again.json() == first.json()
    assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
    assert "Idempotent-Replayed" not in first.headers
    assert (await ana.get(path)).json()["seats"][1]["player"] is None
    other = await ben.post(f"{path}/join", {"seat": 1}, key="join-1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")


async def test_the_same_command_sent_many_times_at_once_happens_once(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    opened = await asyncio.gather(
        *(ana.post("/tables", {"game": "dice-race", "seats": 2}, key="open") for _ in range(6))
    )
    assert {answer.status_code for answer in opened} == {201}
    assert len({answer.json()["id"] for answer in opened}) == 1
    path = f"/tables/{opened[0].json()['id']}"
    joined = await asyncio.gather(*(ben.post(f"{path}/join", {}, key="join") for _ in range(6)))
    assert {answer.status_code for answer in joined} == {200}
    assert len({answer.text for answer in joined}) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", ""), ("PATCH", "/{t}"), ("POST", "/{t}/join"), ("POST", "/{t}/leave"), ("PUT", "/{t}/seed"),
     ("DELETE", "/{t}/seats/0"), ("POST", "/{t}/start")],
)  # fmt: skip
async def test_every_write_needs_a_key_and_a_token(lobby_app, method, path):
    ana = await lobby_app.guest()
    table = await lobby_app.table(ana)
    bodies = {"": {"game": "dice-race", "seats": 2}, "/{t}/seed": {"seed": "x"}}
    body = None if path.rsplit("/", 1)[-1] in {"leave", "start", "0"} else bodies.get(path, {})
    url = f"/v1/tables{path.format(t=table['id'])}"
    bearer = {"Authorization": f"Bearer {ana.token}"}
    keyless = await lobby_app.client.request(method, url, json=body, headers=bearer)
    assert (keyless.status_code, keyless.json()["code"]) == (400, "idempotency-key-missing")
    nobody = await lobby_app.client.request(method, url, json=body, headers={"Idempotency-Key": "k"})
    assert (nobody.status_code, nobody.json()["code"]) == (401, "unauthenticated")
    altered = {"Authorization": f"Bearer {ana.token[:-8]}AAAAAAAA", "Idempotency-Key": "k"}
    forged = await lobby_app.client.request(method, url, json=body, headers=altered)
    assert (forged.status_code, forged.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"game": "whist", "seats": 2}, 404, "unknown-game"),
        ({"game": "dice-race", "seats": 9}, 422, "seats-invalid"),
        ({"game": "dice-race", "seats": 2, "options": {"magic": 1}}, 422, "options-invalid"),
        ({"game": "dice-race", "seats": "2"}, 400, "malformed-request"),
        ({"game": "dice-race", "seats": 2, "turn_seconds": 11}, 400, "malformed-request"),
        ({"game": "dice-race", "seats": 2, "colour": "red"}, 400, "malformed-request"),
        ({"game": "dice-race"}, 400, "malformed-request"),
    ],
)
async def test_what_is_wrong_with_a_table_is_said_in_the_engines_words(lobby_app, body, status, code):
    ana = await lobby_app.guest()
    answer = await ana.post("/tables", body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    if code == "options-invalid":
        assert (answer.json()["clause"], answer.json()["params"]) == ("DR-6", {"option": "magic"})
    assert (await ana.get("/tables")).json()["items"] == []


async def test_settings_change_while_nothing_runs(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    changed = (
        await ana.ask("PATCH", path, {"turn_seconds": 10, "options": {"target": 21}, "seats": 3})
    ).json()
    assert (changed["turn_seconds"], changed["options"], len(changed["seats"])) == (10, {"target": 21}, 3)
    assert changed["commitment"] == table["commitment"] and changed["commitment_number"] == 1
    kept = (await ana.ask("PATCH", path, {"rated": False})).json()
    assert (kept["turn_seconds"], kept["options"], kept["rated"]) == (10, {"target": 21}, False)
    off = (await ana.ask("PATCH", path, {"turn_seconds": None})).json()
    assert off["turn_seconds"] is None
    bad = await ana.ask("PATCH", path, {"options": {"magic": 1}})
    assert (bad.status_code, bad.json()["code"]) == (422, "options-invalid")
    other = await ben.ask("PATCH", path, {"rated": True})
    assert (other.status_code, other.json()["code"]) == (403, "not-host")


async def test_a_private_table_is_for_those_who_have_its_code(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana, visibility="private")
    path = f"/tables/{table['id']}"
    code = table["invite_code"]
    assert len(code) == 16
    assert (await ana.get(path)).json()["invite_code"] == code
    seen = (await ben.get(path)).text
    assert code not in seen and "invite_hash" not in seen and '"invite_code":null' in seen
    assert (await ana.get("/tables")).json()["items"] == []
    for body in ({}, {"invite_code": "0000000000000000"}):
        refused = await ben.post(f"{path}/join", body)
        assert (refused.status_code, refused.json()["code"]) == (403, "invite-code-wrong")
    assert (await ben.post(f"{path}/join", {"invite_code": code.lower()})).status_code == 200
    stored = await lobby_app.engine.platform.log.read_stream(table["id"])
    assert not any(code.encode() in (item.event.body + (item.event.cause or b"")).upper() for item in stored)


async def test_the_host_passes_on_and_an_empty_table_closes(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    await ben.post(f"{path}/join", {})
    assert (await ana.post(f"{path}/leave")).json()["host"] == ben.id
    removed = await ben.ask("DELETE", f"{path}/seats/1")
    assert (removed.status_code, removed.json()["state"]) == (200, "closed")
    late = await ana.post(f"{path}/join", {})
    assert (late.status_code, late.json()["code"]) == (409, "table-closed")


async def test_seeds_can_be_given_later_and_are_checked(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    assert (await ana.ask("PUT", f"{path}/seed", {"seed": "a" * 64})).status_code == 200
    for seed in ("", "a b", "é", "a" * 65):
        bad = await ben.post(f"{path}/join", {"seed": seed})
        assert (bad.status_code, bad.json()["code"]) == (422, "seed-invalid")
    await ben.post(f"{path}/join", {})
    match = (await ana.post(f"{path}/start")).json()["match_id"]
    assert [seat.seed for seat in lobby_app.engine.started[match].seats] == ["a" * 64, "-"]


async def test_the_list_has_pages_and_filters(lobby_app):
    ana = await lobby_app.guest()
    tables = [(await lobby_app.table(ana))["id"] for _ in range(5)]
    await ana.post(f"/tables/{tables[2]}/leave")

    async def listed():
        found = (await ana.get("/tables?limit=100")).json()["items"]
        return found if len(found) == 4 and (await ana.get("/tables?state=closed")).json()["items"] else None

    found = await until(listed)
    expected = [table for table in reversed(tables) if table != tables[2]]
    assert [table["id"] for table in found] == expected
    assert found[0]["seats"][0]["name"] == "Ana"
    pages, cursor = [], ""
    while cursor is not None:
        page = (
            await lobby_app.client.get(f"/v1/tables?limit=3&game=dice-race{cursor and '&cursor=' + cursor}")
        ).json()
        pages.append([table["id"] for table in page["items"]])
        cursor = page["next"]
    assert pages == [expected[:3], expected[3:]]
    assert (await ana.get("/tables?game=whist")).json() == {"items": [], "next": None}
    for bad in ("game=%00", "cursor=x", "cursor=%ff", "limit=0", "limit=101", "state=odd"):
        answer = await ana.get(f"/tables?{bad}")
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request"), bad


@pytest.mark.parametrize(
    "table",
    [
        "t_01KB9Y0000000000000000000",
        "t_01KB9Y00000000000000000000",
        "x",
        "%00",
        "m_01KB9Y00000000000000000000",
    ],
)
async def test_an_unknown_table_is_not_found(lobby_app, table):
    ana = await lobby_app.guest()
    for method, path in (
        ("GET", ""),
        ("GET", "/stream"),
        ("POST", "/leave"),
        ("POST", "/start"),
        ("DELETE", "/seats/0"),
    ):
        answer = await ana.ask(method, f"/tables/{table}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


async def test_a_match_that_the_rules_of_today_refuse_leaves_the_table_usable(lobby_app):
    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana)
    path = f"/tables/{table['id']}"
    await ben.post(f"{path}/join", {})
    lobby_app.engine.refuse, lobby_app.engine.refusals = "options-invalid", 1
    refused = await ana.post(f"{path}/start")
    assert (refused.status_code, refused.json()["code"]) == (422, "options-invalid")
    shown = (await ana.get(path)).json()
    assert (shown["state"], shown["commitment_number"]) == ("open", 2)
    assert (await ana.post(f"{path}/start")).json()["match_id"] == shown["next_match_id"]


async def test_a_table_can_be_followed(lobby_app):
    from services.lobby.tables.streams import TableStreams
    from services.lobby.tables.table_stream import TableSource
    from services.lobby.tables.views import TableViews

    ana, ben = await lobby_app.guest("Ana"), await lobby_app.guest("Ben")
    table = await lobby_app.table(ana, visibility="private")
    await ben.post(f"/tables/{table['id']}/join", {"invite_code": table["invite_code"]})
    provided = lobby_app.client._transport.app.state["provided"]
    streams = provided[TableStreams]
    now = (await streams.load(table["id"])).table
    for viewer, sees in ((ana.id, True), (ben.id, False), ("", False)):
        source = TableSource(now, viewer, streams, provided[TableViews])
        version, whole = await source.snapshot(None)
        assert version == 4
        frames = await source.frames(0)
        assert [frame.version for frame in frames] == [1, 2, 3, 4]
        sent = b"".join(frame.data for frame in frames) + whole
        assert b"invite_hash" not in sent
        assert (table["invite_code"].encode() in sent) is sees
        assert (await source.snapshot(2))[0] == 2
