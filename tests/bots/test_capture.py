"""A bot never knows more than its seat: what it was given in whole matches, against what its seat may see."""

from random import Random
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from services.contracts.events.catalogue import fact_of
from services.contracts.events.match import RoundStarted
from services.engine.bots.bot import LEVELS, Situation
from services.engine.bots.catalogue import BOTS
from services.engine.bots.thinking import Thinking
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import Move
from services.engine.rules.match import Match
from tests.bots.conftest import Table, events_of
from tests.bots.test_bots_play import GAMES, SHORT


class Asked(Struct):
    """One question to a bot, and what it answered."""

    match: str
    version: int
    level: str
    seen: Situation
    answer: Move | None


class Facts:
    """A finished match, from its log: its state and the facts of its round at every version."""

    def __init__(self, events: list[Any]) -> None:
        self.states: dict[int, Match] = {}
        self.rounds: dict[int, list[Any]] = {}
        facts = [fact_of(event) for event in events]
        state = matches.fold(facts[:1], CATALOGUE)
        running: list[Any] = []
        for version, fact in enumerate(facts, start=1):
            state = matches.evolve(state, fact) if version > 1 else state
            running = [fact] if isinstance(fact, RoundStarted) else [*running, fact] if version > 1 else []
            self.states[version] = state
            self.rounds[version] = running


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """All questions that bots are asked while the test runs."""
    kept: list[Asked] = []
    choose = Thinking.choose

    async def listening(
        self: Thinking, match: str, version: int, level: str, rules: Any, seen: Situation
    ) -> Move | None:
        answer = await choose(self, match, version, level, rules, seen)
        kept.append(Asked(match, version, level, seen, answer))
        return answer

    monkeypatch.setattr(Thinking, "choose", listening)
    return kept


@pytest.mark.parametrize("game", GAMES)
async def test_bots_are_given_what_their_seat_sees_and_nothing_else(
    table: Table, asked: list[Asked], game: str
) -> None:
    started = [await table.start(game, ("sharp", "casual", "casual"), SHORT[game]) for _ in range(2)]
    await table.ended(*started)
    facts = {match: Facts(await events_of(table.platform.log, match)) for match in started}
    assert len(asked) > 10
    for question in asked:
        seen, state = question.seen, facts[question.match].states[question.version]
        running = facts[question.match].rounds[question.version]
        waiting = matches.pending(state)
        assert waiting is not None
        assert seen == Situation(
            game=game,
            options=state.game.options,
            seat=seen.seat,
            view=state.rules.observe(state.game, seen.seat),
            legal=state.rules.legal(state.game, seen.seat),
            turn=waiting.turn,
            may_act=waiting.may_act,
            history=tuple(matches.redact(state.rules, fact, seen.seat) for fact in running),
        )
        assert question.level == state.started.seats[seen.seat].bot
        assert b"match-started" not in msgspec.json.encode(seen.history)


@pytest.mark.parametrize("game", GAMES)
async def test_the_same_question_gets_the_same_answer(table: Table, asked: list[Asked], game: str) -> None:
    """Nothing but the situation and the random source decides, and that source comes back from match and version."""
    match = await table.start(game, LEVELS, SHORT[game])
    await table.ended(match)
    again = Thinking(BOTS, table.platform.vault)
    for question in asked:
        chance = Random(again.seed(match, question.version, question.seen.seat))
        assert BOTS.bot(game, question.level).choose(question.seen, chance) == question.answer
    again.close()


def test_nobody_foresees_a_bot_without_the_secret_key(table: Table) -> None:
    thinking = Thinking(BOTS, table.platform.vault)
    sources = [
        thinking.seed(match, version, seat, what)
        for match in ("m_1", "m_2") for version in (1, 2) for seat in (0, 1) for what in ("move", "pause")
    ]  # fmt: skip
    thinking.close()
    assert len(set(sources)) == len(sources)
