"""Logs written by hand: facts in, chained and numbered events out, and made-up histories from a seed."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import msgspec

from services.contracts.envelope import Draft, Event, Head, Recorded, chain
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import encode
from services.contracts.events.match import (
    MatchEnded,
    MatchStarted,
    MatchVoided,
    PlayerEliminated,
    RoundEnded,
    RoundStarted,
    SeatTaken,
)
from services.contracts.events.table import (
    BotSeated,
    CommitmentPublished,
    MatchFinished,
    MatchRequested,
    PlayerJoined,
    PlayerLeft,
    SettingsChanged,
    TableClosed,
    TableOpened,
)
from services.contracts.ids import make_id

START_MS = 1_700_000_000_000


def a(kind: str, number: int) -> str:
    """Return the id number ``number`` of a kind."""
    return make_id(kind, START_MS + number, number.to_bytes(10, "big"))


def player(number: int) -> str:
    return a("p", number)


def draft_of(fact: Fact) -> Draft:
    return Draft(str(fact.__struct_config__.tag), fact.SCHEMA, encode(fact))


class Story:
    """A log as it grows. ``commands`` holds what an append takes: the head before, and the events."""

    def __init__(self) -> None:
        self.commands: list[tuple[Head, list[Event]]] = []
        self.records: list[Recorded] = []
        self._heads: dict[str, Head] = {}
        self._number = 0

    @property
    def position(self) -> int:
        return len(self.records)

    def happen(self, stream: str, *facts: Fact, actor: str = "service", cause: Any = None) -> int:
        """Add one command's events; return the position of the last."""
        head = self._heads.get(stream, Head())
        self._number += 1
        events = chain(
            head, [draft_of(fact) for fact in facts], stream=stream, actor=actor, command=f"c_{self._number:026d}",
            at_ms=START_MS + 1000 * self._number,
            cause=None if cause is None else json.dumps(cause, separators=(",", ":")).encode(),
        )  # fmt: skip
        self._heads[stream] = events[-1].head
        self.commands.append((head, events))
        for event in events:
            self.records.append(Recorded(self.position + 1, event))
        return self.position

    def table(self, number: int = 1, *, host: str | None = None, **fields: Any) -> str:
        """Open a table, of dice-race with two seats, public and rated, if nothing else is said."""
        given = {
            "game": "dice-race", "rules_version": 1, "options": msgspec.Raw(b'{"target":9}'), "seats": 2,
            "turn_seconds": None, "visibility": "public", "rated": True, "host": host or player(1), **fields,
        }  # fmt: skip
        self.happen(a("t", number), TableOpened(**given))
        return a("t", number)

    def start(
        self, match: str, *players: str, table: str | None = None, bot: int | None = None, **fields: Any
    ) -> int:
        """Start a match, of dice-race, public and rated, if nothing else is said; ``bot`` is a bot's seat."""
        given = {
            "match": match, "table": table or a("t", 999), "game": "dice-race", "rules_version": 1,
            "options": msgspec.Raw(b'{"target":9}'), "turn_seconds": None, "rated": True, "visibility": "public",
            "commitment": "00" * 32, "commitment_number": 1,
            "seats": tuple(SeatTaken(who, "-", "easy" if at == bot else None) for at, who in enumerate(players)),
            **fields,
        }  # fmt: skip
        return self.happen(match, MatchStarted(**given), actor="lobby", cause={"match_id": match})

    def act(self, match: str, who: str, *facts: Fact, move: str = "roll") -> int:
        """Let a player move; the facts are what came of it."""
        told = facts or (RoundStarted(1, "round", (0, 1)),)
        return self.happen(match, *told, actor=who, cause={"seat": 0, "move": {"type": move}})

    def play(self, match: str, players: list[str], places: list[int], **fields: Any) -> int:
        """Play a whole match in which everybody acts once; return the position of its end."""
        self.start(match, *players, **fields)
        for who in players[:-1]:
            self.act(match, who)
        return self.act(match, players[-1], MatchEnded(tuple(places)))


