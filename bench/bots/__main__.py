"""``python -m bench.bots``: sharp against casual in every game that has bots, on rotated seats."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from math import sqrt
from statistics import fmean, pstdev
from typing import Final

from bench.bots.arena import BLUE, RED, Played, arrangements, play
from bench.bots.distance import distances
from bench.machine import machine
from bench.results import Bar, Chart, keep
from services.engine.bots.catalogue import BOTS
from services.engine.rules.catalogue import CATALOGUE

CHUNK: Final = 25
NINETY_FIVE: Final = 1.96
"""Standard errors of a 95 % interval."""


def main() -> None:
    """Read the arguments, play, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.bots", description="Sharp against casual.")
    parser.add_argument("--matches", type=int, default=2000, help="so many of every game")
    parser.add_argument(
        "--seats", type=int, default=4, help="half of them sharp, half casual; an even number"
    )
    parser.add_argument("--games", nargs="+", default=sorted({bot.game for bot in BOTS.written()}))
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    given = parser.parse_args()
    print(machine())
    print(
        f"{given.matches} matches of each game, {given.seats} seats, half of them sharp, every seating in turn;\n"
        f"the share of first places that sharp takes (0.5 if both were alike), with its 95 % interval\n"
    )
    print(f"{'game':14}{'sharp takes':>12}{'interval':>18}   ms a decision, p50 / p99 / most: sharp, casual")
    with ProcessPoolExecutor(given.jobs) as pool:
        played = {}
        for game in given.games:
            played[game] = _all(pool, game, given.seats, given.matches)
            _print(game, played[game])
    print(
        "\nthe most that a decision of sharp loses against the best play, found by brute force over the rules"
    )
    for what, decisions, lost in distances():
        print(f"{what}: {lost:.1e} in {decisions} positions")
    keep("bots", machine(), _charts(played))


def _all(pool: ProcessPoolExecutor, game: str, seats: int, matches: int) -> list[Played]:
    chunks = [(game, seats, range(at, min(at + CHUNK, matches))) for at in range(0, matches, CHUNK)]
    return [played for chunk in pool.map(_some, chunks) for played in chunk]


def _some(chunk: tuple[str, int, range]) -> list[Played]:
    game, seats, numbers = chunk
    rules = CATALOGUE.game(game)
    if rules is None:
        raise SystemExit(f"there is no game {game}")
    seatings = arrangements(seats)
    return [play(rules, {}, seatings[number % len(seatings)], number, BOTS) for number in numbers]


def _print(game: str, played: Sequence[Played]) -> None:
    low, mean, high = _share(played)
    interval = f"{low:.3f} .. {high:.3f}"
    print(f"{game:14}{mean:>12.3f}{interval:>18}   {_times(played, RED)}, {_times(played, BLUE)}", flush=True)


def _share(played: Sequence[Played]) -> tuple[float, float, float]:
    """Return the share of first places that sharp takes, between the ends of its interval."""
    shares = [each.share_of(RED) for each in played]
    mean, error = fmean(shares), pstdev(shares) / sqrt(len(shares))
    return mean - NINETY_FIVE * error, mean, mean + NINETY_FIVE * error


def _times(played: Sequence[Played], level: str) -> str:
    times = _milliseconds(played, level)
    if not times:
        return "-"
    return f"{_at(times, 50):.2f} / {_at(times, 99):.2f} / {times[-1]:.1f}"


def _milliseconds(played: Sequence[Played], level: str) -> list[float]:
    return sorted(1000 * seconds for each in played for seconds in each.seconds[level])


def _at(ordered: Sequence[float], percent: int) -> float:
    return ordered[len(ordered) * percent // 100]


def _charts(played: dict[str, list[Played]]) -> list[Chart]:
    shares = [Bar(game, list(_share(matches))) for game, matches in played.items()]
    times = [
        Bar(f"{game}, {who}", [_at(milliseconds, 99)])
        for game, matches in played.items()
        for who, level in (("sharp", RED), ("casual", BLUE))
        if (milliseconds := _milliseconds(matches, level))
    ]
    return [
        Chart("first places that sharp takes, with the 95 % interval", "share", shares),
        Chart("a decision, 99th percentile", "ms", times),
    ]


if __name__ == "__main__":
    main()
