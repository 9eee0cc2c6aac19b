"""``macao-fair/1``: the published vectors, and that nothing bends the outcomes."""

import json
from collections import Counter
from hashlib import sha256
from hmac import new as hmac
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.contracts.events.chance import DiceDraw, LotDraw, ShuffleDraw
from services.engine.rules import chance
from services.engine.rules.chance import FairChance, MatchKeys, Operation

VECTORS = json.loads((Path(__file__).parent / "fairness-vectors.json").read_text())
SEED = bytes.fromhex(VECTORS["S"])
KEY = chance.match_key(VECTORS["match"], VECTORS["game_at_version"], VECTORS["seeds"], SEED)


class Words(Operation):
    """An operation over words that the test chose."""

    def __init__(self, *words: int) -> None:
        self._words = iter(words)


# The vectors


def test_the_scheme_has_its_name():
    assert VECTORS["scheme"] == chance.SCHEME


def test_commitment_and_keys():
    assert chance.commitment_of(VECTORS["match"], SEED) == VECTORS["commitment"]
    assert KEY.hex() == VECTORS["MK"]
    for number, key in VECTORS["RK"].items():
        assert chance.round_key(KEY, int(number)).hex() == key
        assert chance.round_commitment(bytes.fromhex(key)) == VECTORS["round_commitment"][number]


def test_operations_of_the_vectors():
    key = chance.round_key(KEY, 1)
    expected = VECTORS["round_1"]
    assert list(Operation(key, 0).shuffle(range(54))) == expected["op_0_shuffle_54"]
    assert list(Operation(key, 1).shuffle(range(104))) == expected["op_1_shuffle_104"]
    assert list(Operation(key, 2).dice(24)) == expected["op_2_dice_24"]
    operation = Operation(key, 3)
    assert [operation.uniform(5) for _ in expected["op_3_uniform_5"]] == expected["op_3_uniform_5"]
    assert Operation(chance.round_key(KEY, 0), 0).uniform(3) == VECTORS["round_0"]["op_0_lot_of_3"]


def test_the_vectors_by_way_of_a_match():
    """The same numbers through the interface that a game sees."""
    keys = MatchKeys(SEED, KEY)
    drawing = FairChance(keys, 0, 0)
    assert drawing.lot(0, (4, 6, 9)) == LotDraw(
        0, 0, (4, 6, 9), (4, 6, 9)[VECTORS["round_0"]["op_0_lot_of_3"]]
    )
    cards = tuple(str(card) for card in range(54))
    shuffled = drawing.shuffle(1, cards)
    assert shuffled == ShuffleDraw(1, 0, cards, tuple(map(str, VECTORS["round_1"]["op_0_shuffle_54"])))
    assert drawing.dice(1, 1).op == 1
    assert drawing.dice(1, 24) == DiceDraw(1, 2, 24, tuple(VECTORS["round_1"]["op_2_dice_24"]))


def test_a_second_reading_of_the_scheme_agrees():
    """Words by the text of the scheme, in three lines that share nothing with the code."""
    key = bytes.fromhex(VECTORS["RK"]["1"])
    blocks = (hmac(key, f"macao-fair/1:op:7:{b}".encode(), "sha256").digest() for b in range(3))
    words = [int.from_bytes(block[at : at + 4], "big") for block in blocks for at in range(0, 32, 4)]
    operation = Operation(key, 7)
    assert [operation.uniform(2**32) for _ in words] == words


# What the scheme promises


def test_the_commitment_is_not_the_key_from_which_anything_is_drawn():
    published = {VECTORS["commitment"], *VECTORS["round_commitment"].values()}
    secret = {VECTORS["S"], VECTORS["MK"], *VECTORS["RK"].values()}
    assert not published & secret
    # Whoever took a commitment for a key would draw something else.
    for number, key in VECTORS["RK"].items():
        taken = bytes.fromhex(VECTORS["round_commitment"][number])
        assert Operation(taken, 0).dice(24) != Operation(bytes.fromhex(key), 0).dice(24)
    assert VECTORS["commitment"] != sha256(SEED).hexdigest(), "bound to the match as well"


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6, 7, 54, 104, 2**31 + 1, 2**32 - 1, 2**32])
def test_rejection_is_exact_at_its_bound(n):
    fair = 2**32 - 2**32 % n
    assert Words(fair - 1).uniform(n) == n - 1, "the last fair word counts"
    if fair < 2**32:
        assert Words(fair, 0).uniform(n) == 0, "the first unfair word is thrown away"
        assert Words(2**32 - 1, fair, 1 % n).uniform(n) == 1 % n, "and so is the last"


