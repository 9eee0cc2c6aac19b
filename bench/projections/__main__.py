"""``python -m bench.projections``: ranks among many, live application, rebuilds."""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from statistics import quantiles
from time import perf_counter, process_time
from typing import Any, ClassVar, Final, TypeAlias

import asyncpg
import psutil
import uvloop

from bench.machine import machine
from bench.projections.filling import fill, same_as_folded
from bench.projections.league import GAME, League, voided
from bench.results import Bar, Chart, keep
from services.cli.embedded import EmbeddedPostgres
from services.contracts.envelope import Draft, Event, Head, Recorded, chain
from services.contracts.events.catalogue import encode
from services.contracts.ids import RATINGS, ratings_of
from services.projections.board.tables import Board
from services.projections.history.tables import History
from services.projections.leaderboards.ranks import Ranks
from services.projections.leaderboards.rater import Rater
from services.projections.leaderboards.tables import Leaderboards
from services.projections.projection import Projection
from services.projections.rebuilding import next_page
from services.projections.records.tables import Records
from services.runtime.database import Database
from services.runtime.log import Append, Appended, EventLog, Page
from services.runtime.migrate import migrate
from services.runtime.settings import Settings

PAGE: Final = 2_000
"""Events in one transaction, as a rebuild takes them."""

PROJECTIONS: Final[tuple[type[Projection], ...]] = (Leaderboards, History, Records, Board)

Connection: TypeAlias = "asyncpg.Connection[Any]"


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.projections", description="Speed of the projections."
    )
    parser.add_argument("--players", type=int, default=50_000, help="in the league (the goal is 1000000)")
    parser.add_argument("--matches", type=int, default=500_000, help="rated before (the goal is 10000000)")
    parser.add_argument("--reads", type=int, default=3_000, help="how many ranks and pages are read")
    parser.add_argument("--live", type=int, default=5_000, help="finished matches that are applied live")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of each of these: some 15 events each")
    parser.add_argument(
        "--voids", type=int, default=50, help="of the matches applied live, taken back afterwards"
    )
    parser.add_argument("--database", help="an empty PostgreSQL to use, as a URL; without it an embedded one")
    given = parser.parse_args()
    with ExitStack() as stack:
        url = given.database
        if url is None:
            directory = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="macao-bench-", ignore_cleanup_errors=True)
                )
            )
            directory.chmod(0o755)  # for root, the account that runs the server has to get in
            url = stack.enter_context(EmbeddedPostgres(directory)).url
        uvloop.run(_run(url, given))


async def _run(url: str, given: argparse.Namespace) -> None:
    await migrate(url)
    print(machine("asyncpg", "uvloop"))
    print(f"load {os.getloadavg()[0]:.1f} when it began\n")
    connection = await asyncpg.connect(url)
    await same_as_folded(connection)
    league = League(given.players)
    await fill(connection, league, given.matches)
    size = await connection.fetchval("SELECT pg_size_pretty(pg_database_size(current_database()))")
    print(f"{given.matches:,} matches in the account, database {size}\n")
    charts = await _ranks(connection, league, given.reads)
    settings = Settings(database_url=url, redis_url="", secret_key="A" * 43 + "=", poll_seconds=0.05)
    async with Database(settings) as database, EventLog(database) as log:
        charts.append(await _live(connection, log, league, given))
        charts.append(await _rebuild(connection, log))
    await connection.close()
    keep("projections", machine("asyncpg", "uvloop"), charts)


# Ranks


