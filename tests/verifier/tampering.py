"""Every way to tamper with a finished match, on one match, in words and as a change of its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from services.contracts.envelope import Event
from services.contracts.events.catalogue import fact_of
from services.contracts.events.match import MatchStarted
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.chance import commitment_of
from tests.audit.play import Table, chained, rechained, with_body
from tests.support.matches import choose, played_out

Events = list[Event]
Place = Literal["file", "database"]

MATCH_SEED: Final = 4

CARD, MOVE, LAST = 10, 13, 44
"""The events of the match that are tampered with: a sealed card, a move, the end."""

SOUND: Final = 0
"""In place of a version: nothing is found."""

SAME: Final = -1

NEW_SEED: Final = "ab" * 32
STAND: Final = b'{"seat":0,"move":{"type":"stand"}}'


@cache
def events() -> tuple[Event, ...]:
    """Two coups of cards-bank among three: sealed shuffles and cards, stakes, moves, payments."""
    rules = CATALOGUE.game("cards-bank")
    assert rules is not None
    options = msgspec.convert({"coups": 2, "bank": "stays", "starting_chips": 30}, rules.options)
    return tuple(chained(played_out(rules, options, 3, MATCH_SEED, leave_rate=0)))


@dataclass(frozen=True)
class Tampering:
    """One way.

    Attributes:
        name: in few words.
        change: the events afterwards.
        bad: the first bad version, as a full audit names it; None: not one of the events; SOUND: nothing is found.
        chain_bad: the same for a verifier without rules.
        end: what the closing line, in the database the row of the stream, says afterwards: what it said, where the
            events now end, or (in a file) nothing, for it is cut off too.
        signed: by whom a file is signed afterwards. What lies in the database the service signs as it is read.
        places: where it is done.
    """

    name: str
    change: Callable[[Events], Events]
    bad: int | None
    chain_bad: int | None = SAME
    end: Literal["kept", "moved", "gone"] = "kept"
    signed: Literal["as it was", "another key", "the service"] = "as it was"
    places: tuple[Place, ...] = ("file", "database")

    def expected(self, *, rules: bool) -> int | None:
        """Return the version that is to be named by a verifier with or without the rules."""
        return self.bad if rules or self.chain_bad == SAME else self.chain_bad


def at(version: int, change: Callable[[Event], Event]) -> Callable[[Events], Events]:
    """Change one event."""
    return lambda told: [change(event) if event.version == version else event for event in told]


def and_chain(change: Callable[[Events], Events]) -> Callable[[Events], Events]:
    """Change something, and chain and seal everything anew."""
    return lambda told: rechained(change(told))


def sealed_with(event: Event, old: bytes, new: bytes) -> Event:
    assert event.sealed is not None
    assert old in event.sealed
    return replace(event, sealed=event.sealed.replace(old, new))


def swap_seals(told: Events, first: int = CARD, second: int = CARD + 1) -> Events:
    """Exchange what two events have sealed, with the salts."""
    one, other = told[first - 1], told[second - 1]
    told = list(told)
    told[first - 1] = replace(one, sealed=other.sealed, salt=other.salt)
    told[second - 1] = replace(other, sealed=one.sealed, salt=one.salt)
    return told


def swap_events(told: Events, first: int = MOVE, second: int = MOVE + 1) -> Events:
    """Exchange two events; each takes the other's version, as a database wants it."""
    told = list(told)
    one, other = told[first - 1], told[second - 1]
    told[first - 1] = replace(other, version=one.version)
    told[second - 1] = replace(one, version=other.version)
    return told


def delete(version: int) -> Callable[[Events], Events]:
    return lambda told: [event for event in told if event.version != version]


def close_ranks(told: Events) -> Events:
    """Number the events anew, without a gap."""
    return [replace(event, version=version) for version, event in enumerate(told, 1)]


def insert(told: Events) -> Events:
    """Put an event in behind MOVE - 1, chained well, and move all others up by one."""
    before, model = told[MOVE - 2], told[MOVE - 1]
    forged = rechained([*told[: MOVE - 1], replace(model, command="c_forged", at_ms=before.at_ms)])[-1]
    return close_ranks([*told[: MOVE - 1], forged, *told[MOVE - 1 :]])


def other_seats(event: Event) -> Event:
    seats = msgspec.json.decode(event.body)["seats"]
    return with_body(event, seats=[seats[1], seats[0], *seats[2:]])


def other_player_seed(event: Event) -> Event:
    seats = msgspec.json.decode(event.body)["seats"]
    return with_body(event, seats=[*seats[:-1], {**seats[-1], "seed": "another"}])


def other_shuffle(event: Event) -> Event:
    """The two cards on top change places, in the whole and nowhere else."""
    assert event.sealed is not None
    said = msgspec.json.decode(event.sealed)
    first, second, *others = said["draw"]["result"]
    said["draw"]["result"] = [second, first, *others]
    return replace(event, sealed=msgspec.json.encode(said))


