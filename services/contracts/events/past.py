"""Shapes that are no longer written but stand in logs, and how each of them is brought forward."""

from __future__ import annotations

from typing import Any, Literal

from services.contracts.events.base import Fact
from services.contracts.events.dispute import Arrived


class DisputeOpened1(Fact, frozen=True, tag="dispute-opened"):
    """A complaint with its words in the event, where nobody can erase them."""

    match: str
    version: int
    event_hash: str
    seat: int
    player: str
    complaint: str
    refused: Arrived | None
    arrivals: tuple[Arrived, ...]


class DisputeRuled1(Fact, frozen=True, tag="dispute-ruled"):
    """A ruling with its reasons in the event."""

    verdict: Literal["upheld", "dismissed"]
    match: Literal["stands", "void"]
    reasons: str


def complaint_apart(fields: dict[str, Any]) -> dict[str, Any]:
    """Bring ``dispute-opened`` from schema 1 to 2."""
    return {**fields, "complaint": {"seal": "", "text": fields["complaint"]}}


def reasons_apart(fields: dict[str, Any]) -> dict[str, Any]:
    """Bring ``dispute-ruled`` from schema 1 to 2."""
    return {**fields, "reasons": {"seal": "", "text": fields["reasons"]}}
