"""The engine's API for those who play and watch."""

import asyncio

import pytest

from tests.engine.conftest import Engine, running


async def finish(engine: Engine, match: str) -> None:
    """Everybody but the last leaves."""
    view = await engine.view(match, "p_0")
    for seat in view["seats"][:-1]:
        await engine.as_(seat["player"], "POST", f"/v1/matches/{match}/moves", {"move": {"type": "leave"}})


async def test_starting_again_starts_nothing(engine: Engine) -> None:
    match = await engine.start()
    view = await engine.view(match)
    body = {
        "match_id": match, "table_id": "t_1", "game": "dice-race", "options": view["options"], "rated": True,
        "seats": [{"player": "p_0"}, {"player": "p_1"}],
    }  # fmt: skip
    again = await asyncio.gather(*(engine.as_("lobby", "POST", "/v1/matches", body) for _ in range(4)))
    assert {answer.status_code for answer in again} == {200}
    assert {answer.json()["version"] for answer in again} == {view["version"]}


async def test_only_the_lobby_starts_matches(engine: Engine) -> None:
    asked = {"game": "dice-race", "seats": 2}
    assert (await engine.as_("p_0", "POST", "/v1/commitments", asked)).json()["code"] == "forbidden"
    assert (await engine.as_(None, "POST", "/v1/commitments", asked)).json()["code"] == "unauthenticated"


@pytest.mark.parametrize(
    ("options", "code", "option"),
    [
        ({"target": 10}, "options-invalid", "target"),
        ({"pontoon": True, "target": 9}, "options-invalid", "target"),
        ({"stake": 2}, "options-invalid", "stake"),
        ({"stakes": "even", "stake": 21}, "options-invalid", "stake"),
        ({"first": 2}, "options-invalid", "first"),
        ({"unknown": 1}, "options-invalid", None),
    ],
)
async def test_options_are_refused_with_the_clause(
    engine: Engine, options: dict[str, object], code: str, option: str | None
) -> None:
    answer = await engine.as_(
        "lobby", "POST", "/v1/commitments", {"game": "dice-race", "seats": 2, "options": options}
    )
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["clause"]) == (422, code, "DR-1.3")
    if option:
        assert problem["params"]["option"] == option


async def test_completed_options_do_not_get_around_the_number_of_seats(engine: Engine) -> None:
    """The lobby sends them back when the seats of a table change, and when a match starts."""
    asked = {"game": "dice-race", "seats": 2}
    committed = (await engine.as_("lobby", "POST", "/v1/commitments", asked)).json()
    for seats in (1, 17):
        again = {
            **asked, "seats": seats, "options": committed["options"], "completed": True,
            "match_id": committed["match_id"],
        }  # fmt: skip
        answer = await engine.as_("lobby", "POST", "/v1/commitments", again)
        assert (answer.status_code, answer.json()["code"]) == (422, "seats-invalid")
        start = {
            "match_id": committed["match_id"], "table_id": "t_1", "game": "dice-race", "rated": True,
            "options": committed["options"], "seats": [{"player": f"p_{seat}"} for seat in range(seats)],
        }  # fmt: skip
        answer = await engine.as_("lobby", "POST", "/v1/matches", start)
        assert (answer.status_code, answer.json()["code"]) == (422, "seats-invalid")


