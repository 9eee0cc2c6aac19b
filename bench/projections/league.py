"""A seeded league: who plays whom, and in what order they come in. And its matches as events, for the log."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

import msgspec

from services.contracts.envelope import Draft, Event, Head, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import encode
from services.contracts.events.chance import DiceDraw
from services.contracts.events.dice import Busted, Rolled, Stood
from services.contracts.events.match import (
    MatchEnded,
    MatchStarted,
    MatchVoided,
    RoundEnded,
    RoundStarted,
    SeatTaken,
)
from services.contracts.ids import make_id

GAME: Final = "dice-race"
START_MS: Final = 1_700_000_000_000
OPTIONS: Final = msgspec.Raw(b'{"target":9}')


class League:
    """Players of different strength and zeal; a few of them play much more than the others.

    Args:
        players: how many there are; not all need ever play.
    """

    def __init__(self, players: int, seed: int = 1) -> None:
        self._random = Random(seed)
        self.players = [
            make_id("p", START_MS + number, self._random.randbytes(10)) for number in range(players)
        ]
        self._strengths = [self._random.gauss(0, 1) for _ in range(players)]
        self._number = 0

    def result(self) -> tuple[list[str], list[int]]:
        """Return the players of the next match and their places; one in twenty shares the place of another."""
        random = self._random
        count = random.choice((2, 2, 2, 3, 4))
        seats: list[int] = []
        while len(seats) < count:
            one = int(len(self.players) * random.random() ** 1.5)
            if one not in seats:
                seats.append(one)
        form = [self._strengths[one] + random.gauss(0, 1) for one in seats]
        if random.random() < 0.05:
            form[0] = form[1]
        places = [1 + sum(other > own for other in form) for own in form]
        return [self.players[one] for one in seats], places

    def match_id(self) -> str:
        """Return the next match's id."""
        self._number += 1
        return make_id("m", START_MS + self._number, self._random.randbytes(10))

    def match(self, rounds: int) -> tuple[str, list[tuple[Head, list[Event]]]]:
        """Return a whole match, command by command: the head before, and the events; rolled and stood by turns."""
        players, places = self.result()
        match = self.match_id()
        commands: list[tuple[Head, list[Event]]] = []
        head = Head()
        for actor, cause, facts in self._course(match, players, places, rounds):
            events = chained(match, head, actor, cause, facts, len(commands))
            commands.append((head, events))
            head = events[-1].head
        return match, commands

    def _course(
        self, match: str, players: list[str], places: list[int], rounds: int
    ) -> Iterator[tuple[str, bytes | None, list[Fact]]]:
        seats = tuple(SeatTaken(player, "-") for player in players)
        order = tuple(range(len(players)))
        started = MatchStarted(
            match=match, table=f"t{match[1:]}", game=GAME, rules_version=1, options=OPTIONS, seats=seats,
            turn_seconds=None, rated=True, visibility="public", commitment="00" * 32, commitment_number=1,
        )  # fmt: skip
        yield "lobby", None, [started, RoundStarted(1, "round", order)]
        for round in range(1, rounds + 1):
            for seat, player in enumerate(players):
                for number in range(2):
                    fell = self._random.randint(1, 6)
                    rolled = Rolled(seat, DiceDraw(round, seat * 3 + number, 1, (fell,)), fell)
                    yield player, b'{"seat":%d,"move":{"type":"roll"}}' % seat, [rolled]
                busted = self._random.random() < 0.2
                stop: list[Fact] = [Busted(seat) if busted else Stood(seat, 7)]
                if seat == len(players) - 1:
                    stop.append(RoundEnded(round, (0,)))
                    last = round == rounds
                    stop.append(
                        MatchEnded(tuple(places)) if last else RoundStarted(round + 1, "round", order)
                    )
                yield player, b'{"seat":%d,"move":{"type":"stand"}}' % seat, stop


def chained(
    stream: str, head: Head, actor: str, cause: bytes | None, facts: list[Fact], number: int
) -> list[Event]:
    """Chain the events of one command behind a head."""
    drafts = [Draft(str(fact.__struct_config__.tag), fact.SCHEMA, encode(fact)) for fact in facts]
    return chain(
        head,
        drafts,
        stream=stream,
        actor=actor,
        command=f"{stream}:{number}",
        at_ms=START_MS + number,
        cause=cause,
    )


def voided(match: str, head: Head) -> tuple[Head, list[Event]]:
    """Return the command that voids a match which has ended."""
    return head, chained(match, head, "operator", None, [MatchVoided("ruled")], head.version)
