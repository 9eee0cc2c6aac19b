"""A dispute from complaint to ruling in each game; the reports are those in docs/cases/."""

import pytest

from tests.disputes.hall import AUDITOR, open_hall
from tests.disputes.scenes import DOCS, SCENES
from tests.engine.conftest import TestClock


@pytest.mark.parametrize("name", SCENES)
async def test_from_complaint_to_ruling(name: str, database: str, redis_url: str) -> None:
    async with open_hall(database, redis_url, TestClock(), seed=name) as hall:
        quarrel = await SCENES[name](hall)
        assert quarrel.report == (DOCS / f"{name}.md").read_text(encoding="utf-8"), (
            "run python -m tests.disputes.scenes, and read the difference"
        )
        case = await hall.case(quarrel.dispute)
        assert case["complete"] and case["audit"]["sound"]
        assert case["complaint"]["event_unchanged"]
        assert case["clauses"] and all(len(clause["text"]) > 20 for clause in case["clauses"])
        assert case["ruling"]["auditor"] == AUDITOR
        (subject,) = [line for line in case["commands"] if line["subject"]]
        assert subject["offset_ms"] == 0
        assert [line["at_ms"] for line in case["commands"]] == sorted(
            line["at_ms"] for line in case["commands"]
        )
        for drawing in case["chance"]:
            assert drawing["redrawn"] and drawing["key_opens_commitment"]
            assert drawing["seed_opens_commitment"] and drawing["key_follows"]
        listed = (await hall.ask(None, "GET", f"/v1/matches/{quarrel.match}/disputes")).json()["items"]
        assert [(item["id"], item["state"]) for item in listed] == [(quarrel.dispute, "ruled")]
        types = [event["type"] for event in await hall.events(quarrel.match)]
        assert types.count("match-voided") == (case["ruling"]["match"] == "void")
        assert "still running" in quarrel.early and "## Can the record be trusted?" in quarrel.early


async def test_the_late_call_lies_5_ms_behind_the_catch(database: str, redis_url: str) -> None:
    async with open_hall(database, redis_url, TestClock(), seed="cards-places-late-call") as hall:
        quarrel = await SCENES["cards-places-late-call"](hall)
        lines = (await hall.case(quarrel.dispute))["commands"]
        at = next(number for number, line in enumerate(lines) if line["subject"])
        catch, call = lines[at - 1 : at + 1]
        assert (catch["sent"].split()[0], catch["accepted"], catch["offset_ms"]) == ("catch", True, -5)
        assert (call["sent"], call["accepted"], call["code"]) == ("call", False, "call-not-owed")
        assert catch["clocked"] and call["clocked"]
        # The early report says as much to the player, and shows no card of the other's hand.
        assert "5 ms after" in quarrel.early
        other = next(seat for seat in lines if seat["subject"])["seat"] ^ 1
        position = quarrel.early.partition("## How the table stood")[2].partition("##")[0]
        held = next(line for line in position.splitlines() if f"{['Anna', 'Bela'][other]} had" in line)
        assert held.rstrip(".").endswith("cards") and ":" not in held