@pytest.mark.parametrize(
    "move", [b'{"type": "roll\xff"}', b'{"\xff": 1}', b'"\xff"', b'{"type": "roll", "\xff": 1}']
)
async def test_a_move_that_is_not_utf_8_cannot_be_read(engine: Engine, move: bytes) -> None:
    match = await engine.start()
    token = engine.platform.tokens.access_token("p_0", frozenset({"play"}))
    headers = {
        "Authorization": f"Bearer {token}", "Idempotency-Key": "k", "If-Match": '"1"',
        "Content-Type": "application/json",
    }  # fmt: skip
    path = f"/v1/matches/{match}/moves"
    answer = await engine.http.post(path, content=b'{"move": ' + move + b"}", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")


async def test_a_commitment_is_one_for_each_key(engine: Engine) -> None:
    asked = {"game": "dice-race", "seats": 2}
    keys = {"Idempotency-Key": "the-same"}
    answers = [(await engine.as_("lobby", "POST", "/v1/commitments", asked, **keys)).json() for _ in range(3)]
    assert len({answer["match_id"] for answer in answers}) == 1
    numbers = [item["number"] for item in (await engine.as_(None, "GET", "/v1/commitments")).json()["items"]]
    assert numbers == [1]


async def test_a_private_match_is_for_its_players_until_it_is_over(engine: Engine) -> None:
    match = await engine.start(visibility="private")
    for path in ("", "/events", "/stream", "/state?at=1", "/record", "/audit"):
        assert (await engine.as_("p_9", "GET", f"/v1/matches/{match}{path}")).status_code == 404
        assert (await engine.as_(None, "GET", f"/v1/matches/{match}{path}")).status_code == 404
    for move in ({"type": "leave"}, {"type": "roll"}, {"type": "no-such-move"}):
        answer = await engine.as_("p_9", "POST", f"/v1/matches/{match}/moves", {"move": move})
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found"), "nor does a refusal tell"
    assert (await engine.view(match, "p_1"))["your_seat"] == 1
    await finish(engine, match)
    assert (await engine.as_(None, "GET", f"/v1/matches/{match}/record")).status_code == 200


async def test_there_is_no_record_before_the_end(engine: Engine) -> None:
    match = await engine.start()
    for path in ("record", "audit"):
        answer = await engine.as_("p_0", "GET", f"/v1/matches/{match}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "match-not-over")


async def test_a_move_needs_its_key_its_version_and_its_form(engine: Engine) -> None:
    match = await engine.start()
    path = f"/v1/matches/{match}/moves"
    roll = {"move": {"type": "roll"}}
    no_version = await engine.as_("p_0", "POST", path, roll)
    assert (no_version.status_code, no_version.json()["code"]) == (428, "version-missing")
    for form in (
        {"move": {"type": "fly"}},
        {"move": {"type": "roll", "x": 1}},
        {"move": 3},
        {},
        {"move": None},
    ):
        answer = await engine.as_("p_0", "POST", path, form, **{"If-Match": '"1"'})
        assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request"), form
    token = engine.platform.tokens.access_token("p_0", frozenset({"play"}))
    no_key = await engine.http.post(
        path, json=roll, headers={"Authorization": f"Bearer {token}", "If-Match": '"1"'}
    )
    assert (no_key.status_code, no_key.json()["code"]) == (400, "idempotency-key-missing")


async def test_a_refusal_says_why_and_what_would_have_been_legal(engine: Engine) -> None:
    match = await engine.start()
    refused = await engine.move(match, "p_0", {"type": "stand"})
    problem = refused.json()
    assert (refused.status_code, problem["code"], problem["clause"]) == (409, "must-roll-first", "DR-2.2")
    assert problem["legal"] == [{"type": "roll"}]


async def test_of_many_who_move_at_one_version_one_does(engine: Engine) -> None:
    match = await engine.start(options={"first": 0, "target": 15})
    version = (await engine.view(match))["version"]
    path, headers = f"/v1/matches/{match}/moves", {"If-Match": f'"{version}"'}
    answers = await asyncio.gather(
        *(engine.as_("p_0", "POST", path, {"move": {"type": "roll"}}, **headers) for _ in range(8))
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7


async def test_two_engines_share_a_match(engine: Engine, database: str, redis_url: str) -> None:
    match = await engine.start(options={"first": 0, "target": 15, "chips_to_win": 1})
    async with running(database, redis_url, engine.clock) as other:
        for turn in range(40):
            one = (engine, other)[turn % 2]
            view = await one.view(match)
            if view["turn"] is None:
                break
            move = {"type": "roll" if view["view"]["total"] < 9 else "stand"}
            answer = await one.move(match, f"p_{view['turn']}", move)
            assert answer.status_code == 200, answer.text
        assert (await engine.view(match))["status"] == "ended"
        assert (await engine.events(match)) == (await other.events(match))


async def test_a_reader_that_brings_the_match_forward_makes_no_move_stale(
    engine: Engine, database: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has moved; while this one looks whether the next move is a retry, somebody reads the match."""
    match = await engine.start(options={"first": 0, "target": 15})
    before = (await engine.view(match))["version"]
    async with running(database, redis_url, engine.clock) as other:
        moved = await other.move(match, "p_0", {"type": "roll"})
    log = engine.platform.log
    find_command = log.find_command

    async def find_while_somebody_reads(command: str, stream: str) -> object:
        found = await find_command(command, stream)
        assert (await engine.view(match))["version"] > before
        return found

    monkeypatch.setattr(log, "find_command", find_while_somebody_reads)
    headers = {"If-Match": f'"{moved.json()["version"]}"'}
    answer = await engine.as_(
        "p_0", "POST", f"/v1/matches/{match}/moves", {"move": {"type": "roll"}}, **headers
    )
    assert answer.status_code == 200, answer.text


async def test_events_come_as_pages_and_as_lines(engine: Engine) -> None:
    match = await engine.start()
    page = (await engine.as_(None, "GET", f"/v1/matches/{match}/events?limit=2")).json()
    assert ([item["version"] for item in page["items"]], page["next"]) == ([1, 2], 2)
    lines = await engine.as_(None, "GET", f"/v1/matches/{match}/events", Accept="application/x-ndjson")
    assert lines.headers["content-type"].startswith("application/x-ndjson")
    assert len(lines.text.splitlines()) == (await engine.view(match))["version"]
    for wrong in ("after=-1", "limit=0", "limit=1001", f"after={10**30}", "after=x"):
        assert (await engine.as_(None, "GET", f"/v1/matches/{match}/events?{wrong}")).status_code == 400


async def test_a_table_that_closes_without_a_match_has_its_commitment_opened(engine: Engine) -> None:
    from services.contracts.envelope import Head, chain
    from services.contracts.events import catalogue, table
    from services.runtime.log import Append

    committed = (
        await engine.as_("lobby", "POST", "/v1/commitments", {"game": "dice-race", "seats": 2})
    ).json()
    facts = [
        table.CommitmentPublished(committed["match_id"], committed["commitment"], committed["number"]),
        table.TableClosed("empty"),
    ]
    stream = "t_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    drafts = [catalogue.draft(fact, fact, None) for fact in facts]
    events = chain(Head(), drafts, stream=stream, actor="lobby", command="c", at_ms=1, cause=None)
    await engine.platform.log.append(
        Append(
            stream=stream,
            kind="t",
            expected=Head(),
            events=tuple(events),
            command="c",
            request_hash=bytes(32),
            answer=b"{}",
        )
    )
    for _ in range(200):
        (item,) = (await engine.as_(None, "GET", "/v1/commitments")).json()["items"]
        if item["state"] != "open":
            break
        await asyncio.sleep(0.02)
    assert item["state"] == "unused"
    from services.engine.rules.chance import commitment_of

    assert commitment_of(committed["match_id"], bytes.fromhex(item["seed"])) == committed["commitment"]
    body = {
        "match_id": committed["match_id"], "table_id": stream, "game": "dice-race", "options": committed["options"],
        "seats": [{"player": "p_0"}, {"player": "p_1"}], "rated": True,
    }  # fmt: skip
    assert (await engine.as_("lobby", "POST", "/v1/matches", body)).status_code == 404
