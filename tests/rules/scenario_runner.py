"""Plays the cases of a scenario file against a game's rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from services.engine.rules.catalogue import read_options as read_table_options
from services.engine.rules.kernel import SPECTATOR, AnyRules, Expire, Move, Over, Refusal, Waiting
from tests.rules import scenario_file, words
from tests.rules.scenario_file import Case, Step
from tests.support.scripted_chance import Outcome, ScriptedChance, ScriptError

MALFORMED = "malformed"
VERBS = {"rolls": "roll", "stands": "stand", "leaves": "leave"}


class Runner:
    """One case on its way through the rules."""

    def __init__(self, rules: AnyRules, case: Case) -> None:
        self.rules = rules
        self.case = case
        self.chance = ScriptedChance()
        self.state: Any = None

    def run(self) -> None:
        for step in self.case.steps:
            try:
                got = self._sight(step) if step.is_sight else self._act(step)
            except ScriptError as error:
                got = [str(error)]
            expected = [step.left] if step.is_sight else step.expected
            if got != expected:
                self._fail(step, f"expected  {', '.join(expected)}\n  got       {', '.join(got)}")

    def _fail(self, step: Step, why: str) -> None:
        pytest.fail(
            f"{self.case.game}.txt:{step.line}: {self.case.title} ({' '.join(self.case.clauses)})\n"
            f"  {step.left}\n  {why}",
            pytrace=False,
        )

    def _act(self, step: Step) -> list[str]:
        word, _, rest = step.left.partition(" ")
        if word == "table":
            return self._table(rest)
        if word == "start":
            return self._start(rest)
        seat = int(word)
        if rest.startswith("sends "):
            return self._told(seat, self._read_move(rest.removeprefix("sends ").encode()))
        facts: list[Any] = []
        said: list[str] = []
        verb = ""
        for part in rest.split(","):
            first, *others = part.split()
            if first.isdigit():
                others.insert(0, first)
            else:
                verb = first
            move, outcomes = self._move(verb, others)
            self.chance.give(*outcomes)
            outcome = self._decide(seat, move)
            self.chance.assert_used()
            if isinstance(outcome, str):
                said.append(outcome)
            else:
                facts += outcome
        return self._in_words(facts) + said + (self._end() if facts else [])

    def _told(self, seat: int, move: Move | None) -> list[str]:
        outcome = self._decide(seat, move)
        return [outcome] if isinstance(outcome, str) else self._in_words(outcome) + self._end()

    def _in_words(self, facts: Iterable[Any]) -> list[str]:
        return words.in_words(facts)

    def _table(self, rest: str) -> list[str]:
        seats, _, options = rest.partition(" ")
        answer = read_table_options(self.rules, scenario_file.read_options(options), int(seats))
        return [words.refused(answer) if isinstance(answer, Refusal) else "opens"]

    def _start(self, rest: str) -> list[str]:
        options = read_table_options(self.rules, self.case.options, self.case.seats)
        if isinstance(options, Refusal):
            return [words.refused(options)]
        if rest:
            kind, outcome = rest.split()
            self.chance.give((kind, int(outcome)))
        self.state = self.rules.initial(options, self.case.seats)
        facts = self.rules.start(self.state, self.chance)
        self.chance.assert_used()
        self._fold(facts)
        return self._in_words(facts) + self._end()

    def _move(self, verb: str, others: list[str]) -> tuple[Move | None, list[Outcome]]:
        if verb == "expires":
            return Expire(), []
        if verb == "rolls":
            return self._read_move(b'{"type":"roll"}'), [("dice", tuple(map(int, others)))] if others else []
        if verb == "stakes":
            return self._read_move(msgspec.json.encode({"type": "stake", "amount": int(others[0])})), []
        return self._read_move(msgspec.json.encode({"type": VERBS[verb]})), []

    def _read_move(self, body: bytes) -> Move | None:
        try:
            move: Move = msgspec.json.decode(body, type=self.rules.moves)
        except msgspec.ValidationError:
            return None
        return move

    def _decide(self, seat: int, move: Move | None) -> tuple[Any, ...] | str:
        if move is None:
            return MALFORMED
        outcome = self.rules.decide(self.state, seat, move, self.chance)
        if isinstance(outcome, Refusal):
            return words.refused(outcome)
        self._fold(outcome)
        return outcome

    def _fold(self, facts: tuple[Any, ...]) -> None:
        for fact in facts:
            self.state = self.rules.evolve(self.state, fact)

    def _end(self) -> list[str]:
        waiting = self.rules.pending(self.state)
        return [f"ends {words.seats(waiting.places)}"] if isinstance(waiting, Over) else []

    def _sight(self, step: Step) -> list[str]:
        word, *rest = step.left.split()
        view: Any = self.rules.observe(self.state, SPECTATOR)
        waiting = self.rules.pending(self.state)
        match word:
            case "chips":
                seen = words.seats(player.chips for player in view.players)
            case "scores":
                seen = words.seats(player.score for player in view.players)
            case "pot":
                seen = str(view.pot)
            case "turn":
                seen = str(waiting.turn) if isinstance(waiting, Waiting) else "nobody"
            case _:
                moves = [
                    str(move.__struct_config__.tag) for move in self.rules.legal(self.state, int(rest[0]))
                ]
                seen = f"{rest[0]} {' '.join(moves) or 'nothing'}"
        return [f"{word} {seen}"]
