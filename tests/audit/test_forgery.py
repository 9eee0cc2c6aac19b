"""Forgers who do their work well: every hash, link and seal is made to fit again, and the whole is signed anew.

With the service's key known, the signature tells. Without it, chance and rules still do, and they name the version.
What only the signature can tell (a name, a time moved forward, everything invented from scratch) is tested as such.
"""

import random
from collections.abc import Sequence

import msgspec
import pytest
from msgspec.structs import replace

from services.contracts.envelope import Event
from services.engine.audit import Verdict, audit_lines, describe
from services.engine.rules.catalogue import CATALOGUE
from tests.audit import hidden_lot
from tests.audit.play import (
    KEY_ID,
    OTHER_KEY,
    PUBLIC_KEYS,
    play,
    rechained,
    record,
    sit_down,
    version_of,
    with_body,
)

EVENTS = play(sit_down(CATALOGUE, "dice-race", {"chips_to_win": 2}), random.Random(8))
VERSIONS = range(1, len(EVENTS) + 1)


def forged(events: Sequence[Event]) -> Verdict:
    """What an audit says that does not know the service's key."""
    verdict = audit_lines(record(rechained(events), OTHER_KEY), CATALOGUE)
    assert not any(finding.check in {"chain", "signature", "seal"} for finding in verdict.findings), describe(
        verdict
    )
    return verdict


def changed(version: int, event: Event) -> list[Event]:
    return [*EVENTS[: version - 1], event, *EVENTS[version:]]


def of_type(*kinds: str) -> list[int]:
    return [event.version for event in EVENTS if event.type in kinds]


def test_the_service_s_key_tells_any_of_it():
    for lines in (record(EVENTS, OTHER_KEY), record(EVENTS, OTHER_KEY, "k_other")):
        verdict = audit_lines(lines, CATALOGUE, PUBLIC_KEYS)
        assert [finding.check for finding in verdict.findings] == ["signature"]
        assert not verdict.key_known
    assert audit_lines(record(EVENTS), CATALOGUE, PUBLIC_KEYS).sound


def test_a_signature_by_another_key_than_the_header_s_is_found():
    lines = record(EVENTS)
    other = record(EVENTS, OTHER_KEY)
    assert not audit_lines([*lines[:-1], other[-1]], CATALOGUE).sound
    assert not audit_lines([other[0], *lines[1:]], CATALOGUE).sound


@pytest.mark.parametrize("version", of_type("rolled"))
def test_another_roll_is_found(version):
    event = EVENTS[version - 1]
    body = msgspec.json.decode(event.body)
    draw, total = body["draw"], body["total"]
    face = draw["result"][0] % 6 + 1
    better = with_body(event, draw=draw | {"result": [face]}, total=total - draw["result"][0] + face)
    verdict = forged(changed(version, better))
    assert verdict.first_bad_version == version
    assert {finding.check for finding in verdict.findings if finding.version == version} == {
        "chance",
        "rules",
    }


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_an_event_taken_out_is_found(version):
    verdict = forged([*EVENTS[: version - 1], *EVENTS[version:]])
    assert not verdict.sound
    assert verdict.first_bad_version == version, describe(verdict)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_event_put_in_twice_is_found(version):
    verdict = forged([*EVENTS[:version], EVENTS[version - 1], *EVENTS[version:]])
    assert verdict.first_bad_version == version + 1 or (version == 1 and verdict.first_bad_version == 2), (
        describe(verdict)
    )


@pytest.mark.parametrize("version", VERSIONS[1:-1])
def test_two_events_swapped_are_found(version):
    events = list(EVENTS)
    events[version - 1], events[version] = events[version], events[version - 1]
    verdict = forged(events)
    assert not verdict.sound
    assert verdict.first_bad_version == version, describe(verdict)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_outcome_changed_anywhere_is_found(version):
    """Every number and word of every body, changed one at a time."""
    event = EVENTS[version - 1]
    for name, value in msgspec.json.decode(event.body).items():
        if name == "type" or name in {"table", "rated", "visibility", "turn_seconds", "commitment_number"}:
            continue  # what was agreed at the table before the match only the signature vouches for
        match value:
            case bool() | None | dict() | []:
                continue
            case int():
                lie: object = value + 1
            case str():
                lie = ("1" if value[0] != "1" else "2") + value[1:]
            case _:
                lie = value[::-1]
        if lie == value or (name == "seats" and version == 1):
            continue
        verdict = forged(changed(version, with_body(event, **{name: lie})))
        assert not verdict.sound, (name, value, lie)
        assert verdict.first_bad_version == version, (name, describe(verdict))


def test_a_changed_schema_is_found():
    for version in VERSIONS[1:]:
        assert forged(changed(version, replace(EVENTS[version - 1], schema=2))).first_bad_version == version


