"""Stepping through a match over HTTP: forward, back, through anybody's eyes, and cheaply."""

from typing import Any

import pytest

from services.engine.play import positions
from services.engine.play.positions import Positions
from tests.engine.conftest import Engine


async def played(engine: Engine, moves: int) -> str:
    match = await engine.start(game="cards-places", options={"several_at_once": True})
    for _ in range(moves):
        view = await engine.view(match)
        player = f"p_{view['turn']}"
        own = await engine.view(match, player)
        draws = [move for move in own["legal"] if move["type"] in ("draw", "take", "sit-out")]
        assert (await engine.move(match, player, draws[0])).status_code == 200
    return match


async def step(
    engine: Engine, match: str, version: int, player: str | None = None, viewer: str = ""
) -> dict[str, Any]:
    asked = f"?viewer={viewer}" if viewer else ""
    answer = await engine.as_(player, "GET", f"/v1/matches/{match}/steps/{version}{asked}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_forward_and_back_through_a_match_that_is_over(engine: Engine) -> None:
    match = await played(engine, 4)
    await engine.as_("p_1", "POST", f"/v1/matches/{match}/moves", {"move": {"type": "leave"}})
    events = await engine.events(match)
    at, seen = 1, list[dict[str, Any]]()
    while at is not None:
        seen.append(await step(engine, match, at))
        at = seen[-1]["forward"]
    assert [each["version"] for each in seen] == [event["version"] for event in events]
    assert [each["back"] for each in seen] == [None, *range(1, len(events))]
    assert [each["happened"]["event"] for each in seen] == events
    assert [each["then"] and each["then"]["event"] for each in seen] == [*events[1:], None]
    assert {each["viewer"] for each in seen} == {"everybody"}
    for each in seen:
        state = await engine.as_(None, "GET", f"/v1/matches/{match}/state?at={each['version']}")
        assert each["view"] == state.json()["view"]
        assert each["happened"]["words"] and each["table"]
        # What was played is among what could have been.
        then = each["then"]
        if then and then["event"]["cause"] and then["event"]["cause"]["move"]["type"] != "leave":
            cause = then["event"]["cause"]
            (could,) = [choice for choice in each["could"] if choice["seat"] == cause["seat"]]
            assert cause["move"] in could["legal"]
            assert len(could["words"]) == len(could["legal"])
        assert each["settled"] or each["could"] == []
    middle = next(each["version"] for each in seen if each["could"])
    everybody, one, other, watcher = [
        await step(engine, match, middle, viewer=viewer) for viewer in ("everybody", "0", "1", "spectator")
    ]
    hands = [
        [player["hand"] for player in each["view"]["players"]] for each in (everybody, one, other, watcher)
    ]
    assert hands[1] == [hands[0][0], None] and hands[2] == [None, hands[0][1]] and hands[3] == [None, None]
    turn = everybody["view"]["turn"]
    assert [choice["seat"] for choice in everybody["could"]] == [turn]
    assert [len(each["could"]) for each in (one, other)] == [turn == 0, turn == 1]
    assert watcher["could"] == []


async def test_while_it_runs_everybody_sees_with_their_own_eyes(engine: Engine) -> None:
    match = await played(engine, 2)
    version = (await engine.view(match))["version"]
    turn = (await engine.view(match))["turn"]
    for seat in (0, 1):
        mine = await step(engine, match, version, f"p_{seat}")
        assert mine["viewer"] == str(seat) and mine["view"]["players"][1 - seat]["hand"] is None
        assert mine["view"]["players"][seat]["hand"]
        assert [choice["seat"] for choice in mine["could"]] == ([turn] if turn == seat else [])
        for viewer in (str(1 - seat), "everybody"):
            path = f"/v1/matches/{match}/steps/{version}?viewer={viewer}"
            answer = await engine.as_(f"p_{seat}", "GET", path)
            assert (answer.status_code, answer.json()["code"]) == (409, "match-not-over")
    watched = await step(engine, match, version)
    assert watched["viewer"] == "spectator" and watched["could"] == []
    dealt = next(event["version"] for event in await engine.events(match) if event["type"] == "dealt")
    for player in (None, "p_0"):
        told = (await step(engine, match, dealt, player))["happened"]
        assert "??" in str(told["event"]["data"]["hands"][1])
        assert "Seat 1 has 5 cards," in told["words"] + ","


async def test_what_is_no_step_says_so(engine: Engine) -> None:
    match = await engine.start(visibility="private")
    last = (await engine.view(match, "p_0"))["version"]
    for path, player, status in (
        ("1", "p_9", 404), ("1", None, 404), (f"{last + 1}", "p_0", 404), ("0", "p_0", 400), ("x", "p_0", 404),
        ("1?viewer=7", "p_0", 422), ("1?viewer=me", "p_0", 400), (f"{10**30}", "p_0", 400), ("-1", "p_0", 400),
    ):  # fmt: skip
        answer = await engine.as_(player, "GET", f"/v1/matches/{match}/steps/{path}")
        assert answer.status_code == status, (path, answer.text)


async def test_a_known_match_is_read_from_the_nearest_kept_state(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(positions, "EVERY", 8)
    match = await played(engine, 20)
    last = (await engine.view(match))["version"]
    kept: Positions = engine.app.state["provided"][Positions]
    first = await kept.at(match, last)
    read: list[int] = []
    log = engine.platform.log
    read_links = log.read_links

    async def counted(stream: str, after: int = 0, limit: int = 1_000) -> Any:
        page = await read_links(stream, after, limit)
        read.append(len(page))
        return page

    monkeypatch.setattr(log, "read_links", counted)
    assert await kept.at(match, last) == first
    for version in range(last, 0, -1):
        assert await kept.at(match, version) is not None
    assert max(read) < 8
    assert await kept.at(match, last + 1) is None
    # A state of a log that has lost its tail since is not folded on.
    assert first is not None
    kept._kept[match] = [positions.Kept(8, bytes(32), first)]
    assert await kept.at(match, last) == first
