"""A dispute, folded from its stream."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from services.contracts.envelope import Event, Head
from services.contracts.events.catalogue import fact_of
from services.contracts.events.dispute import DisputeOpened, DisputeRuled, DisputeWithdrawn, Words

State = Literal["open", "withdrawn", "ruled"]

WINDOW_MS: Final = 7 * 86_400_000
"""How long after its end a match can be disputed."""

PLAYER_MAX: Final = 5
"""How many disputes one player can have in one match, withdrawn ones included."""


class Ruling(Struct, frozen=True):
    """What an auditor decided.

    Attributes:
        auditor: who ruled, ``p_…``.
        at_ms: when, Unix time in milliseconds.
        sealed: the reasons as the event holds them.
        reasons: the same in words, once they have been looked up (``words.py``).
    """

    auditor: str
    at_ms: int
    verdict: Literal["upheld", "dismissed"]
    match: Literal["stands", "void"]
    sealed: Words
    reasons: str = ""


class Dispute(Struct, frozen=True):
    """A dispute as it stands.

    Attributes:
        opened: the complaint, with what was kept as evidence.
        closed_at_ms: when it was withdrawn or ruled on, None while it is open.
        head: the end of its stream.
        complaint: the player's own words, once they have been looked up (``words.py``).
    """

    id: str
    opened: DisputeOpened
    opened_at_ms: int
    head: Head
    state: State = "open"
    closed_at_ms: int | None = None
    ruling: Ruling | None = None
    complaint: str = ""

    @property
    def void_is_due(self) -> bool:
        """Whether the ruling asks for the match to be void."""
        return self.ruling is not None and self.ruling.match == "void"


def fold(events: Iterable[Event]) -> Dispute | None:
    """Return the dispute after these events, None where there are none."""
    dispute: Dispute | None = None
    for event in events:
        dispute = evolve(dispute, event)
    return dispute


def evolve(dispute: Dispute | None, event: Event) -> Dispute | None:
    """Return the dispute after one more event of its stream."""
    fact = fact_of(event)
    if dispute is None:
        if not isinstance(fact, DisputeOpened):
            return None
        return Dispute(event.stream, fact, event.at_ms, event.head)
    match fact:
        case DisputeWithdrawn():
            return replace(dispute, head=event.head, state="withdrawn", closed_at_ms=event.at_ms)
        case DisputeRuled():
            ruling = Ruling(event.actor, event.at_ms, fact.verdict, fact.match, fact.reasons)
            return replace(dispute, head=event.head, state="ruled", closed_at_ms=event.at_ms, ruling=ruling)
        case _:
            return dispute
