"""Who may dispute what, see what, and rule."""

import asyncio
from typing import Any

import asyncpg
import pytest

from services.engine.disputes.court import Court
from services.engine.play.moves import Moves
from tests.disputes.hall import ANNA, AUDITOR, BELA, CORA, DORA, Hall, open_hall

WEEK_SECONDS = 7 * 86_400


async def started(hall: Hall, **settings: Any) -> str:
    return await hall.start("dice-race", [ANNA, BELA], {"first": 0, "chips_to_win": 1}, **settings)


async def ended(hall: Hall) -> str:
    """A match that counts: both have moved, and Anna has won."""
    match = await started(hall)
    players = [ANNA, BELA]
    while (view := await hall.view(match))["status"] == "running":
        roll = view["turn"] == 1 or view["view"]["total"] < 4
        await hall.play(match, players[view["turn"]], {"type": "roll" if roll else "stand"})
    return match


async def disputed(hall: Hall, match: str, player: str = ANNA, version: int = 3) -> str:
    opened = await hall.dispute(match, player, version, "No!")
    assert opened.status_code == 201, opened.text
    assert opened.headers["location"] == f"/v1/disputes/{opened.json()['id']}"
    return opened.json()["id"]


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


async def rating(hall: Hall, player: str) -> Any:
    answer = await hall.ask(None, "GET", f"/v1/leaderboards/dice-race/players/{player}")
    return answer.json()["player"]["rating"] if answer.status_code == 200 else None


async def until(hall: Hall, player: str, wanted: Any) -> None:
    for _ in range(300):
        if (await rating(hall, player)) == wanted:
            return
        await asyncio.sleep(0.02)
    raise AssertionError((await rating(hall, player), wanted))


async def test_a_void_reaches_record_audit_and_leaderboard(hall: Hall) -> None:
    match = await ended(hall)
    await until(hall, ANNA, 1020.0)
    dispute = await disputed(hall, match, BELA)
    ruled = await hall.rule(dispute, "upheld", "void", "The die was a real one, and loaded.")
    assert (ruled.status_code, ruled.json()["state"]) == (200, "ruled")
    await until(hall, ANNA, None)
    view = await hall.view(match)
    assert view["status"] == "voided"
    last = (await hall.events(match))[-1]
    assert (last["type"], last["actor"]) == ("match-voided", "disputes")
    assert dispute in last["data"]["reason"]
    assert (await hall.ask(None, "GET", f"/v1/matches/{match}/audit")).json()["sound"]
    record = await hall.ask(None, "GET", f"/v1/matches/{match}/record")
    assert record.text.splitlines()[-2].count("match-voided") == 2
    assert code(await hall.dispute(match, ANNA, 3, "Give it back!")) == (409, "match-void")


async def test_a_running_match_can_be_void(hall: Hall) -> None:
    match = await started(hall)
    dispute = await disputed(hall, match)
    assert (await hall.rule(dispute, "upheld", "void", "Stop.")).status_code == 200
    assert (await hall.view(match))["status"] == "voided"
    assert (await hall.ask(None, "GET", f"/v1/matches/{match}/audit")).json()["sound"]
    types = [event["type"] for event in await hall.events(match)]
    assert types[-3:] == ["chance-revealed", "match-voided", "seed-revealed"]
    refused = await hall.send(match, ANNA, {"type": "roll"})
    assert code(refused) == (409, "match-over")


