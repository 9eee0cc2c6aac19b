"""All tables of a load, with a display that follows them."""

from __future__ import annotations

import asyncio
import itertools
from random import Random
from time import monotonic
from typing import Final

import httpx
from msgspec import Struct
from rich.console import Console
from rich.live import Live
from rich.table import Table as Grid

from services.cli.loading.table import GAMES, Table
from services.cli.loading.tally import Samples, Tally

DISPLAY_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 30.0
END_SECONDS: Final = 5.0


class Wanted(Struct, frozen=True):
    """What load is wanted.

    Attributes:
        server: where the service answers.
        tables: how many play at a time.
        games: which they play in turn.
        seconds: for how long.
        moves_max: after so many accepted moves it ends early; None: by time alone.
        think_seconds: the pause of a player before a move, on average.
        watched: whether each match is followed over a stream.
        seed: of everything random.
    """

    server: str
    tables: int
    games: tuple[str, ...] = tuple(GAMES)
    seconds: float = 30.0
    moves_max: int | None = None
    think_seconds: float = 0.0
    watched: bool = True
    seed: int = 1


async def put_under_load(wanted: Wanted, console: Console) -> Tally:
    """Have the tables play, and show how it goes; returns what came of it."""
    tally = Tally(wanted.seed)
    until = monotonic() + wanted.seconds

    def wants_more() -> bool:
        enough = wanted.moves_max is not None and tally.moves.count >= wanted.moves_max
        return not enough and monotonic() < until

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    async with httpx.AsyncClient(
        base_url=wanted.server, timeout=PATIENCE_SECONDS, limits=limits, trust_env=False
    ) as http:
        games = itertools.islice(itertools.cycle(wanted.games), wanted.tables)
        tables = [
            Table(
                http, tally, game, number, Random(f"{wanted.seed} {number}"),  # noqa: S311 - nobody is to be fooled
                think_seconds=wanted.think_seconds, watched=wanted.watched, wants_more=wants_more,
            )
            for number, game in enumerate(games, 1)
        ]  # fmt: skip
        playing = {asyncio.create_task(table.run()) for table in tables}
        with Live(console=console, auto_refresh=False, transient=True) as live:
            left = playing
            while left and monotonic() < until + END_SECONDS:
                if console.is_terminal:
                    live.update(grid(tally, lately=tally.a_second_lately()), refresh=True)
                done, left = await asyncio.wait(left, timeout=DISPLAY_SECONDS)
                for task in done:
                    task.result()  # whatever a table does not expect ends the load
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
    return tally


def grid(tally: Tally, *, lately: float | None = None) -> Grid:
    """Return what is shown."""
    shown = Grid(show_header=False, box=None, padding=(0, 2))
    seconds = tally.seconds
    shown.add_row("tables that play", f"{tally.playing}")
    shown.add_row("moves accepted", f"{tally.moves.count:,}", f"{tally.moves.count / seconds:,.1f} a second")
    if lately is not None:
        shown.add_row("", "", f"{lately:,.1f} a second lately")
    shown.add_row("matches played out", f"{tally.matches:,}")
    shown.add_row("a move takes", *_times(tally.moves))
    shown.add_row("spectators lag", *_times(tally.lag))
    for game, count in sorted(tally.games.items()):
        shown.add_row(f"  {game}", f"{count:,}")
    shown.add_row("refusals", _counts(tally.refusals))
    shown.add_row("broken off", _counts(tally.broken))
    return shown


def _times(samples: Samples) -> tuple[str, str]:
    if not samples.count:
        return "-", ""
    median, most = samples.percentile(0.5), samples.percentile(0.99)
    return (
        f"{1000 * median:,.1f} ms",
        f"99 %: {1000 * most:,.1f} ms, longest: {1000 * samples.longest:,.1f} ms",
    )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())) or "none"
