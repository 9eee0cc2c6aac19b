"""``sharp`` knows the odds of cards-bank: compared with counting every order of the cards."""

from itertools import permutations
from random import Random

import pytest

from services.engine.bots.card_odds import ANY, COUNTS, HIGHEST, IN_A_PACK, Range, Unseen
from services.engine.bots.cards_bank import STOOD, bank_values, player_values


def sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


def few_cards(chance: Random, number: int) -> list[int]:
    return [chance.choice((*range(10), 0)) for _ in range(number)]


def as_counts(cards: list[int]) -> list[int]:
    return [cards.count(count) for count in COUNTS]


def orders(cards: list[int], face_down: list[Range]) -> list[tuple[int, ...]]:
    """All orders of the cards whose first ones are what the face-down cards can be; equal cards are told apart."""
    return [
        order
        for order in permutations(cards)
        if all(low <= card <= high for card, (low, high) in zip(order, face_down, strict=False))
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_next_cards_are_as_likely_as_counting_says(seed: int) -> None:
    chance = Random(seed)
    cards = few_cards(chance, 7)
    face_down = chance.choices([ANY, STOOD, (0, 4), (0, 2), (0, 0)], k=chance.randint(0, 3))
    odds = Unseen(as_counts(cards), face_down)
    possible = orders(cards, face_down)
    if not possible:
        possible = orders(cards, [ANY] * len(face_down))
    if not possible:
        return
    following = [order[len(face_down) : len(face_down) + 2] for order in possible]
    total = sum(odds.weight(a, b) for a in COUNTS for b in COUNTS)
    for a in COUNTS:
        for b in COUNTS:
            assert odds.weight(a, b) / total == pytest.approx(following.count((a, b)) / len(possible))


@pytest.mark.parametrize("seed", range(8))
def test_the_bank_weighs_its_card_as_counting_says(seed: int) -> None:
    chance = Random(seed)
    own = chance.randint(0, HIGHEST)
    cards = [0, 3, 5, *few_cards(chance, 4)]
    hands = [(STOOD, 0, 2), ((0, 4), 3, 1)]
    others = [ANY] if seed % 2 else []
    stand = draw = 0
    possible = orders(cards, [*(first for first, _, _ in hands), *others])
    assert possible
    for order in possible:
        following = order[len(hands) + len(others)]
        for first, (_, second, stake) in zip(order, hands, strict=False):
            stand += stake * sign(own - first - second)
            draw += stake * (-1 if own + following > 9 else sign(own + following - first - second))
    found = bank_values(as_counts(cards), own, hands, others)
    assert found == pytest.approx((stand / len(possible), draw / len(possible)))


@pytest.mark.parametrize("own", range(HIGHEST + 1))
def test_a_player_alone_weighs_every_card_of_the_pack(own: int) -> None:
    """Against the bank's best answer, itself counted out, over 51 single cards."""
    pack = [count for count in COUNTS for _ in range(IN_A_PACK[count])]
    pack.remove(own)

    def bank_draws(bank: int, second: int | None) -> bool:
        low, high = STOOD if second is None else (0, min(4, 9 - second))
        rest = [*pack, own]
        rest.remove(bank)
        if second is not None:
            rest.remove(second)
        stand = draw = 0
        for at, first in enumerate(rest):
            if low <= first <= high:
                against = first + (second or 0)
                for other, following in enumerate(rest):
                    if other != at:
                        stand += sign(bank - against)
                        draw += -1 if bank + following > 9 else sign(bank + following - against)
        return draw > stand

    answers = {(bank, second): bank_draws(bank, second) for bank in range(7) for second in (None, *COUNTS)}
    stood: list[int] = []
    asked: list[int] = []
    for bank, second, third in permutations(pack, 3):
        if bank > HIGHEST:
            continue
        against = bank + (second if answers[bank, None] else 0)
        stood.append(1 if against > 9 else sign(own - against))
        against = bank + (third if answers[bank, second] else 0)
        if own + second > 9:
            asked.append(-1)
        else:
            asked.append(1 if against > 9 else sign(own + second - against))
    found = player_values(tuple(pack.count(count) for count in COUNTS), own, ())
    assert found == pytest.approx((sum(stood) / len(stood), sum(asked) / len(asked)))


def test_more_than_people_do_is_no_contradiction() -> None:
    """Nine who stood cannot all hold a five or a six; then what they did says nothing."""
    cards = [IN_A_PACK[count] for count in COUNTS]
    assert Unseen(cards, [STOOD] * 9).weight(0) == Unseen(cards, [ANY] * 9).weight(0) > 0


def test_asking_grows_with_what_is_missing() -> None:
    cards = tuple(IN_A_PACK[count] - (count == 3) for count in COUNTS)
    stand, ask = player_values(cards, 3, ())
    assert ask > stand
    stand, ask = player_values(tuple(IN_A_PACK[count] - (count == 6) for count in COUNTS), 6, ())
    assert stand > ask
