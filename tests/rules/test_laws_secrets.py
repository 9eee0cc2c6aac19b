"""Laws about secrets: what a viewer gets tells what the viewer may know, and nothing else."""

from random import Random
from typing import Any

import msgspec

from services.contracts.chain import seal_of
from services.contracts.envelope import Head, chain
from services.contracts.events import catalogue
from services.contracts.events.chance import ShuffleDraw
from services.contracts.events.match import RoundStarted
from services.engine.rules import match as matches
from services.engine.rules.kernel import AUDITOR, SPECTATOR
from tests.rules.laws import for_tables, law, over_every_rules
from tests.support.matches import Recorded, only, played_out, random_moves, start
from tests.support.toy_game import TOY_1

NOTHING_HIDDEN = ("dice-race", "dice-bank")


def viewers(game: Recorded) -> list[Any]:
    return [SPECTATOR, *range(game.seats)]


def seen_by(viewer: Any, match: Any) -> tuple[Any, ...]:
    """All that a viewer may read of a position."""
    legal = matches.legal(match, viewer) if isinstance(viewer, int) else ()
    return matches.observe(match, viewer), legal, matches.pending(match)


@law
def test_folding_what_a_viewer_was_told_shows_what_the_viewer_sees(rules, count):
    def holds(options, seats, seed):
        game = start(rules, options, seats, seed)
        told = {
            viewer: matches.fold([matches.redact(rules, fact, viewer) for fact in game.opening], only(rules))
            for viewer in viewers(game)
        }
        for command in random_moves(game, Random(seed), leave_rate=0.03):
            for viewer, match in told.items():
                for fact in command.facts:
                    match = matches.evolve(match, matches.redact(rules, fact, viewer))  # noqa: PLW2901
                told[viewer] = match
                if not game.match.over:  # afterwards all facts are public
                    assert seen_by(viewer, match) == seen_by(viewer, game.match)

    for_tables(holds, rules, count)


def words_in(value: Any, *, inputs_too: bool) -> set[str]:
    """All strings in a value, those in the input of a shuffle only if asked: what is in the pack is no secret."""
    match value:
        case str():
            return {value}
        case dict():
            parts = [
                part for name, part in value.items() if inputs_too or name != "cards" or "result" not in value
            ]
            return set().union(*(words_in(part, inputs_too=inputs_too) for part in parts))
        case list() | tuple():
            return set().union(*(words_in(part, inputs_too=inputs_too) for part in value))
    return set()


def renamed(value: Any, names: dict[str, str]) -> Any:
    """The value with cards renamed, except in the input of a shuffle."""
    match value:
        case str():
            return names.get(value, value)
        case dict():
            fixed = {"cards"} if "result" in value else set()
            return {name: part if name in fixed else renamed(part, names) for name, part in value.items()}
        case list() | tuple():
            return [renamed(part, names) for part in value]
    return value


def with_hidden_cards_swapped(facts: list[Any], told: list[Any], rng: Random) -> list[Any] | None:
    """Return the facts with those cards of this deal that a viewer was not told exchanged, if there are any."""
    deal = max((at for at, fact in enumerate(facts) if isinstance(fact, RoundStarted)), default=0)
    draws = (getattr(fact, "draw", None) for fact in facts[deal:])
    pack = {card for draw in draws if isinstance(draw, ShuffleDraw) for card in draw.cards}
    if not pack:
        return None
    hidden = sorted(pack - words_in(msgspec.to_builtins(told[deal:]), inputs_too=False))
    if len(hidden) < 2:
        return None
    names = dict(zip(hidden, rng.sample(hidden, len(hidden)), strict=True))
    return [
        *facts[:deal],
        *(msgspec.convert(renamed(msgspec.to_builtins(fact), names), type(fact)) for fact in facts[deal:]),
    ]


@law
def test_what_a_viewer_cannot_see_makes_no_difference(rules, count):
    """Deal the cards that a viewer was never told in another way: the viewer is told and shown exactly the same."""
    tried = 0

    def holds(options, seats, seed):
        nonlocal tried
        rng = Random(seed)
        game = start(rules, options, seats, seed)
        for _ in random_moves(game, rng, leave_rate=0.03):
            if game.match.over or rng.random() > 0.3:
                continue
            facts = game.facts
            for viewer in viewers(game):
                told = [matches.redact(rules, fact, viewer) for fact in facts]
                other = with_hidden_cards_swapped(facts, told, rng)
                if other is None:
                    continue
                tried += 1
                assert [matches.redact(rules, fact, viewer) for fact in other] == told
                assert seen_by(viewer, matches.fold(other, only(rules))) == seen_by(viewer, game.match)

    for_tables(holds, rules, count)
    if rules.name == TOY_1.name:
        assert tried > count


@law
def test_after_the_end_everybody_sees_everything(rules, count):
    def holds(options, seats, seed):
        game = played_out(rules, options, seats, seed)
        whole = game.rules.observe(game.match.game, AUDITOR)
        assert all(matches.observe(game.match, viewer) == whole for viewer in viewers(game))

    for_tables(holds, rules, count)


@law
def test_the_auditor_is_told_the_whole_fact(rules, count):
    def holds(options, seats, seed):
        for fact in played_out(rules, options, seats, seed).facts:
            assert matches.redact(rules, fact, AUDITOR) == fact

    for_tables(holds, rules, count)


@over_every_rules
def test_sealed_bodies_hide_what_is_redacted_and_keep_the_whole(rules):
    game = played_out(rules, rules.options(), rules.seats_min, 7)
    salt = bytes(range(16))
    drafts = [catalogue.draft(fact, matches.redact(rules, fact, SPECTATOR), salt) for fact in game.facts]
    sealed = 0
    for fact, draft in zip(game.facts, drafts, strict=True):
        public = matches.redact(rules, fact, SPECTATOR)
        assert draft.body == catalogue.encode(public)
        assert (draft.sealed is None) == (draft.salt is None) == (public == fact)
        if draft.sealed is not None:
            sealed += 1
            assert draft.sealed == catalogue.encode(fact)
            assert msgspec.json.decode(draft.sealed, type=type(fact)) == fact
    assert bool(sealed) == (rules.name not in NOTHING_HIDDEN)

    events = chain(Head(), drafts, stream="m_x", actor="engine", command="c_x", at_ms=1, cause=None)
    for event, fact in zip(events, game.facts, strict=True):
        stripped = event.without_secrets()
        assert event.whole == catalogue.encode(fact)
        assert stripped.recomputed_hash() == stripped.hash == event.hash
        assert stripped.sealed is None
        assert stripped.salt is None
        if event.sealed is not None:
            assert seal_of(salt, event.sealed) == event.seal
            whole, public = msgspec.to_builtins(fact), msgspec.json.decode(stripped.body)
            assert words_in(whole, inputs_too=False) - words_in(public, inputs_too=False), (
                "something was hidden"
            )
            hidden = words_in(whole, inputs_too=True) - words_in(public, inputs_too=True)
            assert not any(f'"{word}"'.encode() in stripped.body for word in hidden)
