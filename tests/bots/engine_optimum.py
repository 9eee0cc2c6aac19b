"""The best play as the rules themselves give it: every state, every move, every outcome of the dice, nothing shortened.

Slow and simple on purpose, and with nothing in common with the bots: the states come from ``decide`` and ``evolve``.
Everybody maximises what ``worth`` says of the end of the match for the own seat.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from services.engine.rules.kernel import AnyRules, Over, Refusal
from services.engine.rules.kernel import Move as AnyMove
from tests.support.enumerating_chance import every_outcome

Values = tuple[float, ...]
Normal = Callable[[Any], Any]
Worth = Callable[[Any, Over], Values]


class Optimum:
    """All states that can be reached from some, and what they are worth to every seat under the best play."""

    def __init__(self, rules: AnyRules, first: list[Any], normal: Normal, worth: Worth) -> None:
        """Take states, how to make states alike that differ in nothing that matters, and the worth of an end."""
        self._rules = rules
        self._normal = normal
        self._worth = worth
        self.moves: dict[Any, tuple[int, list[tuple[AnyMove, list[tuple[float, Any]]]]]] = {}
        self.values: dict[Any, Values] = {}
        self._reach(first)
        self._settle()

    def of_moves(self, state: Any) -> list[tuple[AnyMove, float]]:
        """Return what each move is worth to the player who has to decide."""
        turn, moves = self.moves[self._normal(state)]
        return [(move, self._expected(outcomes)[turn]) for move, outcomes in moves]

    def _reach(self, first: list[Any]) -> None:
        border = [self._normal(state) for state in first]
        while border:
            state = border.pop()
            if state in self.moves or state in self.values:
                continue
            waiting = self._rules.pending(state)
            if isinstance(waiting, Over):
                self.values[state] = self._worth(state, waiting)
                continue
            moves = []
            for move in self._rules.legal(state, waiting.turn):
                assert isinstance(move, AnyMove)
                after = [self._normal(each) for each in self._outcomes(state, waiting.turn, move)]
                moves.append((move, [(1 / len(after), each) for each in after]))
                border += after
            self.moves[state] = (waiting.turn, moves)

    def _outcomes(self, state: Any, seat: int, move: AnyMove) -> list[Any]:
        found = []
        for facts in every_outcome(lambda chance: self._rules.decide(state, seat, move, chance)):
            assert not isinstance(facts, Refusal)
            after = state
            for fact in facts:
                after = self._rules.evolve(after, fact)
            found.append(after)
        return found

    def _settle(self) -> None:
        """Improve all values until they stand still; the latest found first, as those are nearer to the end."""
        order = list(reversed(self.moves))
        seats = len(next(iter(self.values.values())))
        values = {**self.values, **dict.fromkeys(order, (1 / seats,) * seats)}
        self.values = values
        for _ in range(10_000):
            change = 0.0
            for state in order:
                turn, moves = self.moves[state]
                found = [self._expected(outcomes) for _, outcomes in moves]
                best = max(value[turn] for value in found)
                # Of two ways that are equally good, standing is taken; it is listed last.
                new = next(value for value in reversed(found) if value[turn] >= best - 1e-12)
                change = max(change, *(abs(a - b) for a, b in zip(new, values[state], strict=True)))
                values[state] = new
            if change < 1e-14:
                return
        raise AssertionError("the values do not settle")

    def _expected(self, outcomes: list[tuple[float, Any]]) -> Values:
        columns = zip(*(self.values[state] for _, state in outcomes), strict=True)
        return tuple(sum(column) / len(outcomes) for column in columns)


def without_count(state: Any) -> Any:
    """Make states of dice-race alike that differ in how many rounds there were before."""
    return replace(state, round=1, rounds_played=1)


def as_it_is(state: Any) -> Any:
    return state


def first_place(state: Any, over: Over) -> Values:
    """Return 1 for the winner."""
    winners = over.places.count(1)
    return tuple(float(Fraction(int(place == 1), winners)) for place in over.places)


def chips(state: Any, over: Over) -> Values:
    """Return the chips at the end."""
    return tuple(map(float, state.chips))
