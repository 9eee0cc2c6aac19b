"""The laws about secrets and chance, held against toys that break them: a law that cannot fail shows nothing."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from services.contracts.events.chips import Paid
from services.contracts.events.match import RoundEnded
from services.engine.rules.kernel import AUDITOR, Refusal
from tests.rules import test_laws_chance, test_laws_log, test_laws_moves, test_laws_secrets
from tests.support.toy_game import TOY_1, Dealt, Play

TELLS_HANDS = replace(TOY_1, redact=lambda event, viewer: event)
TELLS_THE_SHUFFLE = replace(
    TOY_1,
    redact=lambda event, viewer: (
        changed(TOY_1.redact(event, viewer), draw=event.draw)
        if isinstance(event, Dealt)
        else TOY_1.redact(event, viewer)
    ),
)
SHOWS_EVERYTHING = replace(TOY_1, observe=lambda state, viewer: TOY_1.observe(state, AUDITOR))
SHOWS_THE_DECK = replace(
    TOY_1,
    observe=lambda state, viewer: changed(TOY_1.observe(state, viewer), deck=state.deck and state.deck[-1:]),
)
OFFERS_TOO_MUCH = replace(
    TOY_1, legal=lambda state, seat: (*legal, Play("XX")) if (legal := TOY_1.legal(state, seat)) else ()
)
OFFERS_TOO_LITTLE = replace(TOY_1, legal=lambda state, seat: TOY_1.legal(state, seat)[-1:])
CITES_NOTHING = replace(
    TOY_1,
    decide=lambda *asked: (
        changed(outcome, clause="TOY-9.9")
        if isinstance(outcome := TOY_1.decide(*asked), Refusal)
        else outcome
    ),
)
PAYS_TWICE = replace(
    TOY_1,
    evolve=lambda state, event: TOY_1.evolve(
        state, changed(event, amount=event.amount + 1) if isinstance(event, Paid) else event
    ),
)
NEVER_ENDS_A_ROUND = replace(
    TOY_1,
    decide=lambda *asked: (
        outcome
        if isinstance(outcome := TOY_1.decide(*asked), Refusal)
        else tuple(fact for fact in outcome if not isinstance(fact, RoundEnded)) or outcome
    ),
)


@pytest.mark.parametrize(
    ("law", "rules"),
    [
        (test_laws_secrets.test_what_a_viewer_cannot_see_makes_no_difference, TELLS_HANDS),
        (test_laws_secrets.test_what_a_viewer_cannot_see_makes_no_difference, TELLS_THE_SHUFFLE),
        (test_laws_secrets.test_what_a_viewer_cannot_see_makes_no_difference, SHOWS_EVERYTHING),
        (test_laws_secrets.test_what_a_viewer_cannot_see_makes_no_difference, SHOWS_THE_DECK),
        (test_laws_secrets.test_folding_what_a_viewer_was_told_shows_what_the_viewer_sees, SHOWS_EVERYTHING),
        (test_laws_moves.test_legal_is_what_is_accepted, OFFERS_TOO_MUCH),
        (test_laws_moves.test_legal_is_what_is_accepted, OFFERS_TOO_LITTLE),
        (
            test_laws_moves.test_a_refusal_is_in_the_catalogue_cites_a_clause_and_changes_nothing,
            CITES_NOTHING,
        ),
        (test_laws_log.test_chips_go_nowhere_but_from_hand_to_hand, PAYS_TWICE),
    ],
)
def test_a_broken_toy_is_found_out(law, rules):
    with pytest.raises(AssertionError):
        law(rules, 30)


def test_a_round_without_its_end_is_still_revealed():
    """The match layer closes the round before, so a game cannot leave one unrevealed."""
    test_laws_chance.test_every_draw_of_a_match_can_be_made_again_from_what_it_reveals(NEVER_ENDS_A_ROUND, 20)
