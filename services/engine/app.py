"""The engine, wired."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from litestar import Router

from services.engine.bots.catalogue import BOTS
from services.engine.bots.leases import Leases
from services.engine.bots.pace import Pace
from services.engine.bots.player import BotPlayer
from services.engine.bots.roster import Roster
from services.engine.bots.runner import Runner
from services.engine.bots.thinking import Thinking
from services.engine.clocks.absences import Absences
from services.engine.clocks.deadlines import Deadlines
from services.engine.clocks.ticker import Ticker
from services.engine.disputes.cases import Cases
from services.engine.disputes.command_log import CommandLog
from services.engine.disputes.court import Court
from services.engine.disputes.docket import Docket
from services.engine.disputes.words import DisputeWords
from services.engine.http import disputes, games, log, playing, records, replaying, socket, starting
from services.engine.http.documentation import documentation
from services.engine.play.commitments import Commitments
from services.engine.play.counts import Counts
from services.engine.play.live import LiveMatches
from services.engine.play.moves import Moves
from services.engine.play.positions import Positions
from services.engine.play.pulse import Pulse
from services.engine.play.records import Records
from services.engine.play.reveals import Reveals
from services.engine.play.views import Views
from services.engine.record import ENDING
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.service import Service
from services.runtime.subscription import Subscription
from services.runtime.tasks import end
from services.runtime.tree import LogProofs, Sealers

if TYPE_CHECKING:
    from services.runtime.platform import Platform

VOID: Final = "match-voided"
"""A match that is void after its end needs a receipt for its new end."""

READERS_PACE_SECONDS: Final = 0.25
"""Clocks, bots, seeds and disputes need what happened soon, and not at the price of a query a move each."""

HOLDER_BYTES: Final = 8
"""The length of the name under which this process holds matches with bots."""


def service(platform: Platform) -> Service:
    """Build the engine over a platform that is not open yet."""
    commitments = Commitments(
        platform.database, platform.vault, platform.clock, platform.entropy, platform.log.log_for
    )
    live = LiveMatches(platform.log, commitments, CATALOGUE, platform.entropy, told=platform.handover.give)
    counts = Counts(platform.registry)
    moves = Moves(platform.log, live, commitments, CATALOGUE, platform.clock, counts)
    pulse = Pulse(platform.database, platform.clock)
    positions = Positions(platform.log, CATALOGUE)
    views = Views(platform.log, live, positions, platform.players, pulse, platform.clock)
    proofs = LogProofs(platform.log)
    writer = Records(platform.log, commitments, platform.tokens, proofs)
    docket = Docket(platform.database)
    commands = CommandLog(
        platform.database, platform.clock, platform.settings.command_log_days, platform.registry
    )
    words = DisputeWords(platform.database, platform.entropy)
    court = Court(platform.log, docket, words, commands, views, moves, platform.clock, platform.entropy)
    cases = Cases(platform, views, writer, CATALOGUE, commands, pulse)
    reveals = Reveals(platform.vault, platform.log)
    deadlines = Deadlines(live)
    absences = Absences(platform.log, platform.clock)
    ticker = Ticker(platform.database, pulse, moves, platform.clock, counts, absences)
    subscriptions = [
        Subscription(
            platform.database,
            platform.log,
            platform.bell,
            one.NAME,
            one.VERSION,
            one.apply,
            forget=one.forget,
            types=one.TYPES,
            newest=one is deadlines,
            pace_seconds=READERS_PACE_SECONDS,
        )
        for one in (reveals, deadlines, Roster(), docket)
    ]
    thinking = Thinking(BOTS, platform.vault, platform.registry)
    pace = Pace(platform.settings.bot_pace_seconds)

    def bot_player(match: str) -> BotPlayer:
        poll_seconds = platform.settings.poll_seconds
        return BotPlayer(match, platform.log, moves, platform.bell, CATALOGUE, thinking, pace, poll_seconds)

    runner = Runner(
        Leases(platform.database, platform.entropy(HOLDER_BYTES).hex()), platform.bell, bot_player
    )
    sealers = Sealers(
        platform.log,
        platform.bell,
        platform.tokens.keyring,
        platform.clock,
        {ENDING, VOID},
        platform.registry,
        platform.lost_tails,
    )
    router = Router(
        "/v1",
        route_handlers=[
            games.list_games, games.get_game, games.get_rules,
            starting.commit, starting.list_commitments, starting.start_match,
            playing.get_match, playing.get_match_part, playing.move, playing.list_events,
            playing.stream_match, playing.get_state, socket.match_socket, replaying.get_step,
            records.get_record, records.audit_match,
            log.get_receipt, log.get_checkpoint, log.list_checkpoints, log.list_losses, log.prove_inclusion,
            log.prove_consistency,
            disputes.open_dispute, disputes.list_disputes, disputes.get_dispute, disputes.get_case,
            disputes.withdraw_dispute, disputes.rule_on_dispute,
        ],
    )  # fmt: skip

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        await commitments.check_keys()
        runs = [*(subscription.run for subscription in subscriptions), ticker.run, sealers.run]
        runs += [commands.run, court.run]
        if platform.settings.bots:
            runs.append(runner.run)
        working = [asyncio.create_task(run()) for run in runs]
        try:
            yield
        finally:
            await end(*working)
            thinking.close()

    return Service(
        "engine",
        (router,),
        provides=(
            CATALOGUE,
            commitments,
            moves,
            views,
            positions,
            pulse,
            proofs,
            writer,
            commands,
            court,
            cases,
        ),
        lifespan=lifespan,
        documentation=documentation,
    )
