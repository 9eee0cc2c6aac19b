"""A match: what all games have in common, folded from its stream.

Around a game's own facts stand those of every match: it starts, commits to the chance of each round before
anything is drawn in it and reveals it afterwards, ends with places, and reveals the service's seed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from services.contracts.events.base import Fact
from services.contracts.events.chance import ChanceCommitted, ChanceRevealed, SeedRevealed
from services.contracts.events.match import MatchEnded, MatchStarted, MatchVoided, RoundEnded, RoundStarted
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.chance import FairChance, MatchKeys, match_key, round_commitment
from services.engine.rules.kernel import AUDITOR, AnyRules, Move, Over, Refusal, Viewer, Waiting

NO_ROUND: Final = -1

COMMON_FACTS: Final = frozenset({
    MatchStarted, MatchEnded, MatchVoided, ChanceCommitted, ChanceRevealed, SeedRevealed,
})  # fmt: skip


class UnknownRulesError(Exception):
    """A match names rules that this service does not have."""


class Match(Struct, frozen=True):
    """A match between two events.

    Attributes:
        started: the first event.
        rules: the rules that it names.
        game: the game's own state.
        status: ``ended`` and ``voided`` are final.
        places: one per seat when the match has ended, else None.
        round: the round whose chance is committed and not yet revealed, or -1.
        ops: how many random operations that round has had.
    """

    started: MatchStarted
    rules: AnyRules
    game: Any
    status: Literal["running", "ended", "voided"] = "running"
    places: tuple[int, ...] | None = None
    round: int = NO_ROUND
    ops: int = 0

    @property
    def over(self) -> bool:
        """Whether nothing more can be played."""
        return self.status != "running"

    @property
    def keys_message(self) -> tuple[str, str, tuple[str, ...]]:
        """What goes into the match's key beside the service's seed: match, rules, players' seeds."""
        return self.started.match, self.rules.id, tuple(seat.seed for seat in self.started.seats)

    def seat_of(self, player: str) -> int | None:
        """Return the seat of a player, None for somebody who does not sit here."""
        return next((at for at, seat in enumerate(self.started.seats) if seat.player == player), None)


def begin(started: MatchStarted, catalogue: Catalogue) -> Match:
    """Return the match after its first event.

    Raises:
        UnknownRulesError: the catalogue does not have the rules that the match names.
    """
    rules = catalogue.version(started.game, started.rules_version)
    if rules is None:
        raise UnknownRulesError(f"this service has no rules {started.game}@{started.rules_version}")
    options = msgspec.json.decode(started.options, type=rules.options)
    return Match(started=started, rules=rules, game=rules.initial(options, len(started.seats)))


def keys_of(match: Match, seed: bytes) -> MatchKeys:
    """Return the match's keys, given the service's seed."""
    return MatchKeys(seed, match_key(*match.keys_message, seed))


def open_match(match: Match, keys: MatchKeys) -> tuple[Fact, ...]:
    """Return the facts that follow ``match-started`` at once: lots, the first round, the first deal."""
    game, facts = match.game, match.rules.start(match.game, _chance(match, keys))
    for fact in facts:
        game = match.rules.evolve(game, fact)
    return _with_common_facts(match, facts, game, keys)


def decide(match: Match, seat: int, move: Move, keys: MatchKeys) -> tuple[Fact, ...] | Refusal:
    """Decide a move under the match's rules; the facts include what every match adds to those of the game."""
    advanced = advance(match, seat, move, keys)
    return advanced if isinstance(advanced, Refusal) else advanced[0]


def advance(match: Match, seat: int, move: Move, keys: MatchKeys) -> tuple[tuple[Fact, ...], Match] | Refusal:
    """Decide a move, and return with the facts the match that `evolve` would make of them one after another."""
    if match.over:
        return Refusal("match-over", "G9")
    advanced = match.rules.advance(match.game, seat, move, _chance(match, keys))
    if isinstance(advanced, Refusal):
        return advanced
    told, game = advanced
    facts = _with_common_facts(match, told, game, keys)
    after, ops = match, match.ops
    for fact in facts:
        if type(fact) in COMMON_FACTS:
            after = _with_common_fact(after, fact)
        ops = _draws_after(ops, fact)
    return facts, replace(after, game=game, ops=ops)


def void(match: Match, reason: str, keys: MatchKeys) -> tuple[Fact, ...]:
    """Return the facts of a match that does not count: none more for one that is void already.

    A running match is stopped, and its seed revealed all the same. Of one that has ended all is revealed.
    """
    if match.status == "voided":
        return ()
    if match.over:
        return (MatchVoided(reason),)
    return (*_revealed_round(match, keys), MatchVoided(reason), SeedRevealed(keys.seed.hex()))


