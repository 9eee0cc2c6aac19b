"""Plays the cases of the two games against a bank: what they have beside dice-race are stakes to choose, and cards."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from services.contracts.events.bank import (
    BankPassed,
    FirstCardDealt,
    FirstCardKept,
    FirstCardShown,
    PacksShuffled,
    RoundSatOut,
    RoundSkipped,
    SecondCardDrawn,
    StakeReturned,
    StakeTaken,
)
from services.contracts.events.chance import ShuffleDraw
from services.engine.rules.kernel import AnyRules, Move
from tests.rules import words
from tests.rules.scenario_file import Case, Step
from tests.rules.scenario_runner import Runner
from tests.support.scripted_chance import Outcome, ScriptedChance, ScriptError


class DeckChance(ScriptedChance):
    """A shuffle leaves the cards of the next script on top, and the others below in the order of the pack."""

    def __init__(self) -> None:
        super().__init__()
        self._decks: list[list[str]] = []

    def give_deck(self, top: list[str]) -> None:
        self._decks.append(top)

    def shuffle(self, round: int, cards: tuple[str, ...]) -> ShuffleDraw:
        if not self._decks:
            raise ScriptError("the rules shuffle, and the case has no deck for it")
        top, rest = self._decks.pop(0), list(cards)
        for card in top:
            rest.remove(card)
        return ShuffleDraw(round, self._number(round), cards, (*top, *rest))

    def assert_used(self) -> None:
        super().assert_used()
        if self._decks:
            raise ScriptError(f"not shuffled: {self._decks}")


class BankRunner(Runner):
    """One case of dice-bank or cards-bank."""

    def __init__(self, rules: AnyRules, case: Case) -> None:
        super().__init__(rules, case)
        self.chance = DeckChance()

    def _in_words(self, facts: Iterable[Any]) -> list[str]:
        return in_words(facts)

    def _move(self, verb: str, others: list[str]) -> tuple[Move | None, list[Outcome]]:
        if verb == "asks":
            return self._read_move(b'{"type":"ask"}'), []
        return super()._move(verb, others)

    def _sight(self, step: Step) -> list[str]:
        word, *rest = step.left.split()
        if word == "shuffle":
            self.chance.give_deck(rest)
            return [step.left]
        if word == "stock":
            return [f"stock {self.rules.observe(self.state, 'spectator').stock}"]
        if word == "sees":
            viewer: Any = int(rest[0]) if rest[0].isdigit() else rest[0]
            view = self.rules.observe(self.state, viewer)
            return [f"sees {rest[0]} {' '.join(map(_cards, view.players))}"]
        if word == "may":
            seat = int(rest[0])
            return [f"may {seat} {' '.join(map(_offered, self.rules.legal(self.state, seat))) or 'nothing'}"]
        return super()._sight(step)


def in_words(facts: Iterable[Any]) -> list[str]:
    """Tell facts as the files of the bank games do."""
    told: list[str] = []
    for dealt, group in groupby(facts, key=lambda fact: isinstance(fact, FirstCardDealt)):
        if dealt:
            told.append(f"cards to {words.seats(fact.seat for fact in group)}")
            continue
        for own, facts_alike in groupby(group, key=lambda fact: bool(_phrase(fact))):
            few = list(facts_alike)
            told += map(_phrase, few) if own else words.in_words(few)
    return told


def _phrase(fact: Any) -> str:
    match fact:
        case BankPassed():
            return f"bank to {fact.seat}"
        case RoundSkipped():
            return f"round {fact.round} skipped: {fact.bank}"
        case RoundSatOut():
            return f"{fact.seat} sits out"
        case StakeTaken():
            return f"{fact.seat} loses {fact.amount}{f' and {fact.beyond} more' if fact.beyond else ''}"
        case StakeReturned():
            return f"{fact.seat} takes back {fact.amount}"
        case PacksShuffled():
            return "shuffled"
        case FirstCardShown():
            return f"{fact.seat} shows {fact.card}"
        case FirstCardKept():
            return f"{fact.seat} stands"
        case SecondCardDrawn():
            return f"{fact.seat} draws {fact.card}"
        case _:
            return ""


def _offered(entry: Any) -> str:
    tag = str(entry.__struct_config__.tag)
    return f"{tag} {entry.min}-{entry.max}" if tag == "stake" else tag


def _cards(player: Any) -> str:
    if player.first is None:
        return "-"
    return f"{player.first}+{player.second}" if player.second else str(player.first)
