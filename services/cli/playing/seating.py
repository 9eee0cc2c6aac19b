"""Who sits where: people at the keyboard, and bots or random movers in the other seats."""

from __future__ import annotations

from typing import Final

from services.cli.advice import Advice
from services.cli.playing.movers import RANDOM
from services.engine.bots.bot import LEVELS
from services.engine.rules.kernel import AnyRules

SEATS_USUAL: Final = 3


def seats_of(rules: AnyRules, wanted: int | None) -> int:
    """Return how many seats to play with, where nothing was said a number that the game is pleasant with."""
    return wanted if wanted is not None else min(max(SEATS_USUAL, rules.seats_min), rules.seats_max)


def people_of(seats: int, against: str | None, named: str | None) -> frozenset[int]:
    """Return the seats of people: those named, all of them where it is people against people, else seat 0.

    Raises:
        Advice: the seats are not written as such, or not at the table.
    """
    if named is None:
        return frozenset(range(seats)) if against == "people" else frozenset({0})
    if against == "people":
        raise Advice("With --against people every seat is a person's: leave --people out.")
    people: set[int] = set()
    for word in named.split(","):
        seat = int(word) if word.strip().isascii() and word.strip().isdecimal() else seats
        if seat >= seats:
            raise Advice(
                f"--people takes seats from 0 to {seats - 1}, as in 0,{seats - 1}, and not {named!r}."
            )
        people.add(seat)
    return frozenset(people)


def levels_of(named: str) -> list[str]:
    """Return the levels of bots, as they stand behind ``--bots``.

    Raises:
        Advice: there is no such level.
    """
    levels = [word.strip() for word in named.split(",")]
    known = (*LEVELS, RANDOM)
    for level in levels:
        if level not in known:
            raise Advice(f"--bots takes {', '.join(known)}, as in casual,sharp, and not {level!r}.")
    return levels


def movers_of(seats: int, people: frozenset[int], levels: list[str]) -> dict[int, str]:
    """Return what moves in the seats where no person sits: bots in order, or random movers.

    Raises:
        Advice: there are more or fewer bots than seats without a person.
    """
    others = [seat for seat in range(seats) if seat not in people]
    if not levels:
        return dict.fromkeys(others, RANDOM)
    if len(levels) != len(others):
        raise Advice(f"{len(levels)} bots are named, and {len(others)} of {seats} seats are free for them.")
    return dict(zip(others, levels, strict=True))
