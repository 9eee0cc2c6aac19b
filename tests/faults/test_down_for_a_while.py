"""A service that was stopped for thirty seconds costs nobody a match (G10): the clocks stood still meanwhile."""

import time
from pathlib import Path

import httpx
import pytest

from tests.support.players import Player
from tests.support.up import Up, open_directory

pytestmark = pytest.mark.slow

DOWN_SECONDS = 30
TURN_SECONDS = 10


def test_nobody_loses_by_an_outage() -> None:
    with open_directory() as directory:
        home = directory / "home"
        with Up(home) as up:
            up.wait_ready()
            with httpx.Client(base_url=up.url, timeout=30) as client:
                players = [Player(client, "Anna"), Player(client, "Bela")]
                wanted = {
                    "game": "dice-race",
                    "seats": 2,
                    "options": {"first": 0},
                    "turn_seconds": TURN_SECONDS,
                }
                table = players[0].write("/v1/tables", wanted)["id"]
                players[1].write(f"/v1/tables/{table}/join", {})
                match = players[0].write(f"/v1/tables/{table}/start", {})["match_id"]
                before = players[0].read(f"/v1/matches/{match}")
            assert up.end() == 0
        time.sleep(DOWN_SECONDS)
        go_on(home, players, match, before)


def go_on(home: Path, players: list[Player], match: str, before: dict) -> None:
    """The match stands where it stood, with time left; then the clock runs again, and runs out."""
    with Up(home) as up:
        up.wait_ready()
        with httpx.Client(base_url=up.url, timeout=30) as client:
            for player in players:
                player.client = client
            after = players[0].read(f"/v1/matches/{match}")
            assert (after["status"], after["version"]) == ("running", before["version"])
            assert after["clock"]["deadline_ms"] >= before["clock"]["deadline_ms"] + DOWN_SECONDS * 1000
            moved = players[0].move(match, after["version"], {"type": "roll"})
            assert moved.is_success, moved.text
            deadline = time.monotonic() + 3 * TURN_SECONDS
            while (view := players[0].read(f"/v1/matches/{match}"))["status"] == "running":
                assert time.monotonic() < deadline, view
                time.sleep(0.5)
            assert view["places"] == [2, 1]
