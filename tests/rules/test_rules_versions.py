"""Two versions of one game: a match is decided under the version that it names, for ever (fold, moves, record)."""

import pytest

from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.kernel import Over, Refusal
from tests.rules.golden import FILES, replayed
from tests.support.matches import start
from tests.support.scripted_chance import ScriptedChance
from tests.support.toy_game import TOY_1, TOY_2, Options, Play, Stake

BOTH = Catalogue([TOY_1, TOY_2])
RECORDS = {
    TOY_1: FILES / "toy-card@1-highest-wins.ndjson",
    TOY_2: FILES / "toy-card@2-lowest-wins.ndjson",
}


def test_new_matches_are_played_under_the_newest_version():
    for catalogue in (BOTH, Catalogue([TOY_2, TOY_1])):
        assert catalogue.game("toy-card") is TOY_2
        assert catalogue.newest() == (TOY_2,)
        assert set(catalogue.every_version()) == {TOY_1, TOY_2}
        assert catalogue.version("toy-card", 1) is TOY_1
        assert catalogue.version("toy-card", 3) is None


@pytest.mark.parametrize("rules", RECORDS, ids=lambda rules: rules.id)
def test_a_match_recorded_under_each_version_is_played_again_under_it(rules):
    record = RECORDS[rules].read_bytes()
    assert b"".join(line + b"\n" for line in replayed(record, BOTH)) == record


@pytest.mark.parametrize("rules", RECORDS, ids=lambda rules: rules.id)
def test_without_its_version_a_match_is_not_played_under_another(rules):
    (other,) = {TOY_1, TOY_2} - {rules}
    with pytest.raises(matches.UnknownRulesError, match=rules.id):
        list(replayed(RECORDS[rules].read_bytes(), Catalogue([other])))


@pytest.mark.parametrize(("rules", "places"), [(TOY_1, (2, 1)), (TOY_2, (1, 2))], ids=["highest", "lowest"])
def test_the_two_versions_differ_in_who_wins_the_same_cards(rules, places):
    """Seat 0 holds the two, seat 1 the king; each stakes a chip and plays."""
    chance = ScriptedChance(
        [("lot", 0), ("shuffle", ("2S", "KS", *["3S", "4S", "5S", "6S", "7S", "8S", "9S", "TS", "JS", "QS"]))]
    )
    state = rules.initial(Options(hand=1, deals=1), 2)
    facts = rules.start(state, chance)
    chance.assert_used()
    for seat, card in enumerate(("2S", "KS")):
        for move in (Stake(1), Play(card)):
            for fact in facts:
                state = rules.evolve(state, fact)
            facts = rules.decide(state, seat, move, chance)
            assert not isinstance(facts, Refusal)
    for fact in facts:
        state = rules.evolve(state, fact)
    assert rules.pending(state) == Over(places)


def test_the_version_goes_into_the_match_s_chance():
    """The same seeds under another version draw something else, so a record cannot be passed off as the other's."""
    keys = [start(rules, Options(), 2, 4).keys for rules in (TOY_1, TOY_2)]
    assert keys[0].seed == keys[1].seed
    assert keys[0].key != keys[1].key
