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
CODE = re.compile(rb"[A23456789TJQK][CDHS]|BJ|RJ")

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


def known(replay: Replay, version: int, viewer: Viewer) -> set[str]:
    """The cards that a viewer may know of: all that the view and the facts up to a version have shown."""
    told = [encode(replay.fact(at, viewer)) for at in range(1, version + 1)]
    data = b"".join([*told, msgspec.json.encode(replay.view(version, viewer))])
    return {card_in_words(code.decode()) for code in CODE.findall(data)}


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
    for look in watched:
        assert look.cards <= known(replay, look.version, look.viewer), look
    if against == "people" and any(hides(replay, look) for look in watched):
        assert f"Pass the keyboard to Seat {seats - 1}" in said
        assert any(look.cards - known_to_other(replay, look) for look in watched), "the check sees nothing"


def hides(replay: Replay, look: Look) -> bool:
    return replay.view(look.version, look.viewer) != replay.view(look.version, SPECTATOR)


def known_to_other(replay: Replay, look: Look) -> set[str]:
    """What the one of two may know who does not sit at the keyboard."""
    other: Viewer = 1 - look.viewer if isinstance(look.viewer, int) else SPECTATOR
    return known(replay, look.version, other)