async def _ranks(connection: Connection, league: League, reads: int) -> list[Chart]:
    """Read pages and ranks; for each, the longest of a hundred is what counts."""
    ranks = Ranks(Leaderboards())
    random = Random(3)
    rated = [
        row["player"]
        for row in await connection.fetch(
            "SELECT player FROM macao_projections.leaderboard TABLESAMPLE SYSTEM (20) LIMIT 20000"
        )
    ] or league.players
    print(f"{'milliseconds, of ' + format(reads, ','):32}{'median':>9}{'99th':>9}{'longest':>9}")

    async def around() -> None:
        await ranks.around(connection, GAME, random.choice(rated), 3)

    async def around_of_kind() -> None:
        await ranks.around(connection, GAME, random.choice(rated), 3, "provisional")

    async def top() -> None:
        await ranks.page(connection, GAME, None, 51)

    async def behind() -> None:
        rating = int(random.gauss(1_000_000, 100_000))
        await ranks.page(connection, GAME, (rating, 20, "p_"), 51)

    medians, slow = [], []
    for name, read in (
        ("rank with neighbours", around), ("the same, among provisional", around_of_kind), ("top page", top),
        ("page behind a cursor", behind),
    ):  # fmt: skip
        times = await _timed(read, reads)
        cuts = quantiles(times, n=100)
        print(f"{name:32}{cuts[49]:>9.2f}{cuts[98]:>9.2f}{max(times):>9.2f}")
        medians.append(Bar(name, [cuts[49]]))
        slow.append(Bar(name, [cuts[98]]))
    print()
    return [
        Chart("ranks and pages, median", "ms", medians),
        Chart("ranks and pages, 99th percentile", "ms", slow),
    ]


async def _timed(read: Callable[[], Awaitable[None]], reads: int) -> list[float]:
    for _ in range(50):
        await read()  # plans, caches
    times: list[float] = []
    for _ in range(reads):
        begun = perf_counter()
        await read()
        times.append((perf_counter() - begun) * 1000)
    return times


# Live


class _Follower:
    """Folds the log into one projection, page by page, and counts the time.

    As a subscription does, which is given every event, or (``builds``) as a build does, which is given what it needs.
    """

    def __init__(
        self, connection: Connection, log: EventLog, projection: Projection, *, builds: bool = False
    ) -> None:
        self._builds = builds
        self._connection = connection
        self._log = log
        self._projection = projection
        self.position = 0
        self.seconds = 0.0
        self.own_seconds = 0.0
        self.server_seconds = 0.0

    async def fold(self) -> int:
        """Fold to the end of the log; return how many events there were."""
        begun, own, before = perf_counter(), process_time(), self.position
        server = await _server_seconds(self._connection)
        while (page := await self._next()).position > self.position:
            async with self._connection.transaction():
                await self._projection.apply(self._connection, page.events)
            self.position = page.position
        self.seconds += perf_counter() - begun
        self.own_seconds += process_time() - own
        self.server_seconds += await _server_seconds(self._connection) - server
        return self.position - before

    async def _next(self) -> Page:
        if self._builds:
            return await next_page(self._log, self._projection, self.position, PAGE, self._connection)
        events = await self._log.read_all(self.position, PAGE, connection=self._connection)
        if not events:
            return Page([], self.position, b"")
        return Page(events, events[-1].position, events[-1].event.hash)


async def _server_seconds(connection: Connection) -> float:
    """Return how long the server has worked for a connection; 0 for one on another machine."""
    try:
        times = psutil.Process(connection.get_server_pid()).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


async def _live(connection: Connection, log: EventLog, league: League, given: argparse.Namespace) -> Chart:
    """Append finished matches, then see how fast they are folded, rated, written and folded again."""
    heads = await _tell(log, league, given.live, given.rounds)
    boards = Leaderboards()
    follower, rater = _Follower(connection, log, boards), Rater(boards)
    begun, own = perf_counter(), process_time()
    events = await follower.fold()
    written = await _write_all(connection, log, follower, rater)
    seconds = perf_counter() - begun
    print(
        f"live: {given.live:,} matches of {events:,} events applied, {written:,} ratings written, {seconds:.1f} s:"
    )
    busy, rate = process_time() - own + follower.server_seconds, given.live / seconds
    print(
        f"      {rate:,.0f} matches a second through fold, writer, log and fold again; "
        f"{given.live / busy:,.0f} in a second of the processor\n"
    )
    taken = Random(4).sample(sorted(heads), min(given.voids, len(heads)))
    if taken:
        await asyncio.gather(*(_append(log, "m", *voided(match, heads[match])) for match in taken))
        begun = perf_counter()
        await follower.fold()
        written = await _write_all(connection, log, follower, rater)
        seconds = perf_counter() - begun
        print(f"voids: {len(taken):,} matches taken back by {written:,} events in {seconds:.1f} s:")
        print(f"      {written / len(taken):,.1f} events a void, {written / seconds:,.0f} a second\n")
    live = [Bar("by the clock", [rate]), Bar("by the processor", [given.live / busy])]
    return Chart("finished matches through fold, writer, log and fold again", "a second", live)


