"""Whole matches of every game as records: the golden ones, and more at random tables."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from services.contracts.envelope import Event
from services.contracts.events.match import MatchStarted
from services.engine.rules import match as matches
from services.engine.rules.kernel import Expire
from tests.audit.play import Table
from tests.rules.golden import FILES
from tests.support.matches import TEST_CATALOGUE

GAMES = ("dice-race", "dice-bank", "cards-bank", "cards-places", "cards-points")


def golden_files(game: str) -> list[str]:
    """Return the names of a game's golden records."""
    return sorted(path.name for path in FILES.glob(f"{game}@*.ndjson"))


def golden_events(name: str) -> list[Event]:
    """Return a golden record as the service would have written its stream."""
    lines = (FILES / name).read_bytes().splitlines()
    started = msgspec.json.decode(lines[0], type=MatchStarted)
    seed = bytes.fromhex(json.loads(lines[-1])["seed"])
    steps = list(_steps(lines))
    clock = any(step.get("move", {}).get("type") == "expire" for step in steps)
    started = replace(started, turn_seconds=10 if clock else None)
    table = Table(TEST_CATALOGUE, matches.begin(started, TEST_CATALOGUE), seed)
    table.append((started, *matches.open_match(table.match, table.keys)), "lobby", None)
    for step in steps:
        if "void" in step:
            table.void(step["void"])
        elif step["move"]["type"] == "expire":
            table.move(step["seat"], Expire())
        else:
            move = matches.move_decoder(table.match.rules).decode(json.dumps(step["move"]))
            table.move(step["seat"], move)
    return table.events


def _steps(lines: list[bytes]) -> Iterator[dict[str, object]]:
    for line in lines:
        step = json.loads(line)
        if "type" not in step:
            yield step
