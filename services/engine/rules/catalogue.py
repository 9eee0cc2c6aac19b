"""The only list of games, and the reading of their options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Final, get_args, get_type_hints

import msgspec
from msgspec import Struct

from services.engine.rules.games.cards_bank import CARDS_BANK
from services.engine.rules.games.cards_places import CARDS_PLACES
from services.engine.rules.games.cards_points import CARDS_POINTS
from services.engine.rules.games.dice_bank import DICE_BANK
from services.engine.rules.games.dice_race import DICE_RACE
from services.engine.rules.kernel import AnyRules, Refusal


class Catalogue:
    """Games by name and version. The highest version of a game is the one that new matches are played under."""

    def __init__(self, rules: Sequence[AnyRules]) -> None:
        """Hold these rules, in this order."""
        self._by_id = {each.id: each for each in rules}
        self._newest: dict[str, AnyRules] = {}
        for each in rules:
            known = self._newest.get(each.name)
            if known is None or known.version < each.version:
                self._newest[each.name] = each

    def newest(self) -> tuple[AnyRules, ...]:
        """Return every game at its newest version."""
        return tuple(self._newest.values())

    def game(self, name: str) -> AnyRules | None:
        """Return the newest version of a game, None if there is no such game."""
        return self._newest.get(name)

    def version(self, name: str, version: int) -> AnyRules | None:
        """Return a game at one version, None if it was never played here."""
        return self._by_id.get(f"{name}@{version}")

    def every_version(self) -> tuple[AnyRules, ...]:
        """Return every version of every game."""
        return tuple(self._by_id.values())


CATALOGUE: Final = Catalogue([DICE_RACE, DICE_BANK, CARDS_BANK, CARDS_PLACES, CARDS_POINTS])


def read_options(rules: AnyRules, given: Mapping[str, Any], seats: int) -> Struct | Refusal:
    """Turn what was given for a table into the game's options, or refuse it with the clause (G11).

    Where none is a value of an option, giving null sets it; elsewhere null means not given.
    """
    hints = get_type_hints(rules.options)
    set_here = {
        name: value
        for name, value in given.items()
        if value is not None or name not in hints or NoneType in get_args(hints[name])
    }
    try:
        options = msgspec.convert(set_here, rules.options)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        return Refusal(
            "options-invalid", rules.options_clause, {"option": path.rstrip("`") or None, "reason": reason}
        )
    return _seats_refused(rules, seats) or rules.check(options, frozenset(set_here), seats) or options


def restore_options(rules: AnyRules, whole: Mapping[str, Any], seats: int) -> Struct | Refusal:
    """Turn options that `read_options` completed back into the game's options.

    Every option stands in them, whether it was given or not, so none of them counts as set here.
    """
    try:
        options = msgspec.convert(whole, rules.options)
    except msgspec.ValidationError as error:
        return Refusal("options-invalid", rules.options_clause, {"option": None, "reason": str(error)})
    return _seats_refused(rules, seats) or rules.check(options, frozenset(), seats) or options


def _seats_refused(rules: AnyRules, seats: int) -> Refusal | None:
    if rules.seats_min <= seats <= rules.seats_max:
        return None
    return Refusal("seats-invalid", f"{rules.options_clause.partition('-')[0]}-1.1", {
        "seats": seats, "seats_min": rules.seats_min, "seats_max": rules.seats_max
    })  # fmt: skip
