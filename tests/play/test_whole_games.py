"""Whole matches at the keyboard, for every game there is: they end, their records hold, and nobody sees too much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from services.cli.playing.reading import CARD_WORDS
from services.contracts.events.catalogue import encode
from services.contracts.events.match import RoundStarted
from services.engine.record import read_record
from services.engine.replay import Replay
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import SPECTATOR, Viewer
from services.engine.words.naming import card_in_words
from tests.play.keyboard import macao, play_at_random

GAMES = [rules.name for rules in CATALOGUE.newest()]
HEADING = re.compile(r"\S+, version (\d+), (?:Seat (\d+) at the keyboard|everybody may look on)")
CARD = re.compile(r"(?:10|[A2-9JQK])[♣♦♥♠]|[BR]J★|the (?:black|red) joker")
SHORT = {"BJ★": "the black joker", "RJ★": "the red joker"}
CODE = re.compile(rb'"([A23456789TJQK][CDHS]|BJ|RJ)"')

pytestmark = pytest.mark.slow


class Look(NamedTuple):
    """What was on the screen while somebody sat before it."""

    viewer: Viewer
    version: int
    cards: frozenset[str]


def looks(said: str) -> Iterator[Look]:
    while_it_ran = said[: said.rindex("\n> ")]
    for block in while_it_ran.split("\n── "):
        heading = HEADING.match(block)
        if heading:
            version, seat = heading.groups()
            typed = {
                CARD_WORDS.get(word)
                for line in block.splitlines()
                if line.startswith("> ")
                for word in line.split()
            }
            shown = {SHORT.get(card, card) for card in CARD.findall(block)}
            # A refusal repeats the card that somebody typed; whether anybody holds it is not told.
            told = {card_in_words(card) for card in typed if card}
            yield Look(SPECTATOR if seat is None else int(seat), int(version), frozenset(shown - told))


def known(replay: Replay, first: int, version: int, viewer: Viewer) -> set[str]:
    """The cards that a viewer may know of at a version: what the view shows, and the facts from ``first`` on."""
    told = [msgspec.json.decode(encode(replay.fact(at, viewer))) for at in range(first, version + 1)]
    for fact in told:
        fact.pop("draw", None)  # everybody knows which cards a pack has; the hands stand beside it
    data = msgspec.json.encode([told, replay.view(version, viewer)])
    return {card_in_words(code.decode()) for code in CODE.findall(data)}


def since(replay: Replay, seen: Look | None) -> int:
    """Where the deal began in which a viewer has last looked: the log goes on from there."""
    deals = (step.version for step in replay.steps if isinstance(step.fact, RoundStarted))
    return max((version for version in deals if seen and version <= seen.version), default=1)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("against", ["random", "people"])
def test_a_match_at_the_keyboard(game: str, against: str, tmp_path: Path) -> None:
    file = tmp_path / "match.ndjson"
    seats = 3 if against == "random" else 2
    said = play_at_random(game, "--against", against, "--seats", seats, "--seed", "laws", "--save", file)

    assert "The match is over: 1. " in said
    verdict = macao("verify", file)
    assert verdict.returncode == 0, verdict.stdout
    assert macao("replay", file).returncode == 0

    with file.open("rb") as lines:
        replay = Replay(read_record(lines).events, CATALOGUE)
    watched = list(looks(said))
    assert watched
    seen: dict[Viewer, Look] = {}
    told_apart = False
    for look in watched:
        first = since(replay, seen.get(look.viewer))
        assert look.cards <= known(replay, first, look.version, look.viewer), look
        told_apart = told_apart or not look.cards <= known(replay, first, look.version, other(look.viewer))
        seen[look.viewer] = look
    if against == "people" and any(hides(replay, look) for look in watched):
        assert f"Pass the keyboard to Seat {seats - 1}" in said
        assert told_apart, "this check would not have seen anything"


def hides(replay: Replay, look: Look) -> bool:
    return replay.view(look.version, look.viewer) != replay.view(look.version, SPECTATOR)


def other(viewer: Viewer) -> Viewer:
    """The one of two who does not sit at the keyboard."""
    return 1 - viewer if isinstance(viewer, int) else SPECTATOR


@pytest.mark.parametrize("game", GAMES)
def test_a_match_against_bots(game: str, tmp_path: Path) -> None:
    file = tmp_path / "match.ndjson"
    said = play_at_random(game, "--bots", "casual,sharp", "--seed", "bots", "--save", file)
    assert "The match is over: 1. " in said
    assert macao("verify", file).returncode == 0
    assert '"bot":"casual"' in file.read_text(encoding="utf-8")
    assert '"bot":"sharp"' in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["--bots", "casual,best"],
            "--bots takes casual, sharp, random, as in casual,sharp, and not 'best'.",
        ),
        (["--seats", "5", "--bots", "casual"], "1 bots are named, and 4 of 5 seats are free for them."),
    ],
)
def test_bots_that_cannot_sit_down_are_told_why(arguments: list[str], says: str) -> None:
    refused = macao("play", "dice-race", *arguments)
    assert refused.returncode == 1
    assert says in refused.stderr
