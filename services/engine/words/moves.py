"""Moves in few words."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import asdict

from services.engine.words.naming import SUIT_NAMES, cards_in_words, seat_name


def move_in_words(move: Struct) -> str:
    """Return a move, or the range that ``legal`` offers: ``roll``, ``stake 1 to 5``, ``play A♥ calling spades``."""
    fields = {name: value for name, value in asdict(move).items() if value is not None and value is not False}
    tag = str(move.__struct_config__.tag)
    if fields.keys() == {"min", "max"}:
        return f"{tag} {fields['min']} to {fields['max']}"
    return " ".join([tag, *(_in_words(name, value) for name, value in fields.items())])


def _in_words(name: str, value: object) -> str:
    match name, value:
        case "suit", str(suit):
            return f"calling {SUIT_NAMES.get(suit, suit)}"
        case "seat", int(seat):
            return seat_name(seat)
        case _, tuple(cards):
            return cards_in_words(cards)
        case _, True:
            return f"with {name}"
        case _:
            return str(value)