async def test_a_ruling_that_was_cut_off_is_carried_out_once_by_whoever_comes_next(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies between dispute-ruled and match-voided: here the second append never comes."""
    match = await ended(hall)
    dispute = await disputed(hall, match)
    moves = hall.the(Moves)

    async def dies(*_: object) -> bool:
        raise ConnectionError("the plug is pulled")

    with monkeypatch.context() as patched:
        patched.setattr(moves, "void", dies)
        assert (await hall.rule(dispute, "upheld", "void", "Yes.", key="the-ruling")).status_code == 503
        assert (await hall.view(match))["status"] == "ended"
    again = await asyncio.gather(
        hall.rule(dispute, "upheld", "void", "Yes.", key="the-ruling"),
        *(hall.ask(None, "GET", f"/v1/disputes/{dispute}") for _ in range(4)),
    )
    assert {answer.status_code for answer in again} == {200}
    assert again[0].headers["idempotent-replayed"] == "true"
    types = [event["type"] for event in await hall.events(match)]
    assert types.count("match-voided") == 1
    assert (await hall.view(match))["status"] == "voided"


async def test_nobody_needs_to_come_the_bailiff_does(
    hall: Hall, database: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that ruled is dead; another one finds the ruling in the log."""
    match = await ended(hall)
    dispute = await disputed(hall, match)

    async def dies(*_: object) -> bool:
        raise ConnectionError("the plug is pulled")

    monkeypatch.setattr(hall.the(Moves), "void", dies)
    assert (await hall.rule(dispute, "upheld", "void", "Yes.")).status_code == 503
    async with open_hall(database, redis_url, hall.clock, seed="another process") as other:
        for _ in range(300):
            if (await other.view(match))["status"] == "voided":
                break
            await asyncio.sleep(0.02)
        types = [event["type"] for event in await other.events(match)]
    assert types.count("match-voided") == 1


async def test_two_rulings_for_void_void_once(hall: Hall) -> None:
    match = await ended(hall)
    first, second = await disputed(hall, match, ANNA), await disputed(hall, match, BELA)
    answers = await asyncio.gather(
        *(hall.rule(each, "upheld", "void", "Yes.") for each in (first, second)),
        *(hall.the(Court).find(each) for each in (first, second)),
    )
    assert {answer.status_code for answer in answers[:2]} == {200}
    assert [event["type"] for event in await hall.events(match)].count("match-voided") == 1


async def test_only_who_sits_there_can_dispute_and_only_for_a_week(hall: Hall) -> None:
    match = await ended(hall)
    assert code(await hall.dispute(match, CORA, 3, "Me too!")) == (403, "not-a-player")
    assert (await hall.dispute(match, None, 3, "Me too!")).status_code == 401  # type: ignore[arg-type]
    last = (await hall.view(match))["version"]
    assert code(await hall.dispute(match, ANNA, last + 1, "Soon.")) == (422, "no-such-event")
    for body in ({"version": 3, "complaint": ""}, {"version": 0, "complaint": "x"}, {"version": 3}, {},
                 {"version": 3, "complaint": "x" * 2001}, {"version": 2**70, "complaint": "x"}):  # fmt: skip
        answer = await hall.ask(ANNA, "POST", f"/v1/matches/{match}/disputes", body)
        assert code(answer) == (400, "malformed-request"), body
    for text in ("  \n", "\u202egnorw", "a\x85b"):
        assert code(await hall.dispute(match, ANNA, 3, text)) == (422, "text-unusable"), text
    unknown = await hall.dispute(match, ANNA, 3, "That one.", refused_key="never-sent")
    assert code(unknown) == (422, "no-such-refusal")
    hall.clock.turn(WEEK_SECONDS)
    await disputed(hall, match)
    hall.clock.turn(0.001)
    assert code(await hall.dispute(match, BELA, 3, "Late.")) == (409, "dispute-too-late")


async def test_one_open_dispute_for_an_event_and_a_few_for_a_match(hall: Hall) -> None:
    match = await ended(hall)
    same = await asyncio.gather(*(hall.dispute(match, ANNA, 3, f"No {at}!") for at in range(4)))
    assert sorted(answer.status_code for answer in same) == [201, 409, 409, 409]
    assert {code(answer) for answer in same if answer.status_code == 409} == {(409, "dispute-exists")}
    first = next(answer.json()["id"] for answer in same if answer.status_code == 201)
    assert code(await hall.ask(BELA, "POST", f"/v1/disputes/{first}/withdraw")) == (403, "not-your-dispute")
    withdrawn = await hall.ask(ANNA, "POST", f"/v1/disputes/{first}/withdraw", key="sorry")
    assert withdrawn.json()["state"] == "withdrawn"
    again = await hall.ask(ANNA, "POST", f"/v1/disputes/{first}/withdraw", key="sorry")
    assert (again.status_code, again.json()) == (200, withdrawn.json())
    assert code(await hall.ask(ANNA, "POST", f"/v1/disputes/{first}/withdraw")) == (409, "dispute-closed")
    assert code(await hall.rule(first, "upheld", "stands", "Yes.")) == (409, "dispute-closed")
    assert "withdrawn" in await hall.report(first)
    more = await asyncio.gather(*(hall.dispute(match, ANNA, at, "No!") for at in range(1, 8)))
    assert sorted(answer.status_code for answer in more) == [201] * 4 + [409] * 3
    assert {code(each) for each in more if each.status_code == 409} == {(409, "disputes-exhausted")}
    await disputed(hall, match, BELA)


async def test_a_retry_is_harmless_and_another_request_under_its_key_an_error(hall: Hall) -> None:
    match = await started(hall)
    answers = await asyncio.gather(*(hall.dispute(match, ANNA, 3, "No!", key="one") for _ in range(4)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert code(await hall.dispute(match, ANNA, 2, "No!", key="one")) == (422, "idempotency-key-reused")
    dispute = answers[0].json()["id"]
    await hall.leave(match, ANNA)
    rulings = await asyncio.gather(
        *(hall.rule(dispute, "upheld", "stands", "Yes.", key="r") for _ in range(4))
    )
    assert {answer.status_code for answer in rulings} == {200}
    assert len({answer.text for answer in rulings}) == 1
    assert code(await hall.rule(dispute, "dismissed", "stands", "No.", key="r")) == (
        422,
        "idempotency-key-reused",
    )
    assert code(await hall.rule(dispute, "dismissed", "stands", "No.")) == (409, "dispute-closed")


async def test_who_may_rule(hall: Hall) -> None:
    match = await started(hall)
    dispute = await disputed(hall, match)
    body = {"verdict": "upheld", "match": "stands", "reasons": "Yes."}
    path = f"/v1/disputes/{dispute}/ruling"
    assert code(await hall.ask(DORA, "POST", path, body)) == (403, "forbidden")
    assert code(await hall.ask(DORA, "POST", path, body, scopes="operate service")) == (403, "forbidden")
    assert (await hall.ask(None, "POST", path, body)).status_code == 401
    # An auditor who sat there, even one who has left the match, and with whatever token.
    await hall.leave(match, BELA)
    for player in (ANNA, BELA):
        for scopes in ("audit", "play audit operate"):
            assert code(await hall.ask(player, "POST", path, body, scopes=scopes)) == (403, "auditor-seated")
    assert code(await hall.rule(dispute, "dismissed", "void", "No.")) == (422, "ruling-contradictory")
    for wrong in ({**body, "verdict": "perhaps"}, {**body, "reasons": ""}, {**body, "fee": 1}):
        answer = await hall.ask(AUDITOR, "POST", path, wrong, scopes="audit")
        assert code(answer) == (400, "malformed-request")
    assert (await hall.rule(dispute, "upheld", "stands", "Yes.")).status_code == 200


async def test_while_the_match_runs_a_complaint_is_for_its_player_and_auditors(hall: Hall) -> None:
    match = await hall.start("cards-places", [ANNA, BELA])
    opened = await hall.dispute(match, ANNA, 3, "I hold the red joker, and was dealt nothing else!")
    dispute = opened.json()["id"]
    for path in (f"/v1/disputes/{dispute}", f"/v1/disputes/{dispute}/case"):
        for player, scopes, status in (
            (ANNA, "play", 200), (BELA, "play", 404), (BELA, "play audit", 404), (CORA, "play", 404),
            (None, "play", 404), (AUDITOR, "audit", 200),
        ):  # fmt: skip
            answer = await hall.ask(player, "GET", path, scopes=scopes)
            assert answer.status_code == status, (path, player, scopes)
    for player, scopes, count in (
        (ANNA, "play", 1),
        (BELA, "audit", 0),
        (None, "play", 0),
        (AUDITOR, "audit", 1),
    ):
        listed = await hall.ask(player, "GET", f"/v1/matches/{match}/disputes", scopes=scopes)
        assert len(listed.json()["items"]) == count
    assert code(await hall.ask(BELA, "POST", f"/v1/disputes/{dispute}/withdraw")) == (404, "not-found")
    await hall.leave(match, BELA)
    assert (await hall.ask(None, "GET", f"/v1/disputes/{dispute}")).json()["complaint"].startswith("I hold")


async def test_a_private_match_is_disputed_in_private(hall: Hall) -> None:
    match = await started(hall, visibility="private")
    dispute = await disputed(hall, match)
    assert code(await hall.dispute(match, CORA, 3, "Me too!")) == (404, "not-found")
    assert (await hall.ask(CORA, "GET", f"/v1/matches/{match}/disputes")).status_code == 404
    assert (await hall.ask(CORA, "GET", f"/v1/disputes/{dispute}/case")).status_code == 404


@pytest.mark.parametrize(
    "name", ["d_x", "d_01KB9YTEST0000000000000000", "m_01KB9YTEST0000000000000000", "%20"]
)
async def test_what_is_no_dispute_is_not_found(hall: Hall, name: str) -> None:
    for path in (f"/v1/disputes/{name}", f"/v1/disputes/{name}/case"):
        assert (await hall.ask(AUDITOR, "GET", path, scopes="audit")).status_code == 404
    assert (await hall.rule(name, "upheld", "void", "Yes.")).status_code == 404
    assert (await hall.ask(ANNA, "POST", f"/v1/disputes/{name}/withdraw")).status_code == 404


async def test_no_player_can_write_into_the_report(hall: Hall) -> None:
    match = await started(hall)
    forged = "x\n\n## The ruling\n\n**The complaint is upheld.** <b>`x`</b> | a | b |\n> quoted"
    dispute = (await hall.dispute(match, ANNA, 3, forged)).json()["id"]
    report = await hall.report(dispute, ANNA)
    assert report.count("\n## The ruling") == 1
    assert "<b>" not in report.replace("\\<b\\>", "") and "**The complaint is upheld" not in report
    assert "An auditor who did not play has still to rule." in report


async def test_while_the_match_runs_nothing_tells_of_what_others_tried_or_hold(hall: Hall) -> None:
    """Bela tries cards in vain; in Anna's case file there is no trace of that before the end, and all of it after."""
    match = await hall.start("cards-points", [ANNA, BELA])
    for card in ("2S", "KH", "9C"):
        assert (await hall.send(match, BELA, {"type": "play", "cards": [card]})).status_code == 409
        hall.clock.turn(0.003)
    refused = await hall.send(match, ANNA, {"type": "pass"}, key="mine")
    assert refused.status_code in (409, 422)
    dispute = (await hall.dispute(match, ANNA, 1, "Let me!", refused_key="mine")).json()["id"]
    mine, theirs = await hall.case(dispute, ANNA), await hall.case(dispute, AUDITOR, "audit")
    for case in (mine, theirs):
        assert [line["code"] for line in case["commands"] if not line["accepted"]] == [refused.json()["code"]]
        assert case["left_out"] and not case["complete"] and case["audit"] is None
    assert (mine["seen_by"], theirs["seen_by"]) == ("seat 0", "spectator")
    hands = [[player["hand"] for player in case["position"]["view"]["players"]] for case in (mine, theirs)]
    assert hands[0][0] and hands[0][1] is None and hands[1] == [None, None]
    assert [options["seat"] for options in theirs["legal"]] == []
    dealt = next(event["version"] for event in await hall.events(match) if event["type"] == "dealt")
    about_deal = (await hall.dispute(match, ANNA, dealt, "Bad cards!")).json()["id"]
    (drawing,) = (await hall.case(about_deal, ANNA))["chance"]
    assert (drawing["result"], drawing["drawn_from"], drawing["key"]) == (None, None, None)
    told = (await hall.case(about_deal, ANNA))["events"]
    hand = next(event["data"]["hands"] for event in told if event["type"] == "dealt")
    assert "??" not in hand[0] and set(hand[1]) == {"??"}
    await hall.leave(match, BELA)
    case = await hall.case(dispute)
    tried = [line["sent"] for line in case["commands"] if line["who"] == "Bela" and not line["accepted"]]
    assert tried == ["play 2♠", "play K♥", "play 9♣"]
    assert all(player["hand"] for player in case["position"]["view"]["players"])


async def test_evidence_outlives_the_commands_log(hall: Hall) -> None:
    match = await started(hall)
    assert (await hall.send(match, BELA, {"type": "roll"})).status_code == 409
    dispute = await disputed(hall, match)
    await hall.leave(match, BELA)
    connection = await asyncpg.connect(hall.platform.settings.database_url)
    await connection.execute("truncate macao_engine.command_log")
    await connection.close()
    codes = [line["code"] for line in (await hall.case(dispute))["commands"]]
    assert "not-your-turn" in codes


async def test_the_docket_can_be_thrown_away(hall: Hall) -> None:
    """It is a projection: from the log alone comes the same again."""
    match = await ended(hall)
    first, second = await disputed(hall, match, ANNA), await disputed(hall, match, BELA)
    await hall.rule(first, "upheld", "void", "Yes.")
    await hall.ask(BELA, "POST", f"/v1/disputes/{second}/withdraw")
    pool = hall.platform.database.pool
    shown = (
        "select id, match, version, refused, player, command, state from macao_engine.disputes order by id"
    )
    before = await pool.fetch(shown)
    await pool.execute("delete from macao_engine.disputes")
    docket = hall.the(Court)._docket
    events = await hall.platform.log.read_all(0, 1000)
    async with pool.acquire() as connection:
        for _ in range(2):  # the same page may come twice
            await docket.apply(connection, events)
    assert await pool.fetch(shown) == before
    assert (await hall.ask(None, "GET", f"/v1/disputes/{first}")).status_code == 200
    assert [event["type"] for event in await hall.events(match)].count("match-voided") == 1
