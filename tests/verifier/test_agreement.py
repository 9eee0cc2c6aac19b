"""The two verifiers agree on every record of every game, and on what is wrong with a spoilt one."""

from __future__ import annotations

import io
import json
import random
from base64 import urlsafe_b64encode
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.engine.audit import Verdict, audit_lines, describe
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from tests.audit import hidden_lot
from tests.audit.logs import leaves_of, receipt_of
from tests.audit.play import KEY_ID, PUBLIC_KEYS, chained, play, record, sit_down
from tests.support.javascript import JavaScript
from tests.support.matches import played_out
from tests.support.options import tables
from tests.verifier.mutations import forge, spoil
from tests.verifier.records import GAMES, golden_events, golden_files

BASE64_KEYS = {key: urlsafe_b64encode(raw).rstrip(b"=").decode() for key, raw in PUBLIC_KEYS.items()}
RULES_ONLY = {"rules", "actor", "form"}
"""What takes the rules or the shapes of events to find: who may move what, and how a body is written."""

SPOILT = (
    "dice-race@1-usual.ndjson",
    "dice-race@1-voided.ndjson",
    "dice-bank@1-voided.ndjson",
    "cards-bank@1-naturals.ndjson",
    "cards-places@1-voided.ndjson",
)


@cache
def golden(name: str) -> tuple[bytes, ...]:
    """The record of a golden match, with a receipt from a small log around it."""
    events = golden_events(name)
    before, after = len(events) % 7, len(events) % 5
    leaves = leaves_of(events, before, after)
    return tuple(record(events, receipt=receipt_of(leaves, before + len(events))))


def counts(verdict: Verdict) -> tuple[int, int, int, int]:
    return verdict.events, verdict.commands, verdict.draws, verdict.seals


def assert_both_sound(javascript: JavaScript, lines: list[bytes], catalogue: Any = CATALOGUE) -> None:
    python = audit_lines(lines, catalogue, PUBLIC_KEYS)
    assert python.sound, describe(python)
    said = javascript.verify(lines, BASE64_KEYS)
    assert said["sound"], said["findings"]
    assert said["checkable"]
    assert said["key_known"]
    assert counts(python) == tuple(said[name] for name in ("events", "commands", "draws", "seals"))
    assert said["told"]["events"] == python.events
    assert said["told"]["bad_events"] == []
    assert said["told"]["checks"] == said["checks"]
    assert set(said["checks"].values()) <= {"good", "absent"}
    assert said["receipt_size"] == python.receipt_size


@pytest.mark.parametrize("name", [name for game in GAMES for name in golden_files(game)])
def test_golden_records_are_sound_in_both(javascript: JavaScript, name):
    assert_both_sound(javascript, list(golden(name)))


def test_there_are_ten_golden_records_a_game_each_with_other_options():
    for game in GAMES:
        names = golden_files(game)
        assert len(names) >= 10
        options = {read_record(golden(name)).events[0].body.split(b'"options":')[1] for name in names}
        assert len(options) >= 8


@pytest.mark.parametrize("rules", CATALOGUE.every_version(), ids=lambda rules: rules.id)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_matches_with_any_options_are_sound_in_both(javascript: JavaScript, rules, data):
    options, seats = data.draw(tables(rules))
    played = played_out(rules, options, seats, data.draw(st.integers(0, 10_000)), leave_rate=0.005)
    assert_both_sound(javascript, record(chained(played)))


def test_sealed_lots_are_opened_in_both(javascript: JavaScript):
    table = sit_down(hidden_lot.CATALOGUE, "hidden-lot", {"rounds": 5}, 3)
    play(table, random.Random(1), lambda match, rng: (match.game.to_play[0], hidden_lot.Stand()))
    lines = record(table.events)
    assert_both_sound(javascript, lines, hidden_lot.CATALOGUE)
    assert javascript.verify(lines)["seals"] == 5


@pytest.mark.parametrize("piece", [1, 7, 1000, 70_000])
def test_a_record_may_come_in_pieces_of_any_size(javascript: JavaScript, piece):
    name = "dice-race@1-voided.ndjson"
    whole = javascript.verify(golden(name))
    assert whole["sound"]
    assert javascript.verify(golden(name), piece=piece) == whole


