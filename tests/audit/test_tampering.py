"""Every way to tamper with one line of a record, on every line: found, and the first bad version named."""

import random

import msgspec
import pytest
from msgspec.structs import replace

from services.engine.audit import Verdict, audit_lines, describe
from services.engine.record import line_of, read_record
from services.engine.rules.catalogue import CATALOGUE
from tests.audit import hidden_lot
from tests.audit.play import play, rechained, record, sit_down

LINES = record(play(sit_down(CATALOGUE, "dice-race", {"chips_to_win": 2}), random.Random(8)))
SECRET_LINES = record(
    play(
        sit_down(hidden_lot.CATALOGUE, "hidden-lot"),
        random.Random(1),
        lambda match, rng: (match.game.to_play[0], hidden_lot.Stand()),
    )
)
EVENTS = len(LINES) - 2
VERSIONS = range(1, EVENTS + 1)
BYTES_APART = 7
"""Every byte takes half a minute; every seventh finds what every one does."""


def verdict_of(lines: list[bytes]) -> Verdict:
    return audit_lines(lines, CATALOGUE)


def assert_bad(lines: list[bytes], version: int | None) -> None:
    verdict = verdict_of(lines)
    assert not verdict.sound
    assert verdict.first_bad_version == version, describe(verdict)
    if version is not None:
        assert f"goes wrong at version {version}." in describe(verdict).splitlines()[0]


def test_the_record_is_sound_before_it_is_tampered_with():
    assert verdict_of(LINES).sound
    assert audit_lines(SECRET_LINES, hidden_lot.CATALOGUE).sound
    assert 15 < EVENTS < 60


@pytest.mark.parametrize("version", VERSIONS)
def test_a_changed_byte_is_found(version):
    line = LINES[version]
    for at in range(version % BYTES_APART, len(line) - 1, BYTES_APART):
        for mask in (1, 0x20):
            changed = bytearray(line)
            changed[at] ^= mask
            assert_bad([*LINES[:version], bytes(changed), *LINES[version + 1 :]], version)


@pytest.mark.parametrize(
    "field", ["version", "type", "schema", "actor", "command", "at_ms", "cause", "body", "previous", "hash"]
)
def test_a_changed_field_is_found(field):
    for version in VERSIONS:
        assert_bad(with_changed_field(version, field), version)


def with_changed_field(version: int, field: str) -> list[bytes]:
    said = msgspec.json.decode(LINES[version])
    match said[field]:
        case int(number):
            said[field] = number + 1
        case None:
            said[field] = '{"seat":0,"move":{"type":"roll"}}'
        case str(text) if text.startswith("{"):
            said[field] = text.replace("e", "a", 1)
        case str(text):
            said[field] = ("0" if text[0] != "0" else "1") + text[1:]
    return [*LINES[:version], msgspec.json.encode(said) + b"\n", *LINES[version + 1 :]]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_deleted_line_is_found(version):
    assert_bad([*LINES[:version], *LINES[version + 1 :]], version)


@pytest.mark.parametrize("first", VERSIONS[:-1])
def test_two_swapped_lines_are_found(first):
    for second in range(first + 1, EVENTS + 1):
        lines = list(LINES)
        lines[first], lines[second] = lines[second], lines[first]
        assert_bad(lines, first)


@pytest.mark.parametrize("version", [*VERSIONS, EVENTS + 1])
def test_an_inserted_copy_is_found(version):
    for copied in VERSIONS:
        lines = [*LINES[:version], LINES[copied], *LINES[version:]]
        # A copy right in front of its original takes its place; it is the original that is then one too many.
        assert_bad(lines, version + 1 if copied == version else version)


@pytest.mark.parametrize("version", [*VERSIONS, EVENTS + 1])
def test_a_well_made_insertion_is_found(version):
    """A line that is chained to the one before it, with a hash of its own that is right."""
    events = read_record(LINES).events
    model = events[min(version, EVENTS) - 1]
    forged = rechained([*events[: version - 1], replace(model, at_ms=model.at_ms + 1)])[-1]
    line = msgspec.json.encode(line_of(forged)) + b"\n"
    assert_bad([*LINES[:version], line, *LINES[version:]], version)


