"""Matches of any game for tests: started, played by random movers, and kept with every move and fact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice, product
from math import prod
from random import Random
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.inspect import (
    BoolType,
    IntType,
    LiteralType,
    NoneType,
    StrType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)  # fmt: skip

from services.contracts.events.base import Fact
from services.contracts.events.chance import ShuffleDraw
from services.contracts.events.match import MatchStarted, PlayerEliminated, SeatTaken, WentOut
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE, Catalogue
from services.engine.rules.chance import MatchKeys, commitment_of
from services.engine.rules.kernel import AnyRules, Expire, Leave, Move, Refusal
from services.engine.rules.match import Match
from tests.support.toy_game import TOY_1, TOY_2

TEST_CATALOGUE = Catalogue([*CATALOGUE.every_version(), TOY_1, TOY_2])


def only(rules: AnyRules) -> Catalogue:
    """Return a catalogue that holds nothing else."""
    return Catalogue([rules])


@dataclass
class Command:
    """A move that was accepted, and what followed from it."""

    seat: int
    move: Move
    facts: tuple[Fact, ...]


@dataclass
class Recorded:
    """A match with its whole history."""

    match: Match
    keys: MatchKeys
    opening: tuple[Fact, ...]
    commands: list[Command] = field(default_factory=list)
    out: set[int] = field(default_factory=set)
    """The seats that took a place before the end."""

    @property
    def rules(self) -> AnyRules:
        return self.match.rules

    @property
    def seats(self) -> int:
        return len(self.match.started.seats)

    @property
    def facts(self) -> list[Fact]:
        return [*self.opening, *(fact for command in self.commands for fact in command.facts)]

    def play(self, seat: int, move: Move) -> tuple[Fact, ...] | Refusal:
        """Play a move; a refusal is given back and nothing is kept."""
        outcome = matches.decide(self.match, seat, move, self.keys)
        if not isinstance(outcome, Refusal):
            self.commands.append(Command(seat, move, outcome))
            for fact in outcome:
                self.match = matches.evolve(self.match, fact)
                if isinstance(fact, PlayerEliminated | WentOut):
                    self.out.add(fact.seat)
        return outcome


def start(rules: AnyRules, options: Struct, seats: int, seed: int) -> Recorded:
    """Start a match whose chance, and everything else about it, follows from ``seed``."""
    secret = sha256(f"test seed {seed}".encode()).digest()
    name = "m_" + f"{seed:026d}"[-26:]
    started = MatchStarted(
        match=name,
        table="t_" + name[2:],
        game=rules.name,
        rules_version=rules.version,
        options=msgspec.Raw(msgspec.json.encode(options)),
        seats=tuple(
            SeatTaken(f"p_{seat:026d}", "-" if seat % 2 else f"seed-of-{seat}") for seat in range(seats)
        ),
        turn_seconds=None,
        rated=False,
        visibility="public",
        commitment=commitment_of(name, secret),
        commitment_number=1,
    )
    match = matches.begin(started, only(rules))
    keys = matches.keys_of(match, secret)
    opening = (started, *matches.open_match(match, keys))
    # A coup can be over before anybody has moved, and somebody out by it.
    out = {fact.seat for fact in opening if isinstance(fact, WentOut)}
    return Recorded(matches.fold(opening, only(rules)), keys, opening, out=out)


def choose(rules: AnyRules, entry: Struct, rng: Random) -> Move:
    """Turn an entry of ``legal`` into a move: most are one, a stake stands as its range."""
    if isinstance(entry, Move):
        return entry
    words = msgspec.to_builtins(entry)
    words["amount"] = rng.randint(words.pop("min"), words.pop("max"))
    move: Move = msgspec.convert(words, rules.moves)
    return move


def random_moves(game: Recorded, rng: Random, *, leave_rate: float = 0.01) -> Iterator[Command]:
    """Play random legal moves to the end; now and then somebody leaves, or the clock of the seat on turn runs out."""
    while (waiting := matches.pending(game.match)) is not None:
        if rng.random() < leave_rate:
            seat = rng.choice([seat for seat in range(game.seats) if seat not in game.out])
            move: Move = Leave()
            if rng.random() < 0.5:
                seat, move = waiting.turn, Expire()
        else:
            seat = rng.choice(waiting.may_act)
            move = choose(game.rules, rng.choice(matches.legal(game.match, seat)), rng)
        outcome = game.play(seat, move)
        assert not isinstance(outcome, Refusal), (seat, move, outcome)
        yield game.commands[-1]


def played_out(
    rules: AnyRules, options: Struct, seats: int, seed: int, *, leave_rate: float = 0.01, limit: int = 20_000
) -> Recorded:
    """Play a whole random match."""
    game = start(rules, options, seats, seed)
    for _ in islice(random_moves(game, Random(seed), leave_rate=leave_rate), limit):
        pass
    assert game.match.over, f"still running after {limit} moves"
    return game


def covers(entry: Struct, move: Move) -> bool:
    """Say whether an entry of ``legal`` stands for a move.

    A stake stands as its range. Of several cards played at once only the first and the last matter, so one
    order stands for all that have these two.
    """
    if entry == move:
        return True
    if entry.__struct_config__.tag != move.__struct_config__.tag:
        return False
    listed: dict[str, Any] = msgspec.to_builtins(entry)
    asked: dict[str, Any] = msgspec.to_builtins(move)
    if "min" in listed and "amount" in asked:
        return bool(listed["min"] <= asked["amount"] <= listed["max"])
    if len(asked.get("cards") or ()) > 2:
        for words in (listed, asked):
            cards = words["cards"]
            words["cards"] = [cards[:1], sorted(cards), cards[-1:]]
        return listed == asked
    return False


def conceivable_moves(game: Recorded, rng: Random, limit: int = 60) -> list[Move]:
    """Return moves of every type that the game has, sensible or not: all of them where there are few."""
    cards = sorted(_cards(game))
    listed = [entry for seat in range(game.seats) for entry in matches.legal(game.match, seat)]
    edges = {
        n + by for entry in listed for name, n in msgspec.to_builtins(entry).items()
        if name in ("min", "max") for by in (-1, 0, 1)
    }  # fmt: skip
    pools: dict[str, list[Any]] = {
        "int": sorted(edges | {-1, 0, 1, game.seats, 10**6}),
        "str": [*cards, "", "XX"],
    }
    moves = [entry for entry in listed if isinstance(entry, Move)]
    for kind in _move_types(game.rules):
        names = [f.name for f in kind.fields]
        choices = [_values(f.type, pools, rng) for f in kind.fields]
        if prod(map(len, choices)) <= limit:
            made = list(product(*choices))
        else:
            made = [tuple(map(rng.choice, choices)) for _ in range(limit)]
        moves += [cast("Move", kind.cls(**dict(zip(names, values, strict=True)))) for values in made]
    return moves


def _move_types(rules: AnyRules) -> tuple[StructType, ...]:
    info = type_info(rules.moves)
    types = info.types if isinstance(info, UnionType) else (info,)
    return tuple(kind for kind in types if isinstance(kind, StructType) and kind.cls is not Leave)


def _cards(game: Recorded) -> set[str]:
    draws = (getattr(fact, "draw", None) for fact in game.facts)
    return {card for draw in draws if isinstance(draw, ShuffleDraw) for card in draw.cards}


def _values(kind: Type, pools: dict[str, list[Any]], rng: Random) -> list[Any]:
    match kind:
        case IntType():
            return pools["int"]
        case StrType():
            return pools["str"]
        case BoolType():
            return [False, True]
        case NoneType():
            return [None]
        case LiteralType():
            return list(kind.values)
        case UnionType():
            return [value for part in kind.types for value in _values(part, pools, rng)]
        case VarTupleType():
            single = _values(kind.item_type, pools, rng)
            pairs = [tuple(rng.choices(single, k=rng.randint(2, 4))) for _ in range(40)]
            return [(), *((value,) for value in single), *pairs]
        case _:
            raise NotImplementedError(f"no values for fields of type {kind}")
