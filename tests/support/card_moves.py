"""Moves that somebody might send in a shedding game, sensible or not."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from services.engine.rules.cards import PACK
from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Call, Draw, Play, Take


def any_move(hands: Sequence[Sequence[str]], rng: Random, *others: Move) -> Move:
    """Return a move, most often a play of cards that somebody holds; ``others`` are those of one game only."""
    if rng.random() < 0.6:
        held = rng.choice([hand for hand in hands if hand] or [PACK])
        card = rng.choice(held)
        alike = [other for other in held if other[0] == card[0]]
        cards = rng.choice([
            [card],
            rng.sample(alike, rng.randint(1, len(alike))),
            rng.choices(held, k=rng.randint(1, 3)),
        ])  # fmt: skip
        return Play(tuple(cards), rng.choice([None, None, "C", "D", "H", "S"]), macao=rng.random() < 0.3)
    return rng.choice([Draw(), Take(), Call(), *others])
