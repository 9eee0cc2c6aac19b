"""Moves that somebody might send in a shedding game, sensible or not."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from services.engine.rules.cards import PACK
from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Call, Catch, Draw, Play, SitOut, Take


def any_move(hands: Sequence[Sequence[str]], rng: Random) -> Move:
    """Return a move, most often a play of cards that somebody holds."""
    kind = rng.choice(["play"] * 6 + ["draw", "take", "sit-out", "call", "catch"])
    if kind == "play":
        held = rng.choice([hand for hand in hands if hand] or [PACK])
        card = rng.choice(held)
        alike = [other for other in held if other[0] == card[0]]
        cards = rng.choice([
            [card],
            rng.sample(alike, rng.randint(1, len(alike))),
            rng.choices(held, k=rng.randint(1, 3)),
        ])  # fmt: skip
        return Play(tuple(cards), rng.choice([None, None, "C", "D", "H", "S"]), macao=rng.random() < 0.3)
    others: dict[str, Move] = {
        "draw": Draw(), "take": Take(), "sit-out": SitOut(), "call": Call(),
        "catch": Catch(rng.randint(0, len(hands))),
    }  # fmt: skip
    return others[kind]
