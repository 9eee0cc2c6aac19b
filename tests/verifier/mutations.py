"""Ways to spoil a record, drawn from a seeded generator: bytes, lines, values, and whole forgeries signed anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from services.contracts.envelope import Event
from services.contracts.events.catalogue import UndecodableEventError
from services.engine.record import read_record
from tests.audit.play import KEY, OTHER_KEY, rechained, record

Lines = list[bytes]

SNIPPETS = (
    b"\n", b"\r\n", b"\r", b"\0", b" ", b"\t", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b'"', b"\\", b"{}",
    b"\\u0000", b"\\ud800", b"\\ud83d\\ude00", "\N{LINE SEPARATOR}".encode(), "é".encode(), b"-0", b"1e3", b"1.0",
    b"9007199254740993", b"null", b"[" * 3000, b"A" * 300, b",", b":", b'{"line":"event"}', b'{"line":"closing"}', b"=",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2**53 - 1, 2**53, 2**53 + 1, 2**64, 1.5, 1e300, "", "-", "a b", "é", "\ud800", "\n",
    "x" * 201, "{}", '{"a":1}', '{"type":"rolled"}', "{\n}", '{"a":"\\ud800"}', '{"a":1.0}', '{"a":1,"a":1}', [], {},
    [[]], {"type": "dice"}, "0" * 32, "0" * 64, "f" * 64, "F" * 64, "A" * 43, "A" * 86, "B" * 43,
)  # fmt: skip


def spoil(lines: Lines, rng: Random) -> bytes:
    """Return a record with one to three things wrong, or by chance none."""
    content = b"".join(lines)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        content = rng.choice(WAYS)(content, rng)
    return content


def _flip(content: bytes, rng: Random) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _snip(content: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at + rng.choice([1, 1, 2, 40, 400]) :]


def _insert(content: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(SNIPPETS) + content[at:]


def _cut(content: bytes, rng: Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _last_byte(content: bytes, rng: Random) -> bytes:
    return content[:-1] if rng.random() < 0.5 else content + rng.choice(SNIPPETS)


def _lines(content: bytes, rng: Random) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return content
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(5):
        case 0:
            del lines[first]
        case 1:
            lines[first], lines[second] = lines[second], lines[first]
        case 2:
            lines.insert(first, lines[second])
        case 3:
            del lines[min(first, second) : max(first, second)]
        case _:
            part = lines[min(first, second) : max(first, second)]
            lines[first:first] = part
    return b"".join(lines)


def _value(content: bytes, rng: Random) -> bytes:
    """Another value in some field of some line, written as a record's lines are."""
    lines = content.splitlines(keepends=True)
    at = rng.choice([rng.randrange(len(lines)), len(lines) - 1]) if lines else 0
    said = _read(lines[at]) if lines else None
    if not said:
        return content
    field = rng.choice(list(said))
    match rng.randrange(6):
        case 0:
            del said[field]
        case 1:
            said[f"{field}_"] = 1
        case 2:
            said = dict(sorted(said.items()))
        case 3 if isinstance(said[field], str) and said[field].startswith("{"):
            said[field] = _changed_body(said[field], rng)
        case _ if isinstance(said[field], dict) and rng.random() < 0.8:
            _change_inside(said[field], rng)
        case _:
            said[field] = rng.choice(VALUES)
    lines[at] = _written(said) + b"\n"
    return b"".join(lines)


def _change_inside(said: dict[str, Any], rng: Random) -> None:
    """Change something in a receipt, or in its checkpoint."""
    field = rng.choice(list(said))
    if isinstance(said[field], dict) and rng.random() < 0.8:
        _change_inside(said[field], rng)
    else:
        said[field] = _another(said[field], rng)


def _changed_body(body: str, rng: Random) -> str:
    inner = _read(body.encode())
    if not inner:
        return body
    field = rng.choice(list(inner))
    inner[field] = rng.choice(VALUES)
    return _written(inner).decode()


def _read(line: bytes) -> dict[str, Any] | None:
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) else None


def _written(said: Any) -> bytes:
    """As a record is written; what UTF-8 has not, as JSON.stringify would."""
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _garbage(content: bytes, rng: Random) -> bytes:
    return rng.randbytes(rng.randrange(400)) if rng.random() < 0.2 else _flip(content, rng)


WAYS: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip, _flip, _snip, _insert, _insert, _cut, _last_byte, _lines, _lines, _lines, _value, _value, _value, _garbage,
)  # fmt: skip


def forge(lines: Lines, rng: Random) -> bytes:
    """Return a record whose content was changed, and all hashes, seals and the signature made to fit again."""
    original = read_record(lines)
    events = list(original.events)
    for _ in range(rng.choice([1, 1, 2])):
        _forge_one(events, rng)
    key = rng.choice([KEY, OTHER_KEY])
    try:
        return b"".join(
            record(rechained(events), key, receipt=original.closing.receipt if rng.random() < 0.3 else None)
        )
    except (ValueError, msgspec.MsgspecError, IndexError, UndecodableEventError):
        return b"".join(lines)  # no record begins with such an event


def _forge_one(events: list[Event], rng: Random) -> None:
    at, other = rng.randrange(len(events)), rng.randrange(len(events))
    event = events[at]
    match rng.randrange(9):
        case 0:
            del events[at]
        case 1:
            events[at], events[other] = events[other], events[at]
        case 2:
            events.insert(at, events[other])
        case 3:
            events[at] = replace(event, at_ms=max(0, event.at_ms + rng.choice([-100_000, -1, 1, 100_000])))
        case 4:
            events[at] = replace(event, actor=rng.choice(events).actor)
        case 5:
            events[at] = replace(event, command=rng.choice(events).command)
        case 6:
            events[at] = replace(event, cause=rng.choice(events).cause)
        case 7:
            other_event = events[other]
            events[at] = replace(
                event, sealed=other_event.sealed, salt=other_event.salt, body=other_event.body
            )
        case _:
            _forge_body(events, at, rng)


def _forge_body(events: list[Event], at: int, rng: Random) -> None:
    event = events[at]
    said = json.loads(event.whole)
    field = rng.choice(list(said))
    if isinstance(said[field], dict) and rng.random() < 0.8:
        inner = rng.choice(list(said[field]))
        said[field][inner] = _another(said[field][inner], rng)
    else:
        said[field] = _another(said[field], rng)
    try:
        whole = msgspec.json.encode(said)
    except (UnicodeError, OverflowError):
        return
    events[at] = replace(event, body=whole) if event.sealed is None else replace(event, sealed=whole)


def _another(value: Any, rng: Random) -> Any:
    if rng.random() < 0.2:
        return rng.choice(VALUES)
    match value:
        case bool():
            return not value
        case int():
            return value + rng.choice([-1, 1])
        case str():
            return value[::-1]
        case list() if value:
            return value[1:] + value[:1] if rng.random() < 0.7 else value[:-1]
        case _:
            return rng.choice(VALUES)
