"""Our side: matches by random legal moves, first of the rules alone, then as the service decides them; and replay.

Seconds are those of the processor, of one core: what else the machine does takes away less from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from random import Random
from time import process_time
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from services.contracts.envelope import Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import draft, fact_of
from services.contracts.events.chance import DiceDraw, LotDraw, ShuffleDraw
from services.contracts.events.match import MatchStarted, SeatTaken
from services.engine.rules import match as matches
from services.engine.rules.banking import Stake, StakeRange
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.chance import commitment_of
from services.engine.rules.kernel import AnyRules, Move, Refusal, Waiting

MOVES_MAX: Final = 100_000

T = TypeVar("T")


class Pace(Struct, frozen=True):
    """How far so many seconds of the processor went."""

    moves: int
    matches: int
    seconds: float


class Record(Struct, frozen=True):
    """A match that was played: its facts, those of them that are the game's own, and its events as they are stored."""

    facts: tuple[Fact, ...]
    own: tuple[Fact, ...]
    events: tuple[Event, ...]


class DiceAndCards:
    """Chance without secrets: what a game of chance costs where nobody has to be able to check it."""

    def __init__(self, seed: int) -> None:
        """Begin anew; everything follows from the seed."""
        self._random = Random(seed)

    def dice(self, round: int, count: int) -> DiceDraw:
        """Throw dice."""
        return DiceDraw(round, 0, count, tuple([self._random.randint(1, 6) for _ in range(count)]))

    def lot(self, round: int, among: tuple[int, ...]) -> LotDraw:
        """Draw a seat."""
        return LotDraw(round, 0, among, self._random.choice(among))

    def shuffle(self, round: int, cards: tuple[str, ...]) -> ShuffleDraw:
        """Shuffle cards."""
        shuffled = list(cards)
        self._random.shuffle(shuffled)
        return ShuffleDraw(round, 0, cards, tuple(shuffled))


def play_rules(rules: AnyRules, seats: int, seconds: float, seed: int) -> Pace:
    """Play matches of the rules alone: who may act, legal moves, choose one, decide it and fold what follows."""
    random, chance = Random(seed), DiceAndCards(seed)
    options = rules.options()
    played = moves = 0
    begun = process_time()
    while process_time() - begun < seconds:
        state = rules.initial(options, seats)
        for fact in rules.start(state, chance):
            state = rules.evolve(state, fact)
        while isinstance(waiting := rules.pending(state), Waiting):
            seat = waiting.turn if len(waiting.may_act) == 1 else random.choice(waiting.may_act)
            move = _move(random.choice(rules.legal(state, seat)), random)
            advanced = rules.advance(state, seat, move, chance)
            assert not isinstance(advanced, Refusal), (move, advanced)
            state = advanced[1]
            moves += 1
        played += 1
    return Pace(moves, played, process_time() - begun)


def play_matches(rules: AnyRules, seats: int, seconds: float, seed: int) -> Pace:
    """Play matches as the service decides them, with provable chance and the facts that every match has."""
    played = moves = 0
    begun = process_time()
    while process_time() - begun < seconds:
        moves += sum(1 for _ in _match(rules, seats, seed + played)) - 1
        played += 1
    return Pace(moves, played, process_time() - begun)


def record(rules: AnyRules, seats: int, seed: int) -> Record:
    """Play one match, and keep what the log would hold of it."""
    facts = tuple(fact for told in _match(rules, seats, seed) for fact in told)
    events = chain(
        Head(), [draft(fact, fact, None) for fact in facts],
        stream=_name(seed), actor="p_bench", command="c_bench", at_ms=0, cause=None,
    )  # fmt: skip
    own = tuple(fact for fact in facts if type(fact) not in matches.COMMON_FACTS)
    return Record(facts, own, tuple(events))


def fold_rules(rules: AnyRules, records: Sequence[Record], seats: int, seconds: float) -> float:
    """Fold the game's own facts, and return how many a second."""
    folded = 0
    begun = process_time()
    for each in _again(records, begun + seconds):
        state = rules.initial(rules.options(), seats)
        for fact in each.own:
            state = rules.evolve(state, fact)
        folded += len(each.own)
    return folded / (process_time() - begun)


def fold_matches(rules: AnyRules, records: Sequence[Record], seconds: float) -> float:
    """Replay matches from decoded events, and return how many events a second."""
    catalogue = Catalogue([rules])
    folded = 0
    begun = process_time()
    for each in _again(records, begun + seconds):
        matches.fold(each.facts, catalogue)
        folded += len(each.facts)
    return folded / (process_time() - begun)


def fold_stored(rules: AnyRules, records: Sequence[Record], seconds: float) -> float:
    """Replay matches from the bytes of stored events, and return how many events a second."""
    catalogue = Catalogue([rules])
    folded = 0
    begun = process_time()
    for each in _again(records, begun + seconds):
        matches.fold(map(fact_of, each.events), catalogue)
        folded += len(each.events)
    return folded / (process_time() - begun)


def _match(rules: AnyRules, seats: int, seed: int) -> Iterator[tuple[Fact, ...]]:
    """Play one match; yield its opening, and then what each move led to."""
    random, secret, name = Random(seed), sha256(f"bench {seed}".encode()).digest(), _name(seed)
    started = MatchStarted(
        match=name, table="t_bench", game=rules.name, rules_version=rules.version,
        options=msgspec.Raw(msgspec.json.encode(rules.options())),
        seats=tuple(SeatTaken(f"p_{seat:026d}", "-") for seat in range(seats)),
        turn_seconds=None, rated=False, visibility="public",
        commitment=commitment_of(name, secret), commitment_number=1,
    )  # fmt: skip
    catalogue = Catalogue([rules])
    match = matches.begin(started, catalogue)
    keys = matches.keys_of(match, secret)
    facts = (started, *matches.open_match(match, keys))
    match = matches.fold(facts, catalogue)
    yield facts
    for _ in range(MOVES_MAX):
        waiting = matches.pending(match)
        if waiting is None:
            return
        seat = random.choice(waiting.may_act)
        move = _move(random.choice(matches.legal(match, seat)), random)
        advanced = matches.advance(match, seat, move, keys)
        assert not isinstance(advanced, Refusal), (move, advanced)
        facts, match = advanced
        yield facts
    raise RuntimeError(f"a match of {rules.id} does not end")


def _move(entry: Any, random: Random) -> Move:
    """Turn an entry of ``legal`` into a move: most are one, a stake stands as its range."""
    return Stake(random.randint(entry.min, entry.max)) if type(entry) is StakeRange else entry


def _name(seed: int) -> str:
    return f"m_{seed:026d}"


def _again(items: Sequence[T], end: float) -> Iterator[T]:
    """Go round and round until the time is up."""
    while True:
        for item in items:
            yield item
            if process_time() >= end:
                return
