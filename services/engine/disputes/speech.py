"""How a case file speaks: of players by their names, of moves as things that were done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct

from services.contracts.events.base import Fact
from services.contracts.events.catalogue import MatchFact
from services.contracts.events.match import MatchStarted
from services.engine.rules import match as matches
from services.engine.rules.kernel import AnyRules, Move
from services.engine.words import move_in_words, sentence

UNREADABLE = "something that is no move of the game"


class Speech:
    """Speaks of one match."""

    def __init__(self, started: MatchStarted, names: Mapping[str, str]) -> None:
        """Take the names of the players by their ids; who has none, or shares one, is called by the seat as well."""
        known = [names.get(seat.player) for seat in started.seats]
        often = Counter(name.casefold() for name in known if name is not None)
        self._seats = started.seats
        self._names = tuple(
            _called(at, name, seat.bot, unique=name is not None and often[name.casefold()] == 1)
            for at, (name, seat) in enumerate(zip(known, started.seats, strict=True))
        )

    def name(self, seat: int) -> str:
        """Return what a seat is called."""
        return self._names[seat] if 0 <= seat < len(self._names) else f"Seat {seat}"

    def who(self, actor: str) -> str:
        """Return what the actor of an event is called: a player, or a part of the service."""
        parts = {
            "lobby": "the lobby",
            "clock": "the clock",
            "disputes": "a ruling",
            "operator": "the operator",
        }
        seat = self.seat_of(actor)
        return parts.get(actor, "somebody outside the match") if seat is None else self.name(seat)

    def seat_of(self, player: str) -> int | None:
        """Return the seat of a player, None for somebody who does not sit here."""
        return next((at for at, seat in enumerate(self._seats) if seat.player == player), None)

    def sentence(self, fact: Fact) -> str:
        """Return a fact as a sentence, without the full stop."""
        return sentence(cast("MatchFact", fact), self.name)

    def move(self, move: Struct) -> str:
        """Return a move, or an entry of ``legal``, in few words."""
        words = move_in_words(move)
        for at in range(len(self._names)):
            words = words.replace(f"Seat {at}", self.name(at)) if words.endswith(f"Seat {at}") else words
        return words

    def asked(self, rules: AnyRules, move: Mapping[str, Any] | None) -> str:
        """Return what a command asked for."""
        decoded = self.decoded(rules, move)
        return UNREADABLE if decoded is None else self.move(decoded)

    def decoded(self, rules: AnyRules, move: Mapping[str, Any] | None) -> Move | None:
        """Return the move that was kept of a command, None where there is none or not the whole of it."""
        if move is None:
            return None
        try:
            return cast("Move", matches.move_decoder(rules).decode(msgspec.json.encode(move)))
        except msgspec.MsgspecError:
            return None


def _called(seat: int, name: str | None, bot: str | None, *, unique: bool) -> str:
    if bot is not None:
        return f"the {bot} bot in seat {seat}"
    if name is None:
        return f"Seat {seat}"
    return name if unique else f"{name} (seat {seat})"
