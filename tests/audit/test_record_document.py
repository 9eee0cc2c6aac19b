"""docs/record.md: its example is what is written today, and the page is enough to check it with."""

import hashlib
import json
import random
import re
from pathlib import Path

import msgspec
import pytest

from services.contracts.chain import seal_of
from services.contracts.checkpoint import Checkpoint, Receipt, text_of
from services.contracts.merkle import PROOF_MAX, leaf_hash
from services.engine.audit import audit_lines
from services.engine.record import LINE_BYTES_MAX, LINES_MAX, Closing, EventLine, Header
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.chance import match_key, round_commitment, round_key
from tests.audit import example, hidden_lot
from tests.audit.plain_verifier import NotSoundError, verify
from tests.audit.play import MATCH, SEED, play, record, sit_down

PAGE = (Path(__file__).resolve().parents[2] / "docs/record.md").read_text()
LINES = example.FILE.read_bytes().splitlines(keepends=True)


def block(name: str) -> str:
    found = re.search(rf"^```[a-z]+ {name}\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"docs/record.md has no block {name}"
    return found[1]


def test_the_example_is_what_is_written_today():
    assert example.lines() == LINES, "python -m tests.audit.example writes it anew; read the difference"
    assert audit_lines(LINES, CATALOGUE).sound


def test_the_lines_shown_are_lines_of_the_example():
    for name, at in (("header", 0), ("event", 10), ("closing", -1)):
        assert block(name).encode() == LINES[at].rstrip(b"\n")


def test_the_preimage_shown_hashes_to_the_hash():
    preimage = block("preimage").encode()
    assert hashlib.sha256(preimage).hexdigest() == json.loads(LINES[10])["hash"]
    assert f"{len(preimage)} bytes" in PAGE


def test_the_seal_shown_is_right():
    assert seal_of(bytes(range(16)), block("sealed").encode()).hex() in PAGE


def test_the_signed_message_shown_is_right():
    closing = json.loads(LINES[-1])
    header = LINES[0].decode().rstrip("\n")
    end = f"{closing['version']}\n{closing['hash']}\n{closing['events']}"
    assert block("signed") == f"macao-record-signature/1\n{header}\n{end}"


def test_the_checkpoint_and_leaf_shown_are_right():
    closing = json.loads(LINES[-1])
    receipt = closing["receipt"]
    assert json.loads(block("checkpoint")) == receipt["checkpoint"]
    assert block("checkpoint-signed").encode() == text_of(msgspec.convert(receipt["checkpoint"], Checkpoint))
    leaf = block("leaf").encode()
    digest = hashlib.sha256(b"\0" + leaf).hexdigest()
    assert f"`{digest}`" in PAGE
    last = json.loads(LINES[-2])
    event = (receipt["position"], MATCH, last["version"], bytes.fromhex(last["hash"]))
    assert leaf_hash(*event).hex() == digest


@pytest.mark.parametrize(("struct", "heading"), [(Receipt, "field"), (Checkpoint, "field of `checkpoint`")])
def test_the_fields_of_a_receipt_are_described_in_their_order(struct, heading):
    table = PAGE.split("## The receipt\n")[1].split(f"| {heading} | type | meaning |\n|---|---|---|\n")[1]
    assert re.findall(r"^\| `(\w+)` \|", table.split("\n\n")[0], re.MULTILINE) == [*struct.__struct_fields__]
    assert f"0 to {PROOF_MAX} times" in PAGE


def test_the_keys_shown_are_right():
    key = match_key("m_01KB9YTEST0000000000000000", "dice-race@1", ["-", "luck-1"], SEED)
    shown = [key, round_key(key, 0), round_key(key, 1)]
    assert all(f"`{each.hex()}`" in PAGE for each in shown)
    assert all(f"`{round_commitment(each)}`" in PAGE for each in shown[1:])


@pytest.mark.parametrize("line", [Header, EventLine, Closing])
def test_the_fields_of_every_line_are_described_in_their_order(line):
    heading = {"header": "Header", "event": "Events", "closing": "Closing line"}[
        str(line.__struct_config__.tag)
    ]
    section = PAGE.split(f"### {heading}\n")[1].split("\n#")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == ["line", *line.__struct_fields__]


def test_the_limits_are_described():
    assert f"{LINE_BYTES_MAX:,} bytes" in PAGE
    assert f"{LINES_MAX:,} lines" in PAGE


class TestPlainVerifier:
    """Written from the page alone, it agrees."""

    def test_it_takes_what_is_sound(self):
        verify(b"".join(LINES))
        for number in range(20):
            rng = random.Random(number)
            options = {"stakes": "dangerous", "max_rounds": 5}
            table = sit_down(CATALOGUE, "dice-race", options, 4, seed=rng.randbytes(32))
            verify(b"".join(record(play(table, rng))))

    def test_it_takes_what_was_sealed(self):
        table = sit_down(hidden_lot.CATALOGUE, "hidden-lot", {"rounds": 4}, 3)
        play(table, random.Random(1), lambda match, rng: (match.game.to_play[0], hidden_lot.Stand()))
        verify(b"".join(record(table.events)))

    def test_it_refuses_what_was_changed(self):
        for at, line in enumerate(LINES):
            for place in range(20, len(line) - 1, 11):
                changed = bytearray(line)
                changed[place] ^= 1
                with pytest.raises((NotSoundError, ValueError, LookupError, TypeError)):
                    verify(b"".join([*LINES[:at], changed, *LINES[at + 1 :]]))
