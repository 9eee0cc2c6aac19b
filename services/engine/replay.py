"""A match played back: every position of it, as any viewer saw it, and what could have been played there.

Events carry outcomes, so nothing is drawn or decided here; positions are folded once and kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from services.contracts.envelope import Event
from services.contracts.events.base import Fact
from services.contracts.events.catalogue import UndecodableEventError, fact_of
from services.contracts.events.match import MatchStarted
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.kernel import Viewer
from services.engine.rules.match import Match, UnknownRulesError


class ReplayError(ValueError):
    """These events cannot be played back; ``macao verify`` says more."""


class Step(Struct, frozen=True):
    """One event and the match after it.

    Attributes:
        settled: whether its command ends here. Only then is the position one that players saw and decided in.
    """

    event: Event
    fact: Fact
    match: Match
    settled: bool

    @property
    def version(self) -> int:
        """The version of the event."""
        return self.event.version


class Choice(Struct, frozen=True):
    """What one seat could have played in a position."""

    seat: int
    moves: tuple[Struct, ...]


class Standing(Struct, frozen=True):
    """The place of one seat at the end."""

    place: int
    seat: int
    player: str


class Replay:
    """The steps of a match, from version 1 to the last."""

    def __init__(self, events: Sequence[Event], catalogue: Catalogue) -> None:
        """Fold the events.

        Raises:
            ReplayError: they are not the events of a match, or not under rules that are known here.
        """
        try:
            self.steps = _fold(events, catalogue)
        except (
            UndecodableEventError,
            UnknownRulesError,
            msgspec.MsgspecError,
            LookupError,
            ValueError,
        ) as error:
            raise ReplayError(str(error)) from error

    @property
    def last(self) -> int:
        """The last version."""
        return len(self.steps)

    @property
    def started(self) -> MatchStarted:
        """What was fixed before the first move."""
        return self.steps[0].match.started

    def at(self, version: int) -> Step:
        """Return the step that ends with this version.

        Raises:
            LookupError: there is no such version.
        """
        if not 1 <= version <= self.last:
            raise LookupError(f"there is no version {version}: the match has the versions 1 to {self.last}")
        return self.steps[version - 1]

    def forward(self, version: int) -> int:
        """Return the version after this one, the last one at the end."""
        return min(version + 1, self.last)

    def back(self, version: int) -> int:
        """Return the version before this one, the first one at the start."""
        return max(version - 1, 1)

    def move_after(self, version: int) -> int:
        """Return the end of the next command: the next position in which somebody decides."""
        later = (step.version for step in self.steps[version:] if step.settled)
        return next(later, self.last)

    def move_before(self, version: int) -> int:
        """Return the end of the command before this version, the first version at the start."""
        earlier = (step.version for step in reversed(self.steps[: version - 1]) if step.settled)
        return next(earlier, 1)

    def view(self, version: int, viewer: Viewer) -> Struct:
        """Return the position after a version, as this viewer saw it then; an auditor sees all of it."""
        return matches.observe(self.at(version).match, viewer)

    def fact(self, version: int, viewer: Viewer) -> Fact:
        """Return what happened with a version, as this viewer saw it then."""
        step = self.at(version)
        return matches.redact(step.match.rules, step.fact, viewer)

    def choices(self, version: int) -> tuple[Choice, ...]:
        """Return what could have been played after a version, seat by seat; nothing in the middle of a command."""
        step = self.at(version)
        waiting = matches.pending(step.match) if step.settled else None
        if waiting is None:
            return ()
        return tuple(Choice(seat, matches.legal(step.match, seat)) for seat in waiting.may_act)

    def standings(self) -> tuple[Standing, ...]:
        """Return how the match ended, best first; empty when it has not, or does not count."""
        match = self.steps[-1].match
        if match.status != "ended" or match.places is None:
            return ()
        seats = enumerate(zip(match.places, match.started.seats, strict=True))
        return tuple(
            Standing(place, seat, taken.player)
            for seat, (place, taken) in sorted(seats, key=lambda each: (each[1][0], each[0]))
        )


def _fold(events: Sequence[Event], catalogue: Catalogue) -> tuple[Step, ...]:
    if [event.version for event in events] != list(range(1, len(events) + 1)) or not events:
        raise ValueError("a replay takes every version of a match, in order")
    facts = [fact_of(event) for event in events]
    match = matches.fold(facts[:1], catalogue)
    steps: list[Step] = []
    for at, (event, fact) in enumerate(zip(events, facts, strict=True)):
        if at:
            match = matches.evolve(match, fact)
        settled = at + 1 == len(events) or events[at + 1].command != event.command
        steps.append(Step(event, fact, match, settled))
    return tuple(steps)