def test_a_time_moved_back_is_found():
    first_of_commands = [event for event in EVENTS if event.cause]
    for event in first_of_commands:
        command = [replace(each, at_ms=1) if each.command == event.command else each for each in EVENTS]
        verdict = forged(command)
        assert verdict.first_bad_version == event.version
        assert verdict.findings[0].check == "time"


def test_a_time_moved_inside_a_command_is_found():
    for event in EVENTS[1:]:
        if event.cause is None:
            verdict = forged(changed(event.version, replace(event, at_ms=event.at_ms + 1)))
            assert verdict.first_bad_version == event.version


@pytest.mark.parametrize("actor", ["p_01KB9YTEST0000000000000099", "clock", "lobby"])
def test_another_actor_is_found(actor):
    for event in EVENTS:
        if event.cause:
            command = [
                replace(each, actor=actor) if each.command == event.command else each for each in EVENTS
            ]
            verdict = forged(command)
            assert verdict.first_bad_version == event.version
            assert verdict.findings[0].check == "actor"


def test_another_seat_in_the_cause_is_found():
    for event in EVENTS:
        if event.cause:
            cause = msgspec.json.decode(event.cause)
            for seat in (1 - cause["seat"], 7, -1):
                lie = msgspec.json.encode(cause | {"seat": seat})
                assert (
                    forged(changed(event.version, replace(event, cause=lie))).first_bad_version
                    == event.version
                )


def test_another_move_as_the_cause_is_found():
    for event in EVENTS:
        if event.cause:
            seat = msgspec.json.decode(event.cause)["seat"]
            for move in (
                {"type": "leave"},
                {"type": "expire"},
                {"type": "call"},
                {"type": "roll", "more": 1},
                None,
            ):
                lie = msgspec.json.encode({"seat": seat, "move": move})
                assert (
                    forged(changed(event.version, replace(event, cause=lie))).first_bad_version
                    == event.version
                )


def test_a_cause_that_is_missing_or_one_too_many_is_found():
    for event in EVENTS:
        lie = None if event.cause else b'{"seat":0,"move":{"type":"roll"}}'
        assert forged(changed(event.version, replace(event, cause=lie))).first_bad_version == event.version


def test_one_command_cut_in_two_is_found():
    for event in EVENTS[1:]:
        if event.cause is None:
            split = [
                replace(each, command="c_new")
                if each.command == event.command and each.version >= event.version
                else each
                for each in EVENTS
            ]
            assert forged(split).first_bad_version in {event.version, event.version - 1}


class TestSeeds:
    """The parts that chance is made from, exchanged one at a time."""

    def test_a_player_s_seed(self):
        seats = msgspec.json.decode(EVENTS[0].body)["seats"]
        verdict = forged(changed(1, with_body(EVENTS[0], seats=[seats[0] | {"seed": "mine"}, *seats[1:]])))
        assert verdict.first_bad_version == 1
        assert "players' seeds" in verdict.findings[0].text

    @pytest.mark.parametrize("seed", ["", "ü", "a,b", "x" * 65, "a b"])
    def test_a_player_s_seed_that_is_none(self, seed):
        seats = msgspec.json.decode(EVENTS[0].body)["seats"]
        assert (
            forged(
                changed(1, with_body(EVENTS[0], seats=[seats[0] | {"seed": seed}, *seats[1:]]))
            ).first_bad_version
            == 1
        )

    @pytest.mark.parametrize("seed", ["ff" * 32, "", "FF" * 32, "f" * 63])
    def test_the_service_s_seed(self, seed):
        version = version_of(EVENTS, "seed-revealed")
        verdict = forged(changed(version, with_body(EVENTS[-1], seed=seed)))
        assert verdict.first_bad_version == version
        assert {finding.version for finding in verdict.findings} == {version}

    def test_the_service_s_seed_and_its_commitment(self):
        from services.engine.rules.chance import commitment_of
        from tests.audit.play import MATCH

        seed = bytes(32)
        events = changed(1, with_body(EVENTS[0], commitment=commitment_of(MATCH, seed)))
        events[-1] = with_body(EVENTS[-1], seed=seed.hex())
        assert forged(events).first_bad_version == 1

    def test_a_round_s_key_and_its_commitment(self):
        from services.engine.rules.chance import round_commitment

        key = bytes(32)
        at = version_of(EVENTS, "chance-committed")
        events = changed(at, with_body(EVENTS[at - 1], commitment=round_commitment(key)))
        reveal = version_of(EVENTS, "chance-revealed")
        events[reveal - 1] = with_body(EVENTS[reveal - 1], key=key.hex())
        assert forged(events).first_bad_version == at

    def test_the_match_s_id(self):
        other = EVENTS[0].stream[:-1] + "1"
        verdict = forged([replace(event, stream=other) for event in EVENTS])
        assert verdict.first_bad_version == 1
        # Another id throughout looks the same as another seed: neither opens the commitment.
        events = changed(1, with_body(EVENTS[0], match=other))
        (finding,) = forged([replace(event, stream=other) for event in events]).findings
        assert (finding.check, finding.version) == ("chance", len(EVENTS))