def invented(seed: int, *, commands: int = 300) -> Story:
    """Make up a history of tables and matches, interleaved: private ones, bots, aborts, voids, rematches."""
    random = Random(seed)
    story = Story()
    people = [player(number) for number in range(1, 13)]
    tables: dict[str, dict[str, Any]] = {}
    running: dict[str, dict[str, Any]] = {}
    ended: list[str] = []
    while len(story.commands) < commands:
        choice = random.random()
        idle = [table for table, at in tables.items() if not at["match"]]
        if (choice < 0.06 and len(idle) < 8) or not tables:
            _open(random, story, tables, people)
        elif choice < 0.3 and idle:
            _sit(random, story, tables, random.choice(idle), people)
        elif choice < 0.5 and idle and len(running) < 4:
            _request(random, story, tables, running, random.choice(idle))
        elif 0.5 <= choice < 0.51 and ended:
            story.happen(ended.pop(random.randrange(len(ended))), MatchVoided("ruled"), actor="operator")
        elif running:
            _move(random, story, tables, running, ended, random.choice(list(running)))
    return story


def _open(random: Random, story: Story, tables: dict[str, Any], people: list[str]) -> None:
    seats = random.choice([2, 2, 3, 4])
    host = random.choice(people)
    table = story.table(
        len(tables) + 1, host=host, seats=seats, game=random.choice(["dice-race", "cards-places"]),
        visibility=random.choice(["public", "public", "private"]), rated=random.random() < 0.8,
    )  # fmt: skip
    tables[table] = {"players": [host, *[None] * (seats - 1)], "match": None, "number": 0}


def _sit(random: Random, story: Story, tables: dict[str, Any], table: str, people: list[str]) -> None:
    at = tables[table]
    seat = random.randrange(len(at["players"]))
    there = at["players"][seat]
    choice = random.random()
    if there is None:
        free = [who for who in people if who not in at["players"]]
        who = at["players"][seat] = random.choice(free)
        if random.random() < 0.15:
            story.happen(table, BotSeated(seat, who, random.choice(["casual", "sharp"])))
        else:
            story.happen(table, PlayerJoined(seat, who, "-"), actor=who)
    elif choice < 0.2:
        at["players"][seat] = None
        facts: list[Fact] = [PlayerLeft(seat, there, "left")]
        if not any(at["players"]):
            facts.append(TableClosed("empty"))
            at["match"] = "never"
        story.happen(table, *facts, actor=there)
    elif choice < 0.3:
        game_options = msgspec.Raw(b'{"target":%d}' % random.choice([9, 12, 15]))
        story.happen(
            table,
            SettingsChanged(
                options=game_options, seats=len(at["players"]), turn_seconds=random.choice([None, 10, 30]),
                visibility=random.choice(["public", "private"]), rated=random.random() < 0.8,
            ),
        )  # fmt: skip
    else:
        story.happen(table, CommitmentPublished(a("m", story.position), "00" * 32, story.position))


def _request(
    random: Random, story: Story, tables: dict[str, Any], running: dict[str, Any], table: str
) -> None:
    at = tables[table]
    if not all(at["players"]):
        return
    match = a("m", 10_000 + story.position)
    at["match"] = match
    story.happen(table, MatchRequested(match))
    bot = 1 if random.random() < 0.15 else None
    story.start(
        match, *at["players"], table=table, bot=bot, rated=random.random() < 0.85,
        game=random.choice(["dice-race", "cards-places"]), visibility=random.choice(["public", "public", "private"]),
    )  # fmt: skip
    running[match] = {
        "table": table,
        "players": list(at["players"]),
        "in": list(range(len(at["players"]))),
        "round": 0,
    }


def _move(
    random: Random,
    story: Story,
    tables: dict[str, Any],
    running: dict[str, Any],
    ended: list[str],
    match: str,
) -> None:
    at = running[match]
    seat = random.choice(at["in"])
    who = at["players"][seat]
    count = len(at["players"])
    choice = random.random()
    facts: list[Fact]
    if choice < 0.08:
        at["in"].remove(seat)
        facts = [PlayerEliminated(seat, "left", len(at["in"]) + 1)]
        over = len(at["in"]) == 1
        if over:
            facts.append(MatchEnded(tuple(random.randint(1, count) for _ in range(count))))
        if random.random() < 0.5:
            story.act(match, who, *facts, move="leave")
        else:
            story.happen(match, *facts, actor="clock")
    else:
        at["round"] += 1
        facts = [RoundEnded(at["round"], (seat,)), RoundStarted(at["round"] + 1, "round", tuple(at["in"]))]
        over = choice > 0.9
        if over:
            facts[1:] = [MatchEnded(tuple(random.randint(1, count) for _ in range(count)))]
        story.act(match, who, *facts)
    if not over and random.random() < 0.01:
        story.happen(match, MatchVoided("ruled"), actor="operator")
    elif not over:
        return
    else:
        ended.append(match)
    del running[match]
    story.happen(at["table"], MatchFinished(match))
    tables[at["table"]]["match"] = None
