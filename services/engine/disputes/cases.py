"""Gathers what a case file is made from, and remembers audits, which are costly."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

from services.contracts.envelope import Event
from services.contracts.events.dispute import Arrived
from services.engine.audit import audit_sheet
from services.engine.disputes.case import Audit, CaseFile, Evidence, case_file
from services.engine.disputes.command_log import CommandLog
from services.engine.disputes.court import EVIDENCE_MAX, EVIDENCE_MS
from services.engine.disputes.dispute import Dispute
from services.engine.play.live import Live
from services.engine.play.pulse import Pulse
from services.engine.play.records import Records
from services.engine.play.views import Views, Watcher
from services.engine.replay import Replay, Step
from services.engine.rules import match as matches
from services.engine.rules.catalogue import Catalogue
from services.engine.rules.kernel import Move, Refusal
from services.runtime.platform import Platform
from services.runtime.players import Players
from services.runtime.tokens.tokens import Tokens

AUDITS_MAX: Final = 256


class Cases:
    """Puts case files together for whoever may read them."""

    def __init__(
        self,
        platform: Platform,
        views: Views,
        records: Records,
        catalogue: Catalogue,
        commands: CommandLog,
        pulse: Pulse,
    ) -> None:
        """Read from the log, through views, and from the commands log."""
        self._pulse = pulse
        self._players: Players = platform.players
        self._tokens: Tokens = platform.tokens
        self._views = views
        self._records = records
        self._catalogue = catalogue
        self._commands = commands
        self._audits: OrderedDict[tuple[str, bytes], Audit] = OrderedDict()

    async def case(self, dispute: Dispute, live: Live, watcher: Watcher) -> CaseFile:
        """Return the case file of a dispute as somebody may see it."""
        match = live.match
        events = await self._views.events(live, 0, live.head.version)
        auditors = [] if dispute.ruling is None else [dispute.ruling.auditor]
        players = [seat.player for seat in match.started.seats]
        names = await self._players.names_of([*players, *auditors])
        arrivals = await self._arrivals(dispute, events, players)
        outages = await self._pulse.outages(events[0].at_ms, events[-1].at_ms)
        verdict = await self._audit(live, outages) if match.over else None

        def again(step: Step, seat: int, move: Move) -> Refusal | None:
            decided = matches.decide(step.match, seat, move, live.keys)
            return decided if isinstance(decided, Refusal) else None

        def put_together() -> CaseFile:
            replay = Replay(events, self._catalogue)
            return case_file(
                dispute, Evidence(replay, watcher, dict(names), arrivals, outages, again, verdict)
            )

        # A long match takes a while; meanwhile other requests go on.
        return await asyncio.to_thread(put_together)

    async def _arrivals(self, dispute: Dispute, events: list[Event], players: list[str]) -> list[Arrived]:
        """Return what was kept when the dispute was opened, and what the commands log has learnt since."""
        opened = dispute.opened
        kept = list(opened.arrivals)
        at_ms = events[opened.version - 1].at_ms if opened.refused is None else opened.refused.at_ms
        await self._commands.flush()
        found = await self._commands.around(
            opened.match, players, at_ms - EVIDENCE_MS, at_ms, at_ms + EVIDENCE_MS, EVIDENCE_MAX
        )
        return [
            *kept,
            *(each for at, each in enumerate(found) if each not in kept and each not in found[:at]),
        ]

    async def _audit(self, live: Live, outages: Sequence[tuple[int, int]]) -> Audit:
        key = live.match.started.match, live.head.hash
        known = self._audits.get(key)
        if known is None:
            sheet = await self._records.sheet(live.match.started.match)
            keys = {each.id: each.raw for each in self._tokens.public_keys() if each.purpose == "record"}
            verdict = await asyncio.to_thread(audit_sheet, sheet, self._catalogue, keys, outages)
            known = Audit(
                sound=verdict.sound,
                first_bad_version=verdict.first_bad_version,
                events=verdict.events,
                commands=verdict.commands,
                draws=verdict.draws,
                findings=tuple(finding.text for finding in verdict.findings),
            )
            self._audits[key] = known
            while len(self._audits) > AUDITS_MAX:
                self._audits.popitem(last=False)
        self._audits.move_to_end(key)
        return known
