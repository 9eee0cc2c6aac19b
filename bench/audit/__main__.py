"""``python -m bench.audit``: audits a second on one core, and the audit of a whole log with its memory."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import Struct

from bench.audit.database import audit, fill, memory_mb, seal
from bench.audit.matches import played
from bench.machine import machine
from bench.results import Bar, Chart, Graph, Line, keep
from services.cli.embedded import EmbeddedPostgres
from services.contracts.envelope import Event
from services.engine.audit import audit_events, audit_lines
from services.engine.record import header_of, write_record
from services.engine.replay import Replay
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.migrate import migrate

SAMPLES: Final = 20
KEY: Final = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
KEY_ID: Final = "k_bench"
MIX: Final = {"dice-race": 60, "cards-bank": 35, "cards-places": 5}


class Pace(Struct, frozen=True):
    """Audits of whole records a second, events of these, events audited without the file, and events replayed."""

    audits: float
    events: float
    decided: float
    replayed: float


def main() -> None:
    """Read the arguments, measure, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.audit", description="Audits a second, and a whole log."
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="of the processor, for each figure")
    parser.add_argument("--rounds", type=int, default=3, help="each figure is the median of so many")
    parser.add_argument("--matches", type=int, default=2000, help="how many the log has; 0: no log")
    parser.add_argument("--seed", type=int, default=1, help="everything follows from it")
    parser.add_argument(
        "--database", help="an empty PostgreSQL database, as a URL; without it an embedded one is started"
    )
    given = parser.parse_args()
    print(machine("msgspec", "asyncpg"))
    charts, graphs = _one_core(given.rounds, given.seconds), []
    if given.matches:
        with ExitStack() as stack:
            directory = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
                )
            )
            directory.chmod(0o755)  # for root, the account that runs the server has to get in
            url = given.database or stack.enter_context(EmbeddedPostgres(directory)).url
            graphs = [asyncio.run(_whole_log(url, given.matches, given.seed, directory / "checkpoints"))]
    keep("audit", machine("msgspec", "asyncpg"), charts, graphs)


def _one_core(rounds: int, seconds: float) -> list[Chart]:
    print(
        f"\none core, median of {rounds} rounds of {seconds:g} s of the processor; {SAMPLES} records a game\n"
    )
    print(
        f"{'game':<14}{'events/match':>13}{'audits/s':>10}{'events/s':>11}{'decided/s':>11}{'replayed/s':>12}"
    )
    paces_by_game: dict[str, list[Pace]] = {}
    for rules in CATALOGUE.every_version():
        matches = [played(rules.name, number) for number in range(1, SAMPLES + 1)]
        paces = paces_by_game[rules.id] = [_pace(matches, seconds) for _ in range(rounds)]
        length = sum(map(len, matches)) / len(matches)
        print(
            f"{rules.id:<14}{length:>13,.0f}{median(pace.audits for pace in paces):>10,.0f}"
            f"{median(pace.events for pace in paces):>11,.0f}{median(pace.decided for pace in paces):>11,.0f}"
            f"{median(pace.replayed for pace in paces):>12,.0f}",
            flush=True,
        )
    return [
        Chart(title, "a second of one core", [
            Bar(game, [getattr(pace, figure) for pace in paces]) for game, paces in paces_by_game.items()
        ])
        for title, figure in (
            ("full audits", "audits"), ("events decided again", "decided"), ("events replayed", "replayed"),
        )
    ]  # fmt: skip


def _pace(matches: Sequence[Sequence[Event]], seconds: float) -> Pace:
    records = [
        list(
            write_record(
                header_of(events[0], key_id=KEY_ID, public_key=KEY.public_key().public_bytes_raw()),
                events,
                lambda data: (KEY_ID, KEY.sign(data)),
            )
        )
        for events in matches
    ]
    keys = {KEY_ID: KEY.public_key().public_bytes_raw()}
    done = events = 0
    begun = process_time()
    while (spent := process_time() - begun) < seconds:
        verdict = audit_lines(records[done % len(records)], CATALOGUE, keys)
        assert verdict.sound, verdict
        done, events = done + 1, events + verdict.events
    decided = replayed = 0
    begun = process_time()
    while (decided_seconds := process_time() - begun) < seconds:
        match = matches[decided % len(matches)]
        assert audit_events(match, match[-1].head, CATALOGUE).sound
        decided += 1
        replayed += len(match)
    decided_events, decided, replayed = replayed, 0, 0
    begun = process_time()
    while (replay_seconds := process_time() - begun) < seconds:
        replay = Replay(matches[decided % len(matches)], CATALOGUE)
        decided, replayed = decided + 1, replayed + replay.last
    return Pace(done / spent, events / spent, decided_events / decided_seconds, replayed / replay_seconds)


async def _whole_log(url: str, matches: int, seed: int, directory: Path) -> Graph:
    await migrate(url)
    print(f"\na log of {matches:,} matches ({', '.join(f'{game} {share} %' for game, share in MIX.items())})")
    events = await fill(url, MIX, matches, seed)
    print(f"  {events:,} events; RSS before {memory_mb():.1f} MB", flush=True)
    seconds = await seal(url, events, directory)
    print(f"  sealed in {seconds:.1f} s, {events / seconds:,.0f} events/s\n", flush=True)
    watch, wall, processor = await audit(url, events, directory)
    tally = watch.tally
    grown = max(watch.memories_mb) - watch.memories_mb[0] if watch.memories_mb else 0.0
    print(
        f"\n  {tally.matches:,} matches, {tally.events:,} events, {tally.commands:,} commands, {tally.draws:,} draws,"
        f" {tally.checkpoints:,} checkpoints ({tally.outside:,} outside): {tally.findings} findings\n"
        f"  {wall:.1f} s by the wall, {processor:.1f} s of the processor: {tally.matches / wall:,.0f} matches/s;"
        f" memory grew by {grown:.1f} MB after the first line"
    )
    assert tally.matches == matches
    assert not tally.findings
    points = [(float(at), memory) for at, memory in enumerate(watch.memories_mb, 1)]
    title = f"memory during the audit of {tally.events:,} events"
    return Graph(title, "twentieths of the audit", "MB", [Line("resident", points)])


if __name__ == "__main__":
    main()
