"""Events of a dispute: the stream ``d_…`` of one complaint about one event of a match."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

from services.contracts.events.base import Fact


class Words(Struct, frozen=True):
    """What somebody wrote, as an event holds it: a seal. The words can name a person, so they lie outside the log.

    Attributes:
        seal: the commitment to the words under a salt of their own (hex), made as for sealed bodies; empty where the
            reader may not know of them yet.
        text: the words themselves, in events from before they were kept outside; else None.
    """

    seal: str
    text: str | None = None


class Arrived(Struct, frozen=True):
    """A command as it reached the service, from the commands log.

    Attributes:
        at_ms: when the request came in, before anything of it was looked at; Unix time in milliseconds.
        player: who sent it, by the token.
        command: the command's id, as events name it; None where the request had no usable key.
        move: what was asked for, None where it could not be read as a move of the game.
        if_match: the version that the move was chosen at, None where it named none.
        status: the HTTP status of the answer.
        code: the problem's code, None for a command that was accepted.
        clause: the clause of the rules that refused it, if one did.
        version: the match's version after an accepted command; for a refused one, where it was refused.
        answered_ms: when the answer was ready.
    """

    at_ms: int
    player: str
    command: str | None
    move: dict[str, Any] | None
    if_match: int | None
    status: int
    code: str | None
    clause: str | None
    version: int | None
    answered_ms: int


class DisputeOpened(Fact, frozen=True, tag="dispute-opened"):
    """A seated player complains about an event of a match.

    What only the complainant may know while the match runs is sealed: the complaint, the refused command, and what
    the commands log held then. In the public part they are empty.

    Attributes:
        version: the disputed event; for a refused command, the version at which it was refused.
        event_hash: the hash of that event (hex), so that the dispute stays about what happened.
        seat: where the complainant sits.
        refused: the complainant's own command that was refused, where the dispute is about that.
        arrivals: the commands that came in around the event, in the order in which they came in.
    """

    SCHEMA: ClassVar[int] = 2

    match: str
    version: int
    event_hash: str
    seat: int
    player: str
    complaint: Words
    refused: Arrived | None
    arrivals: tuple[Arrived, ...]


class DisputeWithdrawn(Fact, frozen=True, tag="dispute-withdrawn"):
    """The complainant takes the complaint back, before a ruling."""


class DisputeRuled(Fact, frozen=True, tag="dispute-ruled"):
    """An auditor, who is the actor of this event, has ruled.

    Attributes:
        verdict: whether the complaint is right.
        match: whether the match still counts. ``void`` leads to ``match-voided`` in the match's own stream.
        reasons: for everybody to read.
    """

    SCHEMA: ClassVar[int] = 2

    verdict: Literal["upheld", "dismissed"]
    match: Literal["stands", "void"]
    reasons: Words
