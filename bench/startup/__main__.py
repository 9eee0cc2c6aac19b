"""``python -m bench.startup``: from the start of a process to its first good answer, over logs of different sizes."""

from __future__ import annotations

import argparse
import os
import sys
from statistics import median
from time import perf_counter

import uvloop

from bench.growth.__main__ import filled
from bench.machine import machine
from bench.results import Bar, Chart, keep
from bench.serving.servers import Servers, servers, serving


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description="Starts over growing logs.")
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--service", default="all", help="which service is started")
    given = parser.parse_args()
    with servers() as ready:
        logs = {events: uvloop.run(filled(ready, f"log_{events}", events)) for events in given.events}
        seconds: dict[int, list[float]] = {events: [] for events in given.events}
        for number in range(given.rounds + 1):
            for events, own in logs.items():
                took = _start(own, given.service)
                if number:  # the first one reads files that are in no cache yet
                    seconds[events].append(took)
            print(f"round {number} of {given.rounds}", file=sys.stderr)
    print(machine("uvicorn", "litestar"))
    print(
        f"load average {os.getloadavg()[0]:.1f}; {given.rounds} starts of {given.service}, until /health/ready\n"
    )
    print(f"{'events':>12}{'seconds':>10}{'least':>8}{'most':>8}{'to the smallest':>17}")
    base = median(seconds[given.events[0]])
    for events, values in seconds.items():
        print(
            f"{events:>12,}{median(values):>10.2f}{min(values):>8.2f}{max(values):>8.2f}{median(values) / base:>17.2f}"
        )
    bars = [Bar(f"{events:,} events", values) for events, values in seconds.items()]
    keep("startup", machine("uvicorn", "litestar"), [Chart("from the start to the first answer", "s", bars)])


def _start(own: Servers, service: str) -> float:
    begun = perf_counter()
    with serving(service, own):
        return perf_counter() - begun


if __name__ == "__main__":
    main()
