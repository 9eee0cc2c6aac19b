"""For games that nobody has written a bot for: some legal move. Also for a bot that failed, so that a match goes on."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
from msgspec import Struct

from services.engine.bots.bot import Situation
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.kernel import Move
from services.engine.rules.shedding import Call, Catch


def choose(situation: Situation, chance: Random) -> Move | None:
    """Return a random legal move on turn; beside it say the word that is owed, and catch nobody."""
    if situation.on_turn:
        return sendable(chance.choice(situation.legal), chance)
    return next((move for move in situation.legal if isinstance(move, Call)), None)


def sendable(entry: Struct, chance: Random) -> Move:
    """Turn an entry of ``legal`` into a move: it is one, or a range of stakes."""
    match entry:
        case Move():
            return entry
        case StakeRange():
            return Stake(chance.randint(entry.min, entry.max))
        case _:
            raise TypeError(f"no move is known for {msgspec.to_builtins(entry)}")


def is_catch(move: Any) -> bool:
    """Say whether a move is one that a person needs time to forestall (G15)."""
    return isinstance(move, Catch)