def renamed(told: Events) -> Events:
    """Somebody else sat in a seat, from the first event to the last."""
    old, new = b"p_00000000000000000000000001", b"p_00000000000000000000000099"
    return [
        replace(
            event,
            actor=event.actor.replace(old.decode(), new.decode()),
            body=event.body.replace(old, new),
        )
        for event in told
    ]


def forged_move(told: Events) -> Event:
    """The move of MOVE as a stand, chained well to what stands before it."""
    return rechained([*told[: MOVE - 1], replace(told[MOVE - 1], cause=STAND)])[-1]


def later(told: Events) -> Events:
    """From some event on everything happened a second later."""
    return [event if event.version < MOVE else replace(event, at_ms=event.at_ms + 1000) for event in told]


def made_up(told: Events) -> Events:
    """Another match altogether in the place of this one: same seats, another seed of the service, other moves."""
    started = fact_of(told[0])
    assert isinstance(started, MatchStarted)
    seed = bytes.fromhex(NEW_SEED)
    started = replace(started, commitment=commitment_of(started.match, seed))
    table = Table(CATALOGUE, matches.begin(started, CATALOGUE), seed)
    table.append((started, *matches.open_match(table.match, table.keys)), "lobby", None)
    rng = Random(1)
    while waiting := matches.pending(table.match):
        offered = rng.choice(matches.legal(table.match, waiting.turn))
        table.move(waiting.turn, choose(table.match.rules, offered, rng))
    return table.events


FILE_ONLY: Final[tuple[Place, ...]] = ("file",)

PAID: Final = at(19, lambda event: with_body(event, amount=3))
"""A payment of 4 becomes one of 3."""

EARLIER: Final = at(MOVE, lambda event: replace(event, at_ms=event.at_ms - 9000))

SINGLE: Final = (
    Tampering("edit an outcome", PAID, 19),
    Tampering("edit a move", at(MOVE, lambda event: replace(event, cause=STAND)), MOVE),
    Tampering("move a time", at(MOVE, lambda event: replace(event, at_ms=event.at_ms - 400)), MOVE),
    Tampering("change who moved", at(MOVE, lambda event: replace(event, actor=events()[13].actor)), MOVE),
    Tampering("change the seats", at(1, other_seats), 1),
    Tampering("replace a player's seed", at(1, other_player_seed), 1),
    Tampering("replace the service's seed", at(LAST, lambda event: with_body(event, seed=NEW_SEED)), LAST),
    Tampering("replace the key of a round", at(23, lambda event: with_body(event, key=NEW_SEED)), 23),
    Tampering("edit a sealed body", at(CARD, lambda event: sealed_with(event, b"QD", b"9S")), CARD),
    Tampering("swap two sealed bodies", swap_seals, CARD),
    Tampering("open what was sealed", at(CARD, lambda event: replace(event, body=event.sealed or b"")), CARD),
    Tampering("delete an event", delete(MOVE), MOVE),
    Tampering("delete an event, close the gap", lambda told: close_ranks(delete(MOVE)(told)), MOVE),
    Tampering("swap two events", swap_events, MOVE),
    Tampering("insert an event", insert, MOVE),
    Tampering(
        "put another event in the place of one",
        lambda told: [*told[: MOVE - 1], forged_move(told), *told[MOVE:]],
        MOVE,
    ),
    Tampering("truncate", lambda told: told[:30], 31),
    Tampering("truncate, and the end with it", lambda told: told[:30], 31, end="gone"),
)
"""One thing is changed, and what hangs on it is not."""

REWRITTEN: Final = (
    Tampering("rewrite the chain up to the end", and_chain(PAID), 19, LAST),
    Tampering("rewrite the chain and the end", and_chain(PAID), 19, None, "moved", places=FILE_ONLY),
    Tampering(
        "rewrite all, sign with another key", and_chain(PAID), 19, None, "moved", "another key", FILE_ONLY
    ),
    Tampering("only sign with another key", list, None, SAME, "moved", "another key", FILE_ONLY),
)
"""The chain is made to fit again; whoever did it does not have the key of the service."""

BY_THE_SERVICE: Final = tuple(
    Tampering(name, and_chain(change), bad, chain_bad, "moved", "the service")
    for name, change, bad, chain_bad in (
        ("another shuffle", at(7, other_shuffle), 7, SAME),
        ("another seed of a player", at(1, other_player_seed), 1, SAME),
        ("another seed of the service", at(LAST, lambda event: with_body(event, seed=NEW_SEED)), LAST, SAME),
        ("a time moved back", EARLIER, MOVE, SAME),
        ("another outcome", PAID, 19, SOUND),
        ("two sealed cards swapped", swap_seals, CARD, SOUND),
        ("an event less", delete(MOVE), MOVE, SOUND),
        ("all times from an event on moved on", later, SOUND, SAME),
        ("another player in a seat", renamed, SOUND, SAME),
        ("another match in its place", made_up, SOUND, SAME),
    )
)
"""Everything is chained, sealed and signed anew by somebody who has the key of the service: an operator."""

ALL: Final = (*SINGLE, *REWRITTEN, *BY_THE_SERVICE)
