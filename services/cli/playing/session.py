"""A match from the first move to the last: whose turn it is, who sits at the keyboard, and what they may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from services.cli.pictures import draw
from services.cli.playing import menu
from services.cli.playing.menu import Item
from services.cli.playing.movers import Movers
from services.cli.playing.reading import Misread, read_move, read_suit
from services.cli.playing.refused import refused_in_words
from services.cli.playing.scene import Scene, log_of
from services.cli.playing.screen import Screen
from services.cli.playing.table import Table
from services.cli.playing.vocabulary import Vocabulary
from services.contracts.events.base import Fact
from services.engine.rules import match as matches
from services.engine.rules.kernel import SPECTATOR, Move, Refusal, Viewer, Waiting
from services.engine.rules.shedding import Play
from services.engine.words import move_in_words, seat_name

ALWAYS = (Item("leave", "give the seat up"), Item("q", "end"))
SUITS = (Item("c", "♣ clubs"), Item("d", "♦ diamonds"), Item("h", "♥ hearts"), Item("s", "♠ spades"))


class Session:
    """People at one keyboard, and movers in the other seats."""

    def __init__(self, table: Table, people: frozenset[int], movers: Movers, screen: Screen) -> None:
        """Sit down at a table."""
        self._table = table
        self._people = people
        self._movers = movers
        self._screen = screen
        self._vocabulary = Vocabulary(table.rules)
        self._holder: int | None = None
        self._shown: dict[Viewer, list[Fact]] = {}
        self._seen: dict[Viewer, int] = {}

    def play(self) -> None:
        """Play until the match is over.

        Raises:
            Quit: somebody has had enough before.
        """
        while (waiting := matches.pending(self._table.match)) is not None:
            if self._somebody_acts_aside(waiting):
                continue
            if waiting.turn in self._people:
                self._let_person_move(waiting.turn)
            else:
                self._let_mover_move(waiting.turn)

    # Out of turn: a call, a catch

    def _somebody_acts_aside(self, waiting: Waiting) -> bool:
        aside = [seat for seat in waiting.may_act if seat != waiting.turn]
        people = [seat for seat in aside if seat in self._people]
        if people and self._ask_aside(people):
            return True
        return any(self._let_mover_move(seat) for seat in aside if seat not in self._people)

    def _ask_aside(self, people: Sequence[int]) -> bool:
        """Offer what can be done out of turn. Several people share the keyboard, so nobody's cards are shown for it."""
        offers = [(seat, move) for seat in people for move in matches.legal(self._table.match, seat)]
        alone = len(self._people) == 1
        offered = [
            Item(str(number), f"{seat_name(seat)}: {move_in_words(move)}")
            for number, (seat, move) in enumerate(offers, 1)
        ]
        offered.append(Item("Enter", "go on without"))
        viewer: Viewer = people[0] if alone else SPECTATOR
        scene, complaint = self._scene(viewer, [self._menu(offered)]), ""
        if not alone:
            self._holder = None
        while True:
            line = self._screen.ask(scene, complaint)
            if not line:
                return False
            if line.isascii() and line.isdecimal() and 1 <= int(line) <= len(offers):
                seat, move = offers[int(line) - 1]
                self._table.play(seat, cast("Move", move))
                return True
            complaint = f"{line!r} is none of it. Type {menu.what_to_type(offered)}."

    # Moves in turn

    def _let_mover_move(self, seat: int) -> bool:
        """Let a mover do what it wants to; say whether it wanted anything."""
        move = self._movers.choose(self._table.match, seat, self._table.facts)
        if move is None:
            return False
        outcome = self._table.play(seat, move)
        if isinstance(outcome, Refusal):
            raise RuntimeError(f"{move} of the mover in {seat_name(seat)} is refused: {outcome}")  # noqa: TRY004
        return True

    def _let_person_move(self, seat: int) -> None:
        self._hand_over_to(seat)
        legal = matches.legal(self._table.match, seat)
        hand = menu.hand_of(self._view(seat), seat)
        offered = [*menu.items(legal, hand, self._vocabulary), *ALWAYS]
        drawn = [menu.numbered_hand(hand, legal, self._screen.cells)] if hand else []
        scene, complaint = self._scene(seat, [*drawn, self._menu(offered)]), ""
        while True:
            line = self._screen.ask(scene, complaint)
            try:
                move = read_move(line, self._table.rules, self._vocabulary, legal, hand)
            except Misread as misread:
                complaint = f"{misread}. Type {menu.what_to_type(offered)}."
                continue
            outcome = self._table.play(seat, self._with_suit(move, legal, scene))
            if not isinstance(outcome, Refusal):
                self._show_secrets(seat, outcome)
                return
            complaint = refused_in_words(outcome)

    def _with_suit(self, move: Move, legal: Sequence[Struct], scene: Scene) -> Move:
        """Ask for the suit that a card calls, if it calls one and none was typed."""
        if not isinstance(move, Play) or move.suit is not None:
            return move
        calls = any(
            isinstance(entry, Play) and entry.suit and entry.cards[0] == move.cards[0] for entry in legal
        )
        while calls:
            choices = "; ".join(f"{item.keys} for {item.does}" for item in SUITS)
            line = self._screen.ask(scene, f"Which suit? Type {choices}.")
            suit = cast("Any", read_suit(line))
            if suit is not None:
                return replace(move, suit=suit)
        return move

    # Who sits at the keyboard, and what they see

    def _hand_over_to(self, seat: int) -> None:
        """Let the keyboard change hands unseen, once there is something that only one may see."""
        if seat != self._holder and len(self._people) > 1 and self._has_secrets(seat, self._table.facts):
            self._screen.pause(f"Pass the keyboard to {seat_name(seat)}, and press Enter.")
        self._holder = seat

    def _show_secrets(self, seat: int, facts: Sequence[Fact]) -> None:
        """Before the keyboard goes on, show what only this seat may know, such as a card drawn."""
        waiting = matches.pending(self._table.match)
        goes_on = waiting is not None and waiting.turn != seat and len(self._people) > 1
        if goes_on and self._has_secrets(seat, facts):
            hand = menu.hand_of(self._view(seat), seat)
            drawn = [menu.numbered_hand(hand, (), self._screen.cells)] if hand else []
            self._screen.ask(self._scene(seat, [*drawn, self._menu([Item("Enter", "go on")])]))

    def _has_secrets(self, seat: int, facts: Sequence[Fact]) -> bool:
        rules = self._table.rules
        return any(
            matches.redact(rules, fact, seat) != matches.redact(rules, fact, SPECTATOR) for fact in facts
        )

    def _menu(self, offered: Sequence[Item]) -> Text:
        return menu.in_lines(offered, self._screen.cells)

    def _view(self, viewer: Viewer) -> Struct:
        return matches.observe(self._table.match, viewer)

    def _scene(self, viewer: Viewer, below: Sequence[Text]) -> Scene:
        facts = self._facts_for(viewer)
        seen, self._seen[viewer] = self._seen.get(viewer, 0), len(facts)
        who = f"{seat_name(viewer)} at the keyboard" if isinstance(viewer, int) else "everybody may look on"
        heading = f"{self._table.rules.id}, version {len(facts)}, {who}"
        return Scene(
            heading, draw(self._table.rules.name, self._view(viewer), facts), log_of(facts, seen), below
        )

    def _facts_for(self, viewer: Viewer) -> list[Fact]:
        shown = self._shown.setdefault(viewer, [])
        shown += (matches.redact(self._table.rules, fact, viewer) for fact in self._table.facts[len(shown) :])
        return shown
