"""What the doctor tells."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Level = Literal["ok", "warning", "failure"]


class Finding(Struct, frozen=True):
    """One thing that was looked at.

    Attributes:
        subject: what it is about, in a word or two.
        level: ``warning`` for what will be trouble some day, ``failure`` for what is trouble now.
        said: what was found.
        advice: what to do; empty where all is well.
    """

    subject: str
    level: Level
    said: str
    advice: str = ""


def well(subject: str, said: str) -> Finding:
    """Return a finding that all is well."""
    return Finding(subject, "ok", said)


def warning(subject: str, said: str, advice: str) -> Finding:
    """Return a finding that will be trouble some day."""
    return Finding(subject, "warning", said, advice)


def failure(subject: str, said: str, advice: str) -> Finding:
    """Return a finding that is trouble now."""
    return Finding(subject, "failure", said, advice)