@pytest.mark.parametrize("kept", range(1, EVENTS + 2))
def test_a_cut_off_tail_is_found(kept):
    assert_bad(LINES[:kept], kept)


@pytest.mark.parametrize("kept", VERSIONS)
def test_a_cut_off_tail_with_the_closing_line_kept_is_found(kept):
    assert_bad([*LINES[:kept], LINES[-1]], kept)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_line_cut_off_in_the_middle_is_found(version):
    assert_bad([*LINES[:version], LINES[version][:40]], version)


@pytest.mark.parametrize("version", VERSIONS)
def test_garbage_in_between_is_found(version):
    for garbage in (b"\n", b"{}\n", b"null\n", b"\xff\x00\n", b"x" * 100):
        assert_bad([*LINES[:version], garbage, *LINES[version:]], version)


@pytest.mark.parametrize("at", [0, EVENTS + 1])
def test_changes_in_header_and_closing_line_are_found(at):
    line = LINES[at]
    for place in range(len(line) - 1):
        changed = bytearray(line)
        changed[place] ^= 1
        verdict = verdict_of([*LINES[:at], bytes(changed), *LINES[at + 1 :]])
        assert not verdict.sound


def test_a_missing_header_is_found():
    assert_bad(LINES[1:], None)
    assert "header line is missing" in describe(verdict_of(LINES[1:]))


def test_a_missing_closing_line_is_found():
    assert_bad(LINES[:-1], EVENTS + 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_header_and_closing_line_out_of_place_are_found(version):
    for edge in (0, EVENTS + 1):
        lines = list(LINES)
        lines[version], lines[edge] = lines[edge], lines[version]
        verdict = verdict_of(lines)
        assert not verdict.sound
        if edge:
            assert verdict.first_bad_version == version
        assert not verdict_of([*LINES[:version], LINES[edge], *LINES[version:]]).sound


def test_an_empty_record_is_not_sound():
    assert_bad([], None)


class TestSealed:
    """What was hidden while the match ran."""

    @staticmethod
    def sealed() -> list[int]:
        return [at for at, line in enumerate(SECRET_LINES) if msgspec.json.decode(line).get("sealed")]

    def changed(self, at: int, **changes: object) -> Verdict:
        said = msgspec.json.decode(SECRET_LINES[at]) | changes
        lines = [*SECRET_LINES[:at], msgspec.json.encode(said) + b"\n", *SECRET_LINES[at + 1 :]]
        return audit_lines(lines, hidden_lot.CATALOGUE)

    def test_two_swapped_bodies_are_found(self):
        first, second = self.sealed()
        lines = [msgspec.json.decode(line) for line in SECRET_LINES]
        for field in ("sealed", "salt"):
            lines[first][field], lines[second][field] = lines[second][field], lines[first][field]
        verdict = audit_lines([msgspec.json.encode(line) + b"\n" for line in lines], hidden_lot.CATALOGUE)
        assert verdict.first_bad_version == first
        assert verdict.findings[0].check == "seal"

    def test_a_changed_body_is_found(self):
        for at in self.sealed():
            body = msgspec.json.decode(SECRET_LINES[at])["sealed"]
            verdict = self.changed(at, sealed=body.replace('"result":', '"result":1'))
            assert verdict.first_bad_version == at
            assert verdict.findings[0].check == "seal"

    @pytest.mark.parametrize("field", ["sealed", "salt", "seal"])
    def test_a_missing_part_is_found(self, field):
        for at in self.sealed():
            assert self.changed(at, **{field: None}).first_bad_version == at

    def test_a_body_taken_out_altogether_is_found(self):
        for at in self.sealed():
            assert self.changed(at, sealed=None, salt=None, seal=None).first_bad_version == at