def evolve(match: Match, fact: Fact) -> Match:
    """Return the match after a fact."""
    return evolve_all(match, (fact,))


def evolve_all(match: Match, facts: Iterable[Fact]) -> Match:
    """Return the match after several facts.

    Between them only the game's state and the count of draws are carried on; a match is made of them once, at the end.
    """
    evolve_game, game, ops = match.rules.evolve, match.game, match.ops
    for fact in facts:
        if type(fact) in COMMON_FACTS:
            match = _with_common_fact(match, fact)
        else:
            game = evolve_game(game, fact)
        ops = _draws_after(ops, fact)
    return replace(match, game=game, ops=ops)


def _draws_after(ops: int, fact: Fact) -> int:
    """Count what was drawn under the chance of the round, which begins with its commitment."""
    if type(fact) is ChanceCommitted:
        return 0
    draw = getattr(fact, "draw", None)
    return ops if draw is None else draw.op + 1


def _with_common_fact(match: Match, fact: Fact) -> Match:
    """Take over what a fact of every game changes; what was drawn is counted apart."""
    match fact:
        case ChanceCommitted():
            return replace(match, round=fact.round)
        case ChanceRevealed():
            return replace(match, round=NO_ROUND)
        case MatchEnded():
            return replace(match, status="ended", places=fact.places)
        case MatchVoided():
            return replace(match, status="voided")
        case _:
            return match


def fold(facts: Iterable[Fact], catalogue: Catalogue) -> Match:
    """Return the match after all these facts, the first of which is ``match-started``.

    Raises:
        ValueError: there is no fact, or the first is another.
        UnknownRulesError: the catalogue does not have the match's rules.
    """
    ordered = iter(facts)
    first = next(ordered, None)
    if not isinstance(first, MatchStarted):
        raise ValueError("a match begins with match-started")  # noqa: TRY004 - the data is wrong, not a type
    return evolve_all(begin(first, catalogue), ordered)


def pending(match: Match) -> Waiting | None:
    """Say what a running match waits for; None when it is over."""
    if match.over:
        return None
    waiting = match.rules.pending(match.game)
    return waiting if isinstance(waiting, Waiting) else None


def legal(match: Match, seat: int) -> tuple[Struct, ...]:
    """Return the legal moves of a seat, none when the match is over."""
    return () if match.over else match.rules.legal(match.game, seat)


def observe(match: Match, viewer: Viewer) -> Struct:
    """Return the position as a viewer may see it; after the end everybody sees all of it (G5)."""
    return match.rules.observe(match.game, AUDITOR if match.over else viewer)


def redact(rules: AnyRules, fact: Fact, viewer: Viewer) -> Fact:
    """Return what a viewer may see of a fact while the match is running."""
    return fact if type(fact) in COMMON_FACTS else rules.redact(fact, viewer)


def move_decoder(rules: AnyRules) -> msgspec.json.Decoder[Any]:
    """Return the decoder of a game's moves as records hold them, the clock's own included."""
    return rules.move_decoder


def _chance(match: Match, keys: MatchKeys) -> FairChance:
    return FairChance(keys, max(match.round, 0), match.ops if match.round != NO_ROUND else 0)


def _with_common_facts(match: Match, facts: tuple[Fact, ...], game: Any, keys: MatchKeys) -> tuple[Fact, ...]:
    """Put the commitments and reveals of each round around a game's facts, and the end behind them.

    ``game`` is the game's state after these facts.
    """
    told: list[Fact] = []
    open_round = match.round

    def commit(round: int) -> None:
        nonlocal open_round
        reveal()
        told.append(ChanceCommitted(round, round_commitment(keys.round_key(round))))
        open_round = round

    def reveal() -> None:
        nonlocal open_round
        if open_round != NO_ROUND:
            told.append(ChanceRevealed(open_round, keys.round_key(open_round).hex()))
        open_round = NO_ROUND

    for fact in facts:
        draw = getattr(fact, "draw", None)
        if isinstance(fact, RoundStarted):
            commit(fact.round)
        elif draw is not None and draw.round != open_round:
            commit(draw.round)
        told.append(fact)
        if isinstance(fact, RoundEnded):
            reveal()
    waiting = match.rules.pending(game)
    if isinstance(waiting, Over):
        reveal()
        told += (MatchEnded(waiting.places), SeedRevealed(keys.seed.hex()))
    return tuple(told)


def _revealed_round(match: Match, keys: MatchKeys) -> tuple[Fact, ...]:
    if match.round == NO_ROUND:
        return ()
    return (ChanceRevealed(match.round, keys.round_key(match.round).hex()),)