def test_spoilt_records_are_told_apart_alike(javascript: JavaScript):
    assert_told_alike(javascript, range(1200))


@pytest.mark.thorough
def test_spoilt_records_are_told_apart_alike_in_the_thousands(javascript: JavaScript):
    assert_told_alike(javascript, range(10_000, 210_000))


def assert_told_alike(javascript: JavaScript, seeds: range) -> None:
    """Neither says sound where the other does not, but for what takes the rules; both name the same first version."""
    outcomes = Counter(_told_alike(javascript, seed) for seed in seeds)
    assert outcomes[False, False] > len(seeds) // 2
    assert outcomes[False, True] > len(seeds) // 50, "forgeries that take the rules to find"


def _told_alike(javascript: JavaScript, seed: int) -> tuple[bool, bool]:
    rng = Random(seed)
    lines = list(golden(rng.choice(SPOILT)))
    forged, known = rng.random() < 0.4, rng.random() < 0.3
    content = (forge if forged else spoil)(lines, rng)
    python = audit_lines(io.BytesIO(content), CATALOGUE, PUBLIC_KEYS if known else None)
    piece = rng.choice([None, None, 1000, 7]) if len(content) < 20_000 else None
    said = javascript.verify(content, BASE64_KEYS if known else None, piece)
    explained = f"seed {seed}\n{describe(python)}\n{said['findings']}"
    assert said["told"]["findings"] == len(said["findings"]) or said["more_findings"], explained
    assert said["sound"] == (not said["findings"]), explained
    assert said["checkable"], explained
    if python.sound:
        assert said["sound"], explained
        assert said["receipt_size"] == python.receipt_size, explained
    elif said["sound"] or said["first_bad_version"] != python.first_bad_version:
        assert python.findings[0].check in RULES_ONLY or _first(python) in RULES_ONLY, explained
        assert (said["first_bad_version"] or 2**53) > (python.first_bad_version or 2**53 - 1), explained
    return python.sound, said["sound"]


def _first(verdict: Verdict) -> str:
    """Return the check that named the first bad version."""
    return next(finding.check for finding in verdict.findings if finding.version == verdict.first_bad_version)


def test_a_key_is_found_under_its_id(javascript: JavaScript):
    lines = golden("dice-race@1-voided.ndjson")
    key = BASE64_KEYS[KEY_ID]
    jwks = {"keys": [{"kid": KEY_ID, "crv": "Ed25519", "x": key, "macao_purpose": "record"}]}
    for keys in (key, BASE64_KEYS, jwks):
        said = javascript.verify(lines, keys)
        assert said["sound"]
        assert said["key_known"]
    for keys in ({"k_other": key}, "A" * 43, {KEY_ID: "A" * 43}):
        said = javascript.verify(lines, keys)
        assert not said["key_known"]
        assert [(finding["check"], finding["code"]) for finding in said["findings"]] == [
            ("signature", "other-key"),
            ("receipt", "other-key"),
        ]
    assert javascript.verify(lines)["sound"]
    assert not javascript.verify(lines)["key_known"]


def doubled(line: bytes) -> list[bytes]:
    """Return a line with each of its keys a second time: with the same value, and with another before or behind it."""
    found = []
    for key, value in json.loads(line).items():
        again, other = (json.dumps({key: one}, separators=(",", ":")).encode()[1:-1] for one in (value, 7))
        body = line.rstrip(b"\n")
        found += [b"{" + more + b"," + body[1:] + b"\n" for more in (again, other)]
        found += [body[:-1] + b"," + more + b"}\n" for more in (again, other)]
    return found


def test_a_line_with_a_key_twice_is_refused_by_both(javascript: JavaScript) -> None:
    """A reader that takes the first value would see another match than one that takes the last."""
    lines = list(golden("dice-race@1-usual.ndjson"))
    for at in (0, 1, len(lines) // 2, len(lines) - 1):
        for line in doubled(lines[at]):
            spoilt = [*lines[:at], line, *lines[at + 1 :]]
            verdict = audit_lines(spoilt, CATALOGUE, PUBLIC_KEYS)
            assert (verdict.sound, verdict.findings[0].line) == (False, at + 1), line
            assert not javascript.verify(spoilt, BASE64_KEYS)["sound"], line
