"""Plays the cases of the shedding games: positions are laid out card by card, and decks are stacked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from services.contracts.events.cards import (
    Dealt,
    Drew,
    HandCounted,
    Lapsed,
    MacaoCalled,
    MacaoCaught,
    MacaoFined,
    Passed,
    PenaltyCancelled,
    PenaltyStacked,
    PenaltyTaken,
    PileShuffled,
    PileTurned,
    Played,
    SatOut,
    SkipStacked,
    Stalled,
    SuitCalled,
    TurnedUp,
)  # fmt: skip
from services.contracts.events.chance import LotDraw, ShuffleDraw
from services.contracts.events.match import LotDrawn, RoundStarted
from services.engine.rules.catalogue import read_options as read_table_options
from services.engine.rules.kernel import AUDITOR, AnyRules, Move, Refusal, Waiting
from services.engine.rules.places import clockwise
from tests.rules import words
from tests.rules.scenario_file import Case, Step
from tests.rules.scenario_runner import Runner
from tests.support.scripted_chance import Outcome, ScriptedChance, ScriptError

VERBS = {
    "draws": {"type": "draw"},
    "takes": {"type": "take"},
    "passes": {"type": "pass"},
    "sits": {"type": "sit-out"},
    "calls": {"type": "call"},
    "leaves": {"type": "leave"},
}


class StackedChance(ScriptedChance):
    """A whole deck comes with the cards that were put on top, and the others below in the order of the pack.

    Args:
        on_top: these cards, after every shuffle of a deck.
        deck_size: how many cards a deck has; smaller shuffles leave the cards as they are.
        lots: outcomes of lots.
    """

    def __init__(self, on_top: list[str], deck_size: int) -> None:
        super().__init__()
        self._on_top = on_top
        self._deck_size = deck_size

    def shuffle(self, round: int, cards: tuple[str, ...]) -> ShuffleDraw:
        rest = list(cards)
        top = self._on_top if len(cards) == self._deck_size else []
        for card in top:
            if card not in rest:
                raise ScriptError(f"{card} is put on top, and is not among the cards that are shuffled")
            rest.remove(card)
        return ShuffleDraw(round, self._number(round), cards, (*top, *rest))


class CardRunner(Runner):
    """One case of a shedding game."""

    def __init__(self, rules: AnyRules, case: Case) -> None:
        super().__init__(rules, case)
        given = case.given
        self.chance: Any = StackedChance(
            given.get("deck", "").split(), 54 if rules.name == "cards-places" else 104
        )
        if "hands" in given:
            self._lay_out(given)

    def _lay_out(self, given: dict[str, str]) -> None:
        """Fold the facts after which the cards lie as the case has them."""
        hands = tuple(tuple(hand.replace("-", "").split()) for hand in given["hands"].split("|"))
        seats, first = len(hands), int(given.get("first", "0"))
        top, stock = given["top"], tuple(given.get("stock", "").split())
        options = read_table_options(self.rules, self.case.options, seats)
        assert not isinstance(options, Refusal), options
        dealer = first if self.rules.name == "cards-places" else (first - 1) % seats
        in_hands = tuple(card for hand in hands for card in hand)
        cards = (*in_hands, top, *stock)
        self.state = self.rules.initial(options, seats)
        self._fold((
            LotDrawn("starter", dealer, LotDraw(0, 0, tuple(range(seats)), dealer)),
            RoundStarted(1, "round", clockwise(seats, first)),
            Dealt(ShuffleDraw(1, 0, cards, cards), hands),
            TurnedUp(top),
        ))  # fmt: skip

    def _act(self, step: Step) -> list[str]:
        if step.left.startswith("table "):
            return super()._act(step)
        if step.left.startswith("start"):
            kind, outcome = step.left.split()[1:]
            self.chance.give((kind, int(outcome)))
            options = read_table_options(self.rules, self.case.options, self.case.seats)
            self.state = self.rules.initial(options, self.case.seats)
            facts = self.rules.start(self.state, self.chance)
            self._fold(facts)
            return in_words(facts)
        seat, _, rest = step.left.partition(" ")
        if rest.startswith("sends "):
            move = self._read_move(rest.removeprefix("sends ").encode())
        else:
            move, _ = self._move(rest, [])
        outcome = self._decide(int(seat), move)
        return [outcome] if isinstance(outcome, str) else in_words(outcome) + self._end()

    def _move(self, verb: str, others: list[str]) -> tuple[Move | None, list[Outcome]]:
        first, *rest = verb.split()
        if first == "expires":
            return super()._move(first, others)
        if first == "plays":
            body: dict[str, Any] = {"type": "play"}
            if rest[-2:] == ["and", "calls"]:
                rest, body["macao"] = rest[:-2], True
            if rest[-2:-1] == ["for"]:
                rest, body["suit"] = rest[:-2], rest[-1]
            body["cards"] = rest
        elif first == "catches":
            body = {"type": "catch", "seat": int(rest[0])}
        else:
            body = VERBS[first]
        return self._read_move(msgspec.json.encode(body)), []

    def _sight(self, step: Step) -> list[str]:
        word, *rest = step.left.split()
        view: Any = self.rules.observe(self.state, AUDITOR)
        waiting = self.rules.pending(self.state)
        match word:
            case "turn":
                seen = str(waiting.turn) if isinstance(waiting, Waiting) else "nobody"
            case "hand":
                seen = f"{rest[0]} {_cards(view.players[int(rest[0])].hand)}"
            case "stock":
                seen = _cards(view.stock_cards)
            case "pile":
                seen = _cards(view.pile)
            case "suit":
                seen = view.suit or "-"
            case "penalty":
                seen = str(view.penalty)
            case "losses":
                seen = words.seats(player.losses for player in view.players)
            case "everybody":
                self._turns(rest[0], int(rest[1]))
                seen = " ".join(rest)
            case _:
                moves = [_move_in_words(move) for move in self.rules.legal(self.state, int(rest[0]))]
                seen = f"{rest[0]} {' / '.join(moves) or 'nothing'}"
        return [f"{word} {seen}"]

    def _turns(self, verb: str, count: int) -> None:
        """Let turns pass: everybody draws and passes, or draws and lays what was drawn."""
        drawing_ends_the_turn = self.rules.name == "cards-places"
        for _ in range(count):
            seat = self._waiting().turn
            self._accepted(seat, {"type": "draw"})
            if verb == "lays":
                view: Any = self.rules.observe(self.state, AUDITOR)
                self._accepted(seat, {"type": "play", "cards": view.players[seat].hand[-1:]})
            elif not drawing_ends_the_turn:
                self._accepted(seat, {"type": "pass"})

    def _waiting(self) -> Waiting:
        waiting = self.rules.pending(self.state)
        assert isinstance(waiting, Waiting), "the match is over"
        return waiting

    def _accepted(self, seat: int, body: dict[str, Any]) -> None:
        outcome = self._decide(seat, self._read_move(msgspec.json.encode(body)))
        assert not isinstance(outcome, str), outcome


def in_words(facts: Iterable[Any]) -> list[str]:
    """Tell facts as the files of the shedding games do."""
    told: list[str] = []
    for fact in facts:
        phrase = PHRASES.get(type(fact))
        told += [phrase(fact)] if phrase else words.in_words([fact])
    return told


def _cards(cards: Iterable[str], none: str = "-") -> str:
    return " ".join(cards) or none


def _drawn(cards: Iterable[str]) -> str:
    return _cards(cards, "nothing")


def _sat_out(fact: SatOut) -> str:
    more = f" +{fact.turns_left}" if fact.turns_left else ""
    return f"{fact.seat} {'sits out' if fact.accepted else 'misses a turn'}{more}"


PHRASES: dict[type, Callable[[Any], str]] = {
    Dealt: lambda fact: f"deals {' | '.join(map(_cards, fact.hands))}",
    TurnedUp: lambda fact: f"turns up {fact.card}",
    PileTurned: lambda fact: f"pile turned: {_cards(fact.cards)}",
    PileShuffled: lambda fact: f"pile shuffled: {_cards(fact.draw.result)}",
    Played: lambda fact: (
        f"{fact.seat} plays {_cards(fact.cards)}{' ' + fact.direction if fact.direction else ''}"
    ),
    SuitCalled: lambda fact: f"{fact.seat} calls {fact.suit}",
    Drew: lambda fact: f"{fact.seat} draws {_drawn(fact.cards)}",
    Passed: lambda fact: f"{fact.seat} passes",
    PenaltyStacked: lambda fact: f"penalty {fact.total}",
    PenaltyTaken: lambda fact: f"{fact.seat} takes {fact.total}: {_drawn(fact.cards)}",
    PenaltyCancelled: lambda fact: f"penalty {fact.total} void",
    SkipStacked: lambda fact: f"skip {fact.total}",
    SatOut: _sat_out,
    Lapsed: lambda fact: f"penalty {fact.penalty} lapses" if fact.penalty else f"skip {fact.turns} lapses",
    MacaoCalled: lambda fact: f"{fact.seat} calls macao",
    MacaoCaught: lambda fact: f"{fact.by} catches {fact.seat}: {_drawn(fact.cards)}",
    MacaoFined: lambda fact: f"{fact.seat} is fined: {_drawn(fact.cards)}",
    HandCounted: lambda fact: f"{fact.seat} loses {fact.points} at {fact.total}",
    Stalled: lambda fact: f"stalls after {fact.turns}",
}


def _move_in_words(move: Any) -> str:
    match str(move.__struct_config__.tag):
        case "play":
            calling = f" calling {move.suit}" if move.suit else ""
            return f"{_cards(move.cards)}{calling}{' macao' if move.macao else ''}"
        case "catch":
            return f"catch {move.seat}"
        case tag:
            return tag.replace("-", " ")
