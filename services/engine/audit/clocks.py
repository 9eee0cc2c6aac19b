"""Thinking time (G10), kept again from the record: nobody expelled too early, nobody served long after the time.

Time in which the service was down costs nobody anything, and a record does not say when that was. So from a record
alone a late move is only worth a note; whoever knows the service's outages can say more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from services.engine.audit.facts import Told
from services.engine.audit.verdict import Ledger
from services.engine.rules.kernel import Expire, Move
from services.engine.rules.match import Match
from services.engine.rules.thinking_time import TurnClock, after

CLAUSE: Final = "G10"

GRACE_MS: Final = 10_000
"""So late a move may come: the service looks at the clocks four times a second, and may be slow at times."""

Outage = tuple[int, int]
"""From when to when the service was down, Unix time in milliseconds."""


class Clocks:
    """Goes from command to command, and finds those that the clock did not allow.

    Args:
        outages: when the service was down; None where that is not known.
        ledger: takes the findings.
    """

    def __init__(self, outages: Sequence[Outage] | None, ledger: Ledger) -> None:
        self._outages = outages
        self._ledger = ledger
        self._clock = TurnClock()

    def check(self, match: Match, move: Move, first: Told) -> None:
        """Look at a command before it is carried out. Whose clock may run out is for the rules to say."""
        seconds = match.started.turn_seconds
        if seconds is None or self._clock.turn is None:
            return
        at_ms, due_ms = first.event.at_ms, self._clock.since_ms + seconds * 1000
        if isinstance(move, Expire):
            self._check_expiry(first, at_ms, due_ms + self._down_ms(at_ms, ended=True))
        elif not move.ANY_VERSION and at_ms > due_ms + self._down_ms(at_ms, ended=False) + GRACE_MS:
            late = f"{(at_ms - due_ms) / 1000:.1f} s after the {seconds} s of this player had run out"
            if self._outages is None:
                self._ledger.note(
                    "time", first.line, first.event.version,
                    f"this move came {late}; right if the service was down meanwhile, which a record does not say",
                    CLAUSE,
                )  # fmt: skip
            else:
                self._ledger.add(
                    "time", first.line, first.event.version,
                    f"this move came {late}, and no outage of the service accounts for that", CLAUSE,
                )  # fmt: skip

    def moved(self, match: Match, move: Move | None, command: Sequence[Told]) -> None:
        """Take over a command that was carried out; ``match`` is after it."""
        facts = [each.fact for each in command]
        self._clock = after(self._clock, match, move, facts, command[0].event.at_ms)

    def _check_expiry(self, first: Told, at_ms: int, due_ms: int) -> None:
        if at_ms < due_ms:
            self._ledger.add(
                "time", first.line, first.event.version,
                f"the clock ran out {(due_ms - at_ms) / 1000:.3f} s before the player's time was up", CLAUSE,
            )  # fmt: skip

    def _down_ms(self, at_ms: int, *, ended: bool) -> int:
        """Return for how long the service was down between the clock's start and this moment.

        Args:
            at_ms: the moment.
            ended: count those outages only that were over by then: the service knew of no others.
        """
        since_ms = self._clock.since_ms
        return sum(
            min(to_ms, at_ms) - max(from_ms, since_ms)
            for from_ms, to_ms in self._outages or ()
            if to_ms > since_ms and from_ms < at_ms and (to_ms <= at_ms or not ended)
        )