def test_a_thrown_away_word_belongs_to_the_operation_alone():
    """Every operation has its own stream, so rejections in one move nothing in the next."""
    key = bytes(32)
    first = FairChance(MatchKeys(SEED, key), 1, 0)
    first.dice(1, 500)
    other = FairChance(MatchKeys(SEED, key), 1, 0)
    other.dice(1, 1)
    assert first.shuffle(1, ("a", "b", "c")) == other.shuffle(1, ("a", "b", "c"))


@pytest.mark.parametrize("word_bits", [4, 5, 8])
def test_dice_are_uniform_exactly(word_bits):
    """All words of a small machine, counted out: the same rule over fewer bits leaves every face equally often.

    With w bits the fair words are the first 2^w - 2^w mod 6, a multiple of 6. A bare modulo would not do: of 256
    words, four faces come from 43 and two from 42.
    """
    words = 2**word_bits
    fair = words - words % 6
    faces = Counter(1 + word % 6 for word in range(words) if word < fair)
    assert set(faces.values()) == {fair // 6}
    assert len(set(Counter(1 + word % 6 for word in range(words)).values())) == 2

    # The same, at the code: the words around every edge of 32 bits.
    edge = 2**32 - 2**32 % 6
    assert Counter(Words(word).dice(1) for word in range(edge - 600, edge)) == {
        (face,): 100 for face in range(1, 7)
    }
    assert Counter(Words(word).dice(1) for word in range(600)) == {(face,): 100 for face in range(1, 7)}


def test_shuffles_reach_every_order_equally_often():
    """Three cards take uniform(3) and uniform(2): six pairs of words, six orders."""
    orders = Counter(Words(a, b).shuffle("abc") for a in range(3) for b in range(2))
    assert len(orders) == 6
    assert set(orders.values()) == {1}


@given(st.binary(min_size=32, max_size=32), st.integers(1, 200), st.integers(0, 50))
def test_uniform_stays_in_its_range(key, n, op):
    operation = Operation(key, op)
    assert all(0 <= operation.uniform(n) < n for _ in range(10))


@given(st.binary(min_size=32, max_size=32), st.integers(1, 9), st.lists(st.text(max_size=2), max_size=60))
def test_what_was_drawn_can_be_drawn_again(key, count, cards):
    keys = MatchKeys(SEED, key)
    drawing = FairChance(keys, 3, 5)
    seats = tuple(range(count))
    for draw in (drawing.dice(3, count), drawing.lot(3, seats), drawing.shuffle(4, tuple(cards))):
        assert chance.redraw(keys.round_key(draw.round), draw) == draw
    assert sorted(drawing.shuffle(4, tuple(cards)).result) == sorted(cards)


def test_chance_never_goes_back_to_a_round_that_is_over():
    drawing = FairChance(MatchKeys(SEED, KEY), 2, 0)
    with pytest.raises(ValueError, match="round 1 is over"):
        drawing.dice(1, 1)


@pytest.mark.parametrize("changed", ["match", "game", "seeds", "order", "seed"])
def test_everything_that_was_agreed_on_goes_into_the_key(changed):
    match, game, seeds, seed = "m_1", "g@1", ["a", "b"], SEED
    usual = chance.match_key(match, game, seeds, seed)
    match = "m_2" if changed == "match" else match
    game = "g@2" if changed == "game" else game
    seeds = {"seeds": ["a", "c"], "order": ["b", "a"]}.get(changed, seeds)
    seed = bytes(32) if changed == "seed" else seed
    assert chance.match_key(match, game, seeds, seed) != usual


def test_the_streams_of_rounds_and_operations_have_nothing_in_common():
    heads = [
        tuple(islice((Operation(chance.round_key(KEY, round), op).uniform(2**32) for _ in range(1)), 1))
        for round in range(20)
        for op in range(20)
    ]
    assert len(set(heads)) == 400
