"""A record tampered with as a file, and what ``macao verify`` and the JavaScript verifier say of a file."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from pathlib import Path
from typing import Any

import msgspec

from services.cli.commands import verify
from services.engine.record import Closing, base64url, line_of
from tests.audit.play import KEY, OTHER_KEY, record
from tests.support.javascript import JavaScript
from tests.verifier.tampering import SOUND, Tampering, events

RAW_KEY = base64url(KEY.public_key().public_bytes_raw())
"""The key of the service, as somebody has it who wrote it down before."""


def tampered_lines(tampering: Tampering) -> list[bytes]:
    """Return the lines of the record afterwards."""
    told = tampering.change(list(events()))
    if tampering.signed != "as it was":
        return record(told, OTHER_KEY if tampering.signed == "another key" else KEY)
    original = record(list(events()))
    lines = [original[0], *(msgspec.json.encode(line_of(event)) + b"\n" for event in told)]
    if tampering.end == "gone":
        return lines
    closing = msgspec.json.decode(original[-1], type=Closing)
    if tampering.end == "moved":
        head = told[-1]
        closing = msgspec.structs.replace(
            closing, version=head.version, hash=head.hash.hex(), events=len(told)
        )
    return [*lines, msgspec.json.encode(closing) + b"\n"]


def by_command(path: Path, content: bytes, key: str) -> dict[str, Any]:
    """Return the verdict of ``macao verify FILE --key KEY --json``."""
    path.write_bytes(content)
    parser = argparse.ArgumentParser()
    verify.configure(parser)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = verify.run(parser.parse_args([str(path), "--key", key, "--json"]))
    verdict: dict[str, Any] = json.loads(said.getvalue())
    assert code == (0 if verdict["sound"] else 1)
    return verdict


def by_javascript(javascript: JavaScript, content: bytes, key: str) -> dict[str, Any]:
    """Return the verdict of the JavaScript verifier."""
    return javascript.verify(content, key)


def named(verdict: dict[str, Any]) -> int | None:
    """Return the first bad version; SOUND for none, None where what is bad is not an event."""
    if verdict["sound"]:
        return SOUND
    version: int | None = verdict["first_bad_version"]
    return version


def cell(verdict: dict[str, Any]) -> str:
    """Return what a verdict says, for a table."""
    if verdict["sound"]:
        return "not found"
    version = verdict["first_bad_version"]
    check = next(finding["check"] for finding in verdict["findings"] if finding["version"] == version)
    return check if version is None else f"{version}: {check}"
