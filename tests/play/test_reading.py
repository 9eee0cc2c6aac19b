"""What is typed, and what it is read as."""

from __future__ import annotations

from random import Random

import pytest
from msgspec import Struct

from services.cli.playing import menu
from services.cli.playing.chance import entropy_of
from services.cli.playing.menu import hand_of
from services.cli.playing.movers import move_at_random
from services.cli.playing.reading import Misread, read_move, read_suit
from services.cli.playing.table import Table, sit_down
from services.cli.playing.vocabulary import Vocabulary
from services.engine.rules import match as matches
from services.engine.rules.banking import Stake
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import Leave, Move, Refusal
from services.engine.rules.shedding import Call, Catch, Draw, Play, SitOut, Take
from services.runtime.clock import SystemClock

HAND = ("7H", "AS", "TD", "BJ", "7C")
GAMES = [rules.name for rules in CATALOGUE.newest()]


def table_of(game: str, seed: str = "reading") -> Table:
    rules = CATALOGUE.game(game)
    assert rules is not None
    return sit_down(rules, rules.options(), [None] * 3, SystemClock(), entropy_of(seed))


def read(game: str, line: str, legal: tuple[Struct, ...] = (), hand: tuple[str, ...] = HAND) -> Move:
    rules = CATALOGUE.game(game)
    assert rules is not None
    return read_move(line, rules, Vocabulary(rules), legal, hand)


@pytest.mark.parametrize(
    ("line", "move"),
    [
        ("1", Play(("7H",))),
        ("7h", Play(("7H",))),
        (" 7♥ ", Play(("7H",))),
        ("play 7H", Play(("7H",))),
        ("1 5", Play(("7H", "7C"))),
        ("7h, 7c!", Play(("7H", "7C"), macao=True)),
        ("2 s", Play(("AS",), "S")),
        ("as hearts !", Play(("AS",), "H", macao=True)),
        ("10d", Play(("TD",))),
        ("td macao", Play(("TD",), macao=True)),
        ("bj", Play(("BJ",))),
        ("kc", Play(("KC",))),
        ("d", Draw()),
        ("dr", Draw()),
        ("Draw", Draw()),
        ("t", Take()),
        ("sit-out", SitOut()),
        ("c", Call()),
        ("a2", Catch(2)),
        ("catch 2", Catch(2)),
        ("leave", Leave()),
    ],
)
def test_cards_and_words(line, move):
    assert read("cards-places", line) == move


@pytest.mark.parametrize(
    "line",
    [
        "", " ", "foo", "9", "0", "s s", "h", "!", "draw 1", "a", "catch x", "catch 1 2", "a²", "play", "-1",
        "leav", "l", "9" * 30, "roll", "7h foo", "7hh", "🂡", "1 2 3 x",
    ],
)  # fmt: skip
def test_what_is_no_move(line):
    with pytest.raises(Misread):
        read("cards-places", line)


def test_stakes_are_numbers():
    assert read("dice-bank", "5") == Stake(5)
    assert read("cards-bank", "stake 999") == Stake(999)
    for line in ("5 5", "stake", "stake x"):
        with pytest.raises(Misread):
            read("cards-bank", line)


def test_whom_to_catch_goes_without_saying_where_there_is_only_one():
    assert read("cards-places", "a", (Catch(1),)) == Catch(1)
    with pytest.raises(Misread):
        read("cards-places", "a", (Catch(1), Catch(2)))


def test_a_suit_alone():
    assert [read_suit(word) for word in ("c", "D", "hearts", "♠", "x", "")] == [
        "C",
        "D",
        "H",
        "S",
        None,
        None,
    ]


@pytest.mark.parametrize("game", GAMES)
def test_letters_are_different_and_never_q(game):
    rules = CATALOGUE.game(game)
    assert rules is not None
    letters = [kind.letter for kind in Vocabulary(rules).kinds if kind.letter]
    assert len(set(letters)) == len(letters)
    assert "q" not in letters


@pytest.mark.parametrize("game", GAMES)
def test_every_legal_move_can_be_typed_and_so_can_every_line_of_the_menu(game):
    table, rng = table_of(game), Random(game)
    vocabulary = Vocabulary(table.rules)
    for _ in range(150):
        waiting = matches.pending(table.match)
        if waiting is None:
            break
        legal = matches.legal(table.match, waiting.turn)
        hand = hand_of(matches.observe(table.match, waiting.turn), waiting.turn)
        for entry in legal:
            move = move_at_random([entry], rng)
            assert read_move(typed(move), table.rules, vocabulary, legal, hand) == move
        for item in menu.items(legal, hand, vocabulary):
            for keys in item.keys.replace(" to ", " or ").split(" or "):
                move = read_move(keys, table.rules, vocabulary, legal, hand)
                if not (isinstance(move, Play) and move.cards[0][0] == "A" and not move.suit):
                    assert not isinstance(
                        matches.decide(table.match, waiting.turn, move, table._keys), Refusal
                    )
        table.play(waiting.turn, move_at_random(legal, rng))


def typed(move: Move) -> str:
    if isinstance(move, Play):
        return " ".join([*move.cards, *([move.suit] if move.suit else []), *(["!"] if move.macao else [])])
    values = [str(getattr(move, field)) for field in move.__struct_fields__]
    return " ".join([str(move.__struct_config__.tag), *values])
