"""Counts of positions, as chess programs count theirs: every legal move, every outcome of chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from services.engine.rules.kernel import AnyRules, Move, Refusal, Waiting
from tests.support.enumerating_chance import every_outcome


def openings(rules: AnyRules, options: Struct, seats: int) -> Iterator[Any]:
    """Yield every state in which a match can begin."""
    before = rules.initial(options, seats)
    for facts in every_outcome(lambda chance: rules.start(before, chance)):
        yield _folded(rules, before, facts)


def successors(rules: AnyRules, state: Any) -> Iterator[Any]:
    """Yield the states after every legal move and every outcome, once for each way that leads there."""
    waiting = rules.pending(state)
    for seat in waiting.may_act if isinstance(waiting, Waiting) else ():
        for move in (move for entry in rules.legal(state, seat) for move in moves_of(rules, entry)):
            for facts in every_outcome(lambda chance, s=seat, m=move: rules.decide(state, s, m, chance)):  # type: ignore[misc]
                assert not isinstance(facts, Refusal)
                yield _folded(rules, state, facts)


def moves_of(rules: AnyRules, entry: Struct) -> list[Any]:
    """Return the moves that an entry of ``legal`` stands for: itself, or every stake of a range."""
    if isinstance(entry, Move):
        return [entry]
    words = msgspec.to_builtins(entry)
    amounts = range(words.pop("min"), words.pop("max") + 1)
    return [msgspec.convert(words | {"amount": amount}, rules.moves) for amount in amounts]


def ways(rules: AnyRules, options: Struct, seats: int, moves: int) -> list[int]:
    """Count the ways in which a match can go, after 0, 1, … moves; a match that is over goes no further."""
    counts: dict[Any, int] = {}
    for state in openings(rules, options, seats):
        counts[state] = counts.get(state, 0) + 1
    found = [sum(counts.values())]
    for _ in range(moves):
        after: dict[Any, int] = {}
        for state, count in counts.items():
            for following in successors(rules, state):
                after[following] = after.get(following, 0) + count
        counts = after
        found.append(sum(counts.values()))
    return found


def reachable(rules: AnyRules, options: Struct, seats: int, within: Callable[[Any], bool]) -> set[Any]:
    """Return every state that can be reached without leaving ``within``."""
    found = {state for state in openings(rules, options, seats) if within(state)}
    border = list(found)
    while border:
        for state in successors(rules, border.pop()):
            if within(state) and state not in found:
                found.add(state)
                border.append(state)
    return found


def _folded(rules: AnyRules, state: Any, facts: Any) -> Any:
    for fact in facts:
        state = rules.evolve(state, fact)
    return state