SECRET_EVENTS = play(
    sit_down(hidden_lot.CATALOGUE, "hidden-lot", {"rounds": 3}, 4),
    random.Random(1),
    lambda match, rng: (match.game.to_play[0], hidden_lot.Stand()),
)
SEALED = [event.version for event in SECRET_EVENTS if event.sealed]


class TestSealed:
    """What was hidden, when the forger can seal anew."""

    def forged(self, version: int, event: Event) -> Verdict:
        events = [*SECRET_EVENTS[: version - 1], event, *SECRET_EVENTS[version:]]
        return audit_lines(record(rechained(events), OTHER_KEY), hidden_lot.CATALOGUE)

    @pytest.mark.parametrize("version", SEALED)
    def test_another_outcome_under_the_seal_is_found(self, version):
        event = SECRET_EVENTS[version - 1]
        assert event.sealed is not None
        whole = msgspec.json.decode(event.sealed)
        seat = (whole["seat"] + 1) % 4
        lie = msgspec.json.encode(whole | {"seat": seat, "draw": whole["draw"] | {"result": seat}})
        verdict = self.forged(version, replace(event, sealed=lie))
        assert verdict.first_bad_version == version
        assert verdict.findings[0].check == "chance"

    @pytest.mark.parametrize("version", SEALED)
    def test_a_public_part_that_tells_too_much_or_a_lie_is_found(self, version):
        event = SECRET_EVENTS[version - 1]
        for body in (event.sealed, event.body.replace(b'"dealer"', b'"starter"'), b'{"type":"lot-drawn"}'):
            assert body is not None
            verdict = self.forged(version, replace(event, body=body))
            assert verdict.first_bad_version == version
            assert verdict.findings[0].check == "rules"

    @pytest.mark.parametrize("version", SEALED)
    def test_what_has_to_be_sealed_and_lies_open_is_found(self, version):
        event = SECRET_EVENTS[version - 1]
        assert event.sealed is not None
        verdict = self.forged(version, replace(event, body=event.sealed, sealed=None, salt=None, seal=None))
        assert verdict.first_bad_version == version

    def test_what_has_to_lie_open_and_is_sealed_is_found(self):
        event = SECRET_EVENTS[0]
        assert self.forged(1, replace(event, sealed=event.body, salt=bytes(16))).first_bad_version == 1


class TestOnlyTheSignatureTells:
    """Where the record cannot contradict itself, it needs the service's key; no check is to pretend otherwise."""

    def test_another_name_throughout(self):
        old, new = b"p_01KB9YTEST0000000000000001", b"p_01KB9YTEST0000000000000077"
        events = [
            replace(
                event,
                body=event.body.replace(old, new),
                actor=event.actor.replace(old.decode(), new.decode()),
            )
            for event in EVENTS
        ]
        lines = record(rechained(events), OTHER_KEY, KEY_ID)
        assert audit_lines(lines, CATALOGUE).sound
        verdict = audit_lines(lines, CATALOGUE, PUBLIC_KEYS)
        assert [finding.check for finding in verdict.findings] == ["signature"]


def test_rules_that_are_not_there_are_said_to_be_missing():
    verdict = audit_lines(record(EVENTS), hidden_lot.CATALOGUE)
    assert [finding.check for finding in verdict.findings] == ["rules"]
    assert "does not have the rules dice-race@1" in describe(verdict)


def test_a_clock_in_a_match_without_one_is_found():
    table = sit_down(CATALOGUE, "dice-race", seats=2, turn_seconds=10)
    from services.engine.rules.kernel import Expire

    table.move(table.match.game.to_play[0], Expire())
    first = with_body(table.events[0], turn_seconds=None)
    verdict = audit_lines(record(rechained([first, *table.events[1:]])), CATALOGUE)
    (finding,) = verdict.findings
    assert finding.clause == "G10"
    assert finding.version == next(event.version for event in table.events if event.cause)


def test_a_move_that_the_rules_refuse_is_found_with_its_clause():
    start = next(event for event in EVENTS if event.cause)
    cause = start.cause.replace(b"roll", b"stand") if start.cause else b""
    (finding, *_) = forged(changed(start.version, replace(start, cause=cause))).findings
    assert (finding.check, finding.version, finding.clause) == ("rules", start.version, "DR-2.2")


def test_a_body_that_says_something_twice_is_found():
    for event in EVENTS[1:]:
        for body in (
            b'{"type":"paid",' + event.body[1:],
            event.body[:-1] + b',"type":"%b"}' % event.type.encode(),
        ):
            verdict = forged(changed(event.version, replace(event, body=body)))
            assert not verdict.sound
            assert verdict.first_bad_version == event.version
