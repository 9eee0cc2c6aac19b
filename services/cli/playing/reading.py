"""What somebody typed, read as a move.

A move that is read need not be allowed: the rules say so then, with their clause, and that teaches more than a menu.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from services.cli.playing.vocabulary import Kind, Vocabulary
from services.engine.rules.cards import JOKERS, RANKS, SUITS
from services.engine.rules.kernel import AnyRules, Move
from services.engine.words.naming import SUIT_NAMES
from services.engine.words.naming import SUITS as SYMBOLS

NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
LETTER_AND_NUMBER: Final = re.compile(r"([a-z])([0-9]{1,9})", re.ASCII)
THE_WORD: Final = frozenset({"!", "macao"})

SUIT_WORDS: Final = {word: suit for suit in SUITS for word in (suit.lower(), SYMBOLS[suit], SUIT_NAMES[suit])}
CARD_WORDS: Final = {
    f"{rank.lower()}{form}": rank + suit
    for rank in RANKS for suit in SUITS for form in (suit.lower(), SYMBOLS[suit])
} | {f"10{form}": f"T{suit}" for suit in SUITS for form in (suit.lower(), SYMBOLS[suit])} | {
    joker.lower(): joker for joker in JOKERS
}  # fmt: skip


class Misread(Exception):  # noqa: N818 - it is named for what happened
    """What was typed is no move; the message says why."""


def read_move(
    line: str, rules: AnyRules, vocabulary: Vocabulary, legal: Sequence[Struct], hand: Sequence[str]
) -> Move:
    """Return the move that a line stands for.

    Args:
        line: what was typed.
        rules: the game.
        vocabulary: its words.
        legal: what could be played, for what goes without saying (whom to catch, where there is only one).
        hand: the cards that may be called by their number, the first of them 1.

    Raises:
        Misread: it is none.
    """
    words = line.lower().replace(",", " ").replace("!", " ! ").split()
    if not words:
        raise Misread("Nothing was typed")
    kind, values = _kind_and_values(words, vocabulary, legal)
    fields: dict[str, Any] = {"type": kind.tag}
    if "cards" in kind.fields:
        fields |= _cards(values, hand)
    elif values or kind.fields:
        fields |= _number(values, kind, legal)
    try:
        move: Move = msgspec.convert(fields, rules.moves)
    except msgspec.ValidationError as error:
        raise Misread(f"{line.strip()!r} cannot be {kind.tag}") from error
    return move


def read_suit(line: str) -> str | None:
    """Return the suit that a line names, None for none."""
    return SUIT_WORDS.get(line.strip().lower())


def _kind_and_values(
    words: Sequence[str], vocabulary: Vocabulary, legal: Sequence[Struct]
) -> tuple[Kind, Sequence[str]]:
    first, *others = words
    kind = vocabulary.kind(first)
    if kind is not None:
        return kind, others
    glued = LETTER_AND_NUMBER.fullmatch(first)
    kind = vocabulary.kind(glued[1]) if glued else None
    if glued and kind is not None:
        return kind, (glued[2], *others)
    stakes, cards = vocabulary.carrying("amount"), vocabulary.carrying("cards")
    if stakes is not None and NUMBER.fullmatch(first) and (cards is None or _is_listed(stakes, legal)):
        return stakes, words
    if cards is None:
        raise Misread(f"{first!r} is no move")
    return cards, words


def _is_listed(kind: Kind, legal: Sequence[Struct]) -> bool:
    return any(entry.__struct_config__.tag == kind.tag for entry in legal)


def _number(values: Sequence[str], kind: Kind, legal: Sequence[Struct]) -> dict[str, int]:
    """Read the one number that a move carries; where only one is possible it need not be typed."""
    if not kind.fields:
        raise Misread(f"{kind.tag} stands alone, without {' '.join(values)!r}")
    (field,) = kind.fields
    if not values:
        possible = [getattr(entry, field, None) for entry in legal if entry.__struct_config__.tag == kind.tag]
        if len(possible) == 1 and isinstance(possible[0], int):
            return {field: possible[0]}
        raise Misread(f"{kind.tag} takes a number: the {field}")
    if len(values) > 1 or not NUMBER.fullmatch(values[0]):
        raise Misread(f"{kind.tag} takes one number, the {field}, and not {' '.join(values)!r}")
    return {field: int(values[0])}


def _cards(values: Sequence[str], hand: Sequence[str]) -> dict[str, Any]:
    cards: list[str] = []
    more: dict[str, Any] = {}
    for value in values:
        if value in THE_WORD and cards:
            more["macao"] = True
        elif value in SUIT_WORDS and cards:
            more["suit"] = SUIT_WORDS[value]
        else:
            cards.append(_card(value, hand))
    if not cards:
        raise Misread("Say which card, by its number or as 7h")
    return {"cards": tuple(cards), **more}


def _card(word: str, hand: Sequence[str]) -> str:
    if word in CARD_WORDS:
        return CARD_WORDS[word]
    if NUMBER.fullmatch(word):
        if 1 <= int(word) <= len(hand):
            return hand[int(word) - 1]
        raise Misread(f"You have no card number {word}")
    raise Misread(f"{word!r} is neither a card nor a move")
