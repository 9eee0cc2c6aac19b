"""A position in sentences, for those who read rather than look: what lay on the table, and who held what."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from services.engine.rules.games import cards_bank, cards_places, cards_points, dice_bank, dice_race
from services.engine.words.naming import (
    SUIT_NAMES,
    UNKNOWN,
    Namer,
    card_in_words,
    cards_in_words,
    count,
    listed,
    seat_name,
)

PILE_SHOWN = 3
"""How many cards of a pile are named, from the top."""


def position(view: Struct, name: Namer = seat_name) -> tuple[str, ...]:
    """Return what a viewer may see of a position as sentences, without the full stops; none for an unknown game."""
    match view:
        case dice_race.View():
            return tuple(_dice_race(view, name))
        case dice_bank.View():
            return tuple(_dice_bank(view, name))
        case cards_bank.View():
            return tuple(_cards_bank(view, name))
        case cards_places.View():
            return tuple(_cards_places(view, name))
        case cards_points.View():
            return tuple(_cards_points(view, name))
        case _:
            return ()


def _dice_race(view: dice_race.View, name: Namer) -> Iterable[str]:
    kind = "an extra round for the pot" if view.kind == "extra" else f"round {view.round}"
    yield f"It was {kind}{', in a playoff' if view.playoff else ''}, played to {view.target}"
    if view.to_play:
        first, *later = view.to_play
        total = count(view.total, "point") if view.total else "nothing rolled"
        yield f"{name(first)} was on turn, with {total} so far; the next roll was of {_dice(view.dice)}"
        yield f"Still to come: {listed(map(name, later))}" if later else "Nobody was to come after"
    yield from _each(
        name, ((p.seat, p.place, f"{count(p.chips, 'chip')}{_score(p.score)}") for p in view.players)
    )
    if view.pot:
        yield f"In the pot lay {count(view.pot, 'chip')}"


def _score(score: int) -> str:
    return f" and a score of {score} in the round" if score else ""


def _dice(number: int) -> str:
    return "one die" if number == 1 else f"{number} dice"


def _dice_bank(view: dice_bank.View, name: Namer) -> Iterable[str]:
    yield f"It was round {view.round} of {view.rounds}, played to {view.target}; {name(view.bank)} held the bank"
    if view.to_stake:
        yield f"{name(view.to_stake[0])} was to lay a stake{_then(name, view.to_stake[1:])}"
    elif view.to_roll:
        yield f"{name(view.to_roll[0])} was to roll{_then(name, view.to_roll[1:])}"
    yield from _each(
        name,
        (
            (
                p.seat,
                p.place,
                f"{count(p.chips, 'chip')}{_stake(p.stake)}{f', {p.total} rolled' if p.total else ''}",
            )
            for p in view.players
        ),
    )


def _then(name: Namer, seats: Sequence[int]) -> str:
    return f"; after that {listed(map(name, seats))}" if seats else ""


def _stake(stake: int) -> str:
    return f", {stake} staked" if stake else ""


def _cards_bank(view: cards_bank.View, name: Namer) -> Iterable[str]:
    yield f"It was coup {view.coup} of {view.coups}; {name(view.bank)} held the bank"
    if view.to_stake:
        yield f"{name(view.to_stake[0])} was to lay a stake{_then(name, view.to_stake[1:])}"
    elif view.to_act:
        yield f"{name(view.to_act[0])} was to stand or ask{_then(name, view.to_act[1:])}"
    yield f"{count(view.stock, 'card')} had not been given out"
    yield from _each(
        name,
        (
            (p.seat, p.place, f"{count(p.chips, 'chip')}{_stake(p.stake)}{_two_cards(p)}")
            for p in view.players
        ),
    )


def _two_cards(player: cards_bank.PlayerView) -> str:
    if player.first is None:
        return ""
    first = (
        "a card face down"
        if player.first == UNKNOWN
        else f"{card_in_words(player.first)}{_face(player.shown)}"
    )
    second = "" if player.second is None else f" and {card_in_words(player.second)}"
    total = "" if player.total is None else f", which count {player.total}"
    return f"; {first}{second}{total}"


def _face(shown: bool) -> str:  # noqa: FBT001 - it is what the view says
    return "" if shown else " (face down)"


def _cards_places(view: cards_places.View, name: Namer) -> Iterable[str]:
    yield from _pile(view.pile, view.stock, view.suit)
    if view.turn is not None:
        yield f"{name(view.turn)} was on turn{', and had called in advance' if view.called else ''}"
    if view.penalty:
        yield f"A penalty of {count(view.penalty, 'card')} was open"
    if view.skips:
        yield f"{count(view.skips, 'turn')} were to be sat out"
    yield from _each(
        name, ((p.seat, p.place, f"{_hand(p.cards, p.hand)}{_places_note(p)}") for p in view.players)
    )


def _places_note(player: cards_places.PlayerView) -> str:
    notes = [
        *([f"{player.points} points against"] if player.points else []),
        *([f"{count(player.turns_to_sit_out, 'turn')} to sit out"] if player.turns_to_sit_out else []),
        *(["had not called, and could be caught"] if player.catchable else []),
        *(["owed the call"] if player.owes_call and not player.catchable else []),
    ]
    return "".join(f"; {note}" for note in notes)


def _cards_points(view: cards_points.View, name: Namer) -> Iterable[str]:
    yield f"It was deal {view.deal}, dealt by {name(view.dealer)}"
    yield from _pile(view.pile, view.stock, view.suit)
    if view.turn is not None:
        yield f"{name(view.turn)} was on turn{', and had drawn' if view.drew else ''}"
    if view.penalty:
        yield f"An unpaid penalty of {count(view.penalty, 'card')} lay on top"
    if view.out:
        yield f"{listed(map(name, view.out))} had laid the last card"
    yield from _each(
        name,
        (
            (
                p.seat,
                p.place,
                f"{_hand(p.cards, p.hand)}; {p.losses} points lost{'; owed the call' if p.owes_call else ''}",
            )
            for p in view.players
        ),
    )


def _pile(pile: Sequence[str], stock: int, suit: str | None) -> Iterable[str]:
    if pile:
        below = tuple(reversed(pile[-PILE_SHOWN:-1]))
        beneath = f"; below it {cards_in_words(below)}" if below else ""
        called = f", and {SUIT_NAMES[suit]} had been called" if suit else ""
        yield f"The top card was {card_in_words(pile[-1])}{called}{beneath}"
    yield f"{count(stock, 'card')} could be drawn"


def _hand(cards: int, hand: Sequence[str] | None) -> str:
    return count(cards, "card") if not hand else f"{count(cards, 'card')}: {cards_in_words(hand)}"


def _each(name: Namer, players: Iterable[tuple[int, int | None, str]]) -> Iterable[str]:
    for seat, place, has in players:
        yield f"{name(seat)} was out, in place {place}" if place is not None else f"{name(seat)} had {has}"
