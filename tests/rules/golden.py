"""Golden records: whole matches that are kept for ever, each move with the facts that followed from it.

A change of the rules that would make one of them come out another way is a new version of the rules. After a
change that is meant, ``python -m tests.rules.golden`` writes the files again, and the difference is read.

A file is NDJSON: facts exactly as they are stored, and before the facts of a command a line
``{"seat":…,"move":…}`` or ``{"void":…}``. The service's seed is in the last fact, so a file is all it takes to
play the match again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from services.contracts.events.base import Fact
from services.contracts.events.catalogue import encode
from services.contracts.events.match import MatchStarted
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.kernel import Refusal
from tests.support.matches import TEST_CATALOGUE, random_moves, start

FILES = Path(__file__).parent / "golden"


@dataclass(frozen=True)
class Recipe:
    """How a golden match was made: by random movers, from a seed that brings what the name says."""

    rules: str
    name: str
    seats: int
    seed: int
    options: dict[str, Any] = field(default_factory=dict)
    leave_rate: float = 0.0
    void_after: int | None = None

    @property
    def file(self) -> str:
        return f"{self.rules}-{self.name}.ndjson"


RECIPES = (
    Recipe("dice-race@1", "usual", 3, 1),
    Recipe("dice-race@1", "playoffs", 4, 4, {"chips_to_win": 2, "target": 12}),
    Recipe("dice-race@1", "instant-win", 2, 1, {"instant_win": True, "first": 1, "chips_to_win": 4}),
    Recipe("dice-race@1", "pontoon", 3, 1, {"pontoon": True, "instant_win": True}),
    Recipe("dice-race@1", "stakes", 3, 3, {"stakes": "even", "starting_chips": 6, "stake": 2}),
    Recipe(
        "dice-race@1", "dangerous", 4, 28, {"stakes": "dangerous", "starting_chips": 5, "max_rounds": None}
    ),
    Recipe(
        "dice-race@1", "shared-pot", 5, 14, {"stakes": "even", "ties": "share", "max_rounds": 3, "target": 15}
    ),
    Recipe("dice-race@1", "extra-round", 2, 19, {"stakes": "dangerous", "ties": "share", "max_rounds": 1}),
    Recipe("dice-race@1", "eliminations", 6, 1, {"stakes": "even", "starting_chips": 30}, leave_rate=0.1),
    Recipe("dice-race@1", "voided", 3, 10, {"first": 2}, void_after=9),
    Recipe("dice-bank@1", "usual", 3, 1),
    Recipe("dice-bank@1", "chosen-stakes", 4, 1, {"max_stake": 5, "first_bank": 2, "laps": 1}),
    Recipe("dice-bank@1", "double", 3, 1, {"exact_pays_double": True, "max_stake": 4, "laps": 2}),
    Recipe("dice-bank@1", "twenty-one", 3, 1, {"target": 21, "laps": 2}),
    Recipe("dice-bank@1", "points", 4, 1, {
        "points": True, "starting_chips": 1, "min_stake": 2, "max_stake": 6, "laps": 1,
    }),
    Recipe("dice-bank@1", "sitting-out", 4, 1, {"starting_chips": 4, "min_stake": 2, "max_stake": 4}),
    Recipe("dice-bank@1", "not-rolled", 3, 3, {"starting_chips": 2, "exact_pays_double": True, "rounds": 9}),
    Recipe("dice-bank@1", "rounds", 6, 1, {"rounds": 4, "max_stake": 3, "starting_chips": 9}),
    Recipe("dice-bank@1", "eliminations", 6, 1, {"max_stake": 3}, leave_rate=0.06),
    Recipe("dice-bank@1", "bank-leaves", 4, 2, {"max_stake": 3, "rounds": 6}, leave_rate=0.05),
    Recipe("dice-bank@1", "voided", 3, 1, {"max_stake": 2}, void_after=9),
    Recipe("cards-bank@1", "usual", 3, 1),
    Recipe("cards-bank@1", "bank-stays", 4, 2, {"bank": "stays", "first_bank": 1, "coups": 5}),
    Recipe("cards-bank@1", "bank-broke", 3, 1, {"bank": "stays", "starting_chips": 12, "coups": 20}),
    Recipe("cards-bank@1", "two-packs", 5, 1, {"decks": 2, "min_stake": 3, "max_stake": 3}),
    Recipe("cards-bank@1", "points", 3, 1, {"points": True, "starting_chips": 1, "max_stake": 9, "coups": 6}),
    Recipe("cards-bank@1", "sitting-out", 4, 1, {"starting_chips": 6, "coups": 8}),
    Recipe("cards-bank@1", "naturals", 6, 1, {"min_stake": 2, "max_stake": 2, "coups": 4}),
    Recipe("cards-bank@1", "eliminations", 6, 6, {}, leave_rate=0.06),
    Recipe("cards-bank@1", "bank-leaves", 4, 1, {"bank": "stays", "first_bank": 0}, leave_rate=0.08),
    Recipe("cards-bank@1", "voided", 3, 1, {"first_bank": 2}, void_after=9),
    Recipe("cards-places@1", "usual", 3, 85),
    Recipe("cards-places@1", "two-players", 2, 71),
    Recipe("cards-places@1", "six-players", 6, 91),
    Recipe("cards-places@1", "single-cards", 4, 25, {"several_at_once": False, "voluntary_draw": False}),
    Recipe("cards-places@1", "sevens-cancel", 4, 100, {"seven_cancels": True}),
    Recipe("cards-places@1", "wild-jokers", 3, 29, {"joker_wild": True}),
    Recipe("cards-places@1", "kings-reverse", 4, 29, {"king_reverses": True}),
    Recipe("cards-places@1", "points", 3, 85, {"points_limit": 300}),
    Recipe("cards-places@1", "every-house-rule", 5, 27, {
        "points_limit": 150, "seven_cancels": True, "joker_wild": True, "king_reverses": True,
        "several_at_once": False, "voluntary_draw": False,
    }, leave_rate=0.01),
    Recipe("cards-places@1", "eliminations", 6, 20, leave_rate=0.03),
    Recipe("cards-places@1", "stalled", 5, 100),
    Recipe("cards-places@1", "points-stalled", 6, 107, {"points_limit": 100}),
    Recipe("cards-places@1", "voided", 3, 17, void_after=30),
    Recipe("cards-points@1", "usual", 3, 27, {"loss_limit": 300}),
    Recipe("cards-points@1", "two-players", 2, 51, {"loss_limit": 200}),
    Recipe("cards-points@1", "five-players", 5, 114, {"loss_limit": 250}),
    Recipe("cards-points@1", "last-card", 3, 81, {"loss_limit": 200, "macao_call": "last_card"}),
    Recipe("cards-points@1", "last-card-of-five", 5, 115, {"loss_limit": 200, "macao_call": "last_card"}),
    Recipe("cards-points@1", "shuffled-again", 4, 22, {"loss_limit": 200}),
    Recipe("cards-points@1", "eliminations", 5, 38, {"loss_limit": 200}, leave_rate=0.01),
    Recipe(
        "cards-points@1", "last-card-eliminations", 4, 47, {"loss_limit": 200, "macao_call": "last_card"},
        leave_rate=0.02,
    ),
    Recipe("cards-points@1", "stalled", 2, 26, {"loss_limit": 200}),
    Recipe("cards-points@1", "long", 3, 87, {"loss_limit": 400}),
    Recipe("cards-points@1", "voided", 3, 24, void_after=40),
    Recipe("toy-card@1", "highest-wins", 3, 1),
    Recipe("toy-card@2", "lowest-wins", 3, 1),
)  # fmt: skip


def cooked(recipe: Recipe) -> bytes:
    """Play a recipe and return the file that it makes."""
    name, _, version = recipe.rules.partition("@")
    rules = TEST_CATALOGUE.version(name, int(version))
    assert rules is not None, recipe.rules
    game = start(rules, msgspec.convert(recipe.options, rules.options), recipe.seats, recipe.seed)
    lines = [*map(encode, game.opening)]
    for number, command in enumerate(
        random_moves(game, Random(recipe.seed), leave_rate=recipe.leave_rate), 1
    ):
        lines.append(msgspec.json.encode({"seat": command.seat, "move": command.move}))
        lines += map(encode, command.facts)
        if number == recipe.void_after:
            reason = "stopped by an operator"
            lines.append(msgspec.json.encode({"void": reason}))
            lines += map(encode, matches.void(game.match, reason, game.keys))
            break
    return b"".join(line + b"\n" for line in lines)


def replayed(record: bytes, catalogue: Catalogue) -> Iterator[bytes]:
    """Play a golden file again, from its first fact, its moves and the seed that it reveals; yield its lines."""
    lines = record.splitlines()
    match = matches.begin(msgspec.json.decode(lines[0], type=MatchStarted), catalogue)
    keys = matches.keys_of(match, bytes.fromhex(json.loads(lines[-1])["seed"]))
    decoder = matches.move_decoder(match.rules)
    yield lines[0]
    outcome: tuple[Fact, ...] | Refusal = matches.open_match(match, keys)
    asked = [line for line in lines if not line.startswith(b'{"type"')]
    for line in [None, *asked]:
        if line is not None:
            yield line
            request = json.loads(line)
            if "void" in request:
                outcome = matches.void(match, request["void"], keys)
            else:
                move = decoder.decode(json.dumps(request["move"]))
                outcome = matches.decide(match, request["seat"], move, keys)
        assert not isinstance(outcome, Refusal), (line, outcome)
        for fact in outcome:
            match = matches.evolve(match, fact)
            yield encode(fact)


def main() -> int:
    """Write every file again, and say which ones changed."""
    FILES.mkdir(exist_ok=True)
    wanted = {recipe.file for recipe in RECIPES}
    for recipe in RECIPES:
        path, made = FILES / recipe.file, cooked(recipe)
        old = path.read_bytes() if path.exists() else None
        print("same   " if made == old else "new    " if old is None else "CHANGED", recipe.file)  # noqa: T201
        path.write_bytes(made)
    for path in sorted(FILES.glob("*.ndjson")):
        if path.name not in wanted:
            print("no recipe for", path.name)  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
