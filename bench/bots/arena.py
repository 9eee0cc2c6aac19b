"""Matches between bots, played by the rules alone, without a service."""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import sha256
from itertools import combinations
from random import Random
from typing import Any, Final

import msgspec
from msgspec import Struct

from services.contracts.events.match import MatchStarted, SeatTaken
from services.engine.bots.catalogue import Bots
from services.engine.bots.situation import of_running_round, situation
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue, read_options
from services.engine.rules.chance import commitment_of
from services.engine.rules.kernel import AnyRules, Move, Refusal
from services.engine.rules.match import Match

DECISIONS_MAX: Final = 100_000

RED: Final = "sharp"
BLUE: Final = "casual"


class Played(Struct, frozen=True):
    """A match between bots.

    Attributes:
        levels: by seat.
        places: by seat.
        seconds: how long each decision took, by level.
    """

    levels: tuple[str, ...]
    places: tuple[int, ...]
    seconds: dict[str, list[float]]

    def share_of(self, level: str) -> float:
        """Return what part of the first place went to a level: all of it, none, or some where it is shared."""
        first = [of for of, place in zip(self.levels, self.places, strict=True) if place == 1]
        return first.count(level) / len(first)


def arrangements(seats: int) -> tuple[tuple[str, ...], ...]:
    """Return every way to put as many of the one level as of the other on the seats."""
    return tuple(
        tuple(RED if seat in red else BLUE for seat in range(seats))
        for red in combinations(range(seats), seats // 2)
    )


def play(rules: AnyRules, options: dict[str, Any], levels: Sequence[str], seed: int, bots: Bots) -> Played:
    """Play one match; all of it follows from the seed.

    Raises:
        ValueError: a bot made a move that the rules refuse, or the options do not go together.
    """
    chosen = read_options(rules, options, len(levels))
    if isinstance(chosen, Refusal):
        raise ValueError(f"{rules.name} cannot be played so: {chosen}")  # noqa: TRY004 - the options are wrong, not a type
    secret = sha256(f"bench {rules.name} {seed}".encode()).digest()
    name = f"m_{seed:026d}"
    started = MatchStarted(
        match=name, table="t_bench", game=rules.name, rules_version=rules.version,
        options=msgspec.Raw(msgspec.json.encode(chosen)),
        seats=tuple(SeatTaken(f"p_{seat:026d}", "-", level) for seat, level in enumerate(levels)),
        turn_seconds=None, rated=False, visibility="public",
        commitment=commitment_of(name, secret), commitment_number=1,
    )  # fmt: skip
    catalogue = Catalogue([rules])
    match = matches.begin(started, catalogue)
    keys = matches.keys_of(match, secret)
    facts = matches.open_match(match, keys)
    match = matches.fold((started, *facts), catalogue)
    history = of_running_round((), facts)
    seconds: dict[str, list[float]] = {level: [] for level in levels}
    for number in range(DECISIONS_MAX):
        choice = _next_choice(match, history, levels, Random(f"{seed}:{number}"), bots, seconds)
        if choice is None:
            return Played(tuple(levels), match.places or (), seconds)
        seat, move = choice
        decided = matches.decide(match, seat, move, keys)
        if isinstance(decided, Refusal):
            raise ValueError(f"{levels[seat]} of {rules.name} chose {move}: {decided}")  # noqa: TRY004 - as above
        for fact in decided:
            match = matches.evolve(match, fact)
        history = of_running_round(history, decided)
    raise ValueError(f"a match of {rules.name} does not end")


def _next_choice(
    match: Match,
    history: tuple[Any, ...],
    levels: Sequence[str],
    chance: Random,
    bots: Bots,
    seconds: dict[str, list[float]],
) -> tuple[int, Move] | None:
    """Ask who may act, those beside the turn first, in an order that favours nobody."""
    waiting = matches.pending(match)
    if waiting is None:
        return None
    aside = [seat for seat in waiting.may_act if seat != waiting.turn]
    chance.shuffle(aside)
    for seat in (*aside, waiting.turn):
        seen = situation(match, seat, history)
        if seen is None:
            continue
        bot = bots.bot(match.rules.name, levels[seat])
        begun = time.perf_counter()
        move = bot.choose(seen, chance)
        seconds[levels[seat]].append(time.perf_counter() - begun)
        if move is not None:
            return seat, move
    raise ValueError(f"no bot of {match.rules.name} wants to move")