async def _tell(log: EventLog, league: League, matches: int, rounds: int) -> dict[str, Head]:
    """Append matches, many at a time and so interleaved as they would be; return where they ended."""
    heads: dict[str, Head] = {}
    left = matches

    async def play() -> None:
        nonlocal left
        while left:
            left -= 1
            match, commands = league.match(rounds)
            for head, events in commands:
                await _append(log, "m", head, events)
            heads[match] = commands[-1][1][-1].head

    begun = perf_counter()
    await asyncio.gather(*(play() for _ in range(256)))
    print(f"{matches:,} matches appended in {perf_counter() - begun:.1f} s")
    return heads


async def _append(log: EventLog, kind: str, head: Head, events: Sequence[Event]) -> None:
    item = Append(events[0].stream, kind, head, tuple(events), events[0].command, bytes(32), b"{}")
    outcome = await log.append(item)
    if not isinstance(outcome, Appended):
        raise TypeError(f"not appended: {outcome}")


async def _write_all(connection: Connection, log: EventLog, follower: _Follower, rater: Rater) -> int:
    """Write and fold until there is nothing left to write, as the writer of the service does."""
    written = 0
    while order := await rater.next(connection, GAME):
        drafts = [Draft(str(fact.__struct_config__.tag), fact.SCHEMA, encode(fact)) for fact in order.facts]
        events = chain(
            order.expected,
            drafts,
            stream=ratings_of(GAME),
            actor="ratings",
            command=order.command,
            at_ms=1,
            cause=None,
        )
        await _append(log, RATINGS, order.expected, events)
        written += len(events)
        await follower.fold()
    return written


# Rebuilds


async def _rebuild(connection: Connection, log: EventLog) -> Chart:
    """Fold the whole log into each projection, from nothing, on one connection: one core at a time is busy.

    Seconds of the processor are those of this process and of its server process together. On a machine that does
    other things as well they say more than those of the clock.
    """
    heads = ("events", "a second", "a cpu second", "own", "server")
    print(f"{'rebuilds, pages of ' + format(PAGE, ','):28}" + "".join(f"{head:>13}" for head in heads))
    bars: list[Bar] = []
    for kind in (_Nothing, *PROJECTIONS):
        projection = kind()
        for table in projection.TABLES:
            await connection.execute(f"TRUNCATE macao_projections.{table}")
        follower = _Follower(connection, log, projection, builds=True)
        count = await follower.fold()
        own, server = follower.own_seconds, follower.server_seconds
        print(
            f"{projection.NAME:28}{count:>13,}{count / follower.seconds:>13,.0f}{count / (own + server):>13,.0f}"
            f"{own:>13.2f}{server:>13.2f}"
        )
        bars.append(Bar(projection.NAME, [count / (own + server)]))
    print(f"\nload {os.getloadavg()[0]:.1f} at the end")
    return Chart("rebuilds", "events a second of the processor", bars)


class _Nothing(Projection):
    """Reads the log, and that is all."""

    NAME: ClassVar = "reading alone"
    VERSION: ClassVar = 1
    TABLES: ClassVar = {}

    async def apply(self, connection: Connection, batch: list[Recorded]) -> None:
        """Do nothing."""


if __name__ == "__main__":
    main()
