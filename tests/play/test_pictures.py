"""Pictures of the table: every game has one that bears every position, and shows no more than its view."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from services.cli.pictures import PICTURES, draw
from services.cli.pictures.cards import cards_in_rows
from services.cli.playing.menu import numbered_hand
from services.engine.rules import match as matches
from services.engine.rules.cards import PACK
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import AUDITOR, SPECTATOR, Viewer
from services.engine.rules.shedding import Play
from tests.support.matches import only, played_out
from tests.support.toy_game import TOY_1

FACES = re.compile(r"(?:10|[A2-9JQK])[♣♦♥♠]|[BR]J★")


def printed(picture: object, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(picture)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_every_game_has_a_picture():
    assert set(PICTURES) == {rules.name for rules in CATALOGUE.newest()}


@pytest.mark.parametrize("rules", [*CATALOGUE.newest(), TOY_1], ids=lambda rules: rules.name)
def test_every_position_of_a_match_can_be_drawn_for_everybody(rules):
    game = played_out(rules, rules.options(), 3, seed=5)
    viewers: tuple[Viewer, ...] = (0, 2, SPECTATOR, AUDITOR)
    shown: dict[Viewer, list] = {viewer: [] for viewer in viewers}
    match = matches.begin(game.facts[0], only(rules))  # type: ignore[arg-type]
    for at, fact in enumerate(game.facts):
        match = matches.evolve(match, fact)
        for viewer in viewers:
            shown[viewer].append(matches.redact(rules, fact, viewer))
            if at % 7 == 0 or at < 20:
                view = matches.observe(match, viewer)
                assert printed(draw(rules.name, view, shown[viewer])).strip()


@pytest.mark.parametrize("rules", CATALOGUE.newest(), ids=lambda rules: rules.name)
def test_the_table_of_a_match_that_is_over_shows_every_place(rules):
    game = played_out(rules, rules.options(), 3, seed=5, leave_rate=0)
    shown = printed(draw(rules.name, matches.observe(game.match, AUDITOR), game.facts))
    rows = [line for line in shown.splitlines() if re.match(r"│[ ▶]+│ +\d │", line)]
    assert [int(row.split("│")[-2]) for row in rows] == list(game.match.places)


def test_a_hand_that_is_not_known_is_drawn_as_backs():
    rules = CATALOGUE.game("cards-places")
    assert rules is not None
    game = played_out(rules, rules.options(), 3, seed=5)
    dealt = matches.fold(game.opening, only(rules))
    picture = printed(draw(rules.name, matches.observe(dealt, SPECTATOR), ()))
    assert picture.count("▒▒▒▒▒") == 3
    assert len(FACES.findall(picture)) == 1  # the top of the pile
    assert len(FACES.findall(printed(draw(rules.name, matches.observe(dealt, 1), ())))) == 6


def test_cards_with_numbers_in_as_many_rows_as_it_takes():
    drawn = cards_in_rows(["7H", "TS", "BJ", "??"], 15, ["1", "2", "3", "4"]).plain
    assert [line.rstrip() for line in drawn.split("\n")] == [
        "╭───╮╭───╮╭───╮",
        "│ 7♥││10♠││BJ★│",
        "╰───╯╰───╯╰───╯",
        "  1    2    3",
        "╭───╮",
        "│▒▒▒│",
        "╰───╯",
        "  4",
    ]


def test_a_hand_too_large_for_one_row_is_written():
    hand = [card for card in PACK if card[1] in "HS"][:17]
    drawn = numbered_hand(hand, (Play(("2H",)),), 80).plain.split("\n")
    assert drawn[0].startswith("  1 A♥    2 2♥    3 3♥ ")
    assert drawn[1].split() == [
        "11",
        "J♥",
        "12",
        "Q♥",
        "13",
        "K♥",
        "14",
        "A♠",
        "15",
        "2♠",
        "16",
        "3♠",
        "17",
        "4♠",
    ]
    assert len(numbered_hand(hand[:16], (), 80).plain.split("\n")) == 4
