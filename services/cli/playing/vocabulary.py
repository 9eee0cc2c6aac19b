"""What can be typed in a game: a letter or a word for each kind of move, cards and stakes as themselves.

The letters follow from the list of moves that the rules give, so they are the same through a whole match, and a game
needs nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, get_args

from msgspec import Struct

from services.engine.rules.kernel import AnyRules, Leave

QUIT: Final = ("q", "quit")


class Kind(Struct, frozen=True):
    """A kind of move.

    Attributes:
        tag: its name, which can always be typed.
        letter: the letter that stands for it, or empty: cards and stakes are typed without, leaving in full only.
        fields: what it carries.
    """

    tag: str
    letter: str
    fields: tuple[str, ...]


class Vocabulary:
    """The kinds of move of one game, by what is typed for them."""

    def __init__(self, rules: AnyRules) -> None:
        """Give out letters in the order in which the game lists its moves."""
        self.kinds = tuple(_kinds(get_args(rules.moves) or (rules.moves,)))

    def kind(self, word: str) -> Kind | None:
        """Return the kind that a letter, a name or the beginning of one name stands for."""
        for kind in self.kinds:
            if word in {kind.letter, kind.tag}:
                return kind
        begun = [kind for kind in self.kinds if kind.letter and kind.tag.startswith(word)]
        return begun[0] if len(begun) == 1 else None

    def of(self, move: Struct) -> Kind:
        """Return the kind of a move, or of the range that ``legal`` lists for it."""
        tag = move.__struct_config__.tag
        return next(kind for kind in self.kinds if kind.tag == tag)

    def carrying(self, field: str) -> Kind | None:
        """Return the first kind with a certain field."""
        return next((kind for kind in self.kinds if field in kind.fields), None)


def _kinds(moves: Iterable[Any]) -> Iterator[Kind]:
    taken = {QUIT[0]}
    for move in moves:
        tag, fields = str(move.__struct_config__.tag), move.__struct_fields__
        letter = ""
        if move is not Leave and not {"cards", "amount"} & set(fields):
            letter = next(letter for letter in tag if letter not in taken)
            taken.add(letter)
        yield Kind(tag, letter, fields)
