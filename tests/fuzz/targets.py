"""What takes bytes from strangers, as functions of bytes: none may raise anything, and what they take has to hold.

The first bytes choose (an event type, a game, a seat), the rest is what somebody sent. So that both may use them: the
tests here, with examples by Hypothesis, and the coverage-guided runs of ``python -m tests.fuzz``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from random import Random
from typing import Any, Final

import msgspec

from services.contracts.events.catalogue import TYPES, UndecodableEventError, decode, encode
from services.engine.audit import audit_lines, describe
from services.engine.rules import match as matches
from services.engine.rules.catalogue import CATALOGUE, read_options
from services.engine.rules.kernel import AnyRules, Refusal
from services.runtime.web.bodies import strictly
from tests.support.javascript import JavaScript
from tests.support.matches import Recorded, random_moves, start
from tests.support.told import told
from tests.verifier.records import GAMES, golden_events, golden_files

KINDS: Final = sorted(TYPES)
RULES: Final = list(CATALOGUE.newest())
SEATS: Final = 3
MOVES_MADE: Final = (0, 1, 7, 40)
"""So far the matches have come in which moves are tried."""
RULES_ONLY: Final = {"rules", "actor", "form"}
"""What only the verifier that has the rules can find."""


def decoder(data: bytes) -> None:
    """Stored bytes become an event that is written as it was read, or an error of the catalogue."""
    if not data:
        return
    kind = KINDS[data[0] % len(KINDS)]
    try:
        fact = decode(kind, TYPES[kind].SCHEMA, data[1:])
    except UndecodableEventError:
        return
    again = encode(fact)
    assert encode(decode(kind, fact.SCHEMA, again)) == again


def move(data: bytes) -> None:
    """What somebody sends as a move is malformed, refused with a clause, or leads to events that fold."""
    if len(data) < 2:
        return
    at, seat = data[0], data[1] % (SEATS + 1)
    games = _games()
    game = games[at % len(games)]
    if seat == SEATS:
        seat = (matches.pending(game.match) or _NOBODY).turn
    try:
        wanted = strictly(game.rules.moves, msgspec.Raw(data[2:]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return  # as in engine/http/moving.py
    outcome = matches.advance(game.match, seat, wanted, game.keys)
    if isinstance(outcome, Refusal):
        assert outcome.code
        return
    facts, after = outcome
    folded = game.match
    for fact in facts:
        folded = matches.evolve(folded, decode(str(fact.__struct_config__.tag), fact.SCHEMA, encode(fact)))
    assert folded == after


def options(data: bytes) -> None:
    """What somebody gives as options of a table is refused with the clause, or stored and read back as the same."""
    if len(data) < 2:
        return
    rules: AnyRules = RULES[data[0] % len(RULES)]
    try:
        given = msgspec.json.decode(data[2:], type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    answer = read_options(rules, given, data[1] % 20)
    if isinstance(answer, Refusal):
        assert answer.code in {"options-invalid", "seats-invalid"}
        return
    assert msgspec.json.decode(msgspec.json.encode(answer), type=rules.options) == answer


def record(data: bytes) -> None:
    """A file is audited and replayed, or refused; nothing else."""
    told(list(io.BytesIO(data)))


def verifiers(data: bytes) -> None:
    """Both verifiers judge a file, and neither calls sound what the other, within its means, does not."""
    python = audit_lines(io.BytesIO(data), CATALOGUE)
    said = _javascript().verify(data)
    assert said["sound"] == (not said["findings"])
    if python.sound:
        assert said["sound"], said["findings"]
    elif said["sound"]:
        assert {finding.check for finding in python.findings} <= RULES_ONLY, describe(python)


TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "decoder": decoder,
    "move": move,
    "options": options,
    "record": record,
    "verifiers": verifiers,
}


def good(target: str) -> Iterator[bytes]:
    """Yield inputs that a target takes: what is sent in earnest."""
    match target:
        case "decoder":
            for name in _short_records():
                for event in golden_events(name):
                    yield bytes([KINDS.index(event.type)]) + event.whole
        case "move":
            for at, game in enumerate(_games()):
                for seat in range(SEATS):
                    for entry in matches.legal(game.match, seat):
                        yield bytes([at, seat]) + msgspec.json.encode(entry)
        case "options":
            for at, rules in enumerate(RULES):
                yield bytes([at, SEATS]) + msgspec.json.encode(rules.options())
        case _:
            from tests.audit.play import record as written  # it signs, which the other targets do without

            for name in _short_records():
                yield b"".join(written(golden_events(name)))


def _short_records() -> list[str]:
    """Return a record of each game: short ones, as most of the time goes into their length."""
    return [name for game in GAMES for name in golden_files(game) if name.endswith("-voided.ndjson")]


@cache
def _games() -> list[Recorded]:
    """Return a match of each game at each of some moments."""
    made = []
    for rules in RULES:
        for count in MOVES_MADE:
            game = start(rules, rules.options(), SEATS, count)
            for _ in islice(random_moves(game, Random(count), leave_rate=0), count):
                pass
            made.append(game)
    return made


class _Nobody:
    turn = 0


_NOBODY: Final = _Nobody()


@cache
def _javascript() -> JavaScript:
    return JavaScript()
