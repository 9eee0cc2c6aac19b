"""``macao bench``: measure something, and keep what came out in ``bench/results``."""

import argparse
import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Final

from services.cli.advice import Advice
from services.cli.places import ROOT

NAME: Final = "bench"
HELP: Final = "measure something; everything after its name goes to it (`macao bench move --help`)"
PASSES_ON: Final = True

BENCHES: Final = {
    "append": "events a second into the log, beside plain INSERTs and other event stores; replay",
    "audit": "records and the whole log audited, a second",
    "bots": "how well the bots play, and how long they think",
    "growth": "the latency of a move as the log grows",
    "kernel": "moves a second of the rules alone, beside RLCard and OpenSpiel",
    "latency": "from a move to whoever watches",
    "move": "moves a second from HTTP to commit, beside a bare endpoint and game servers",
    "partitions": "events in one table, in ranges of positions and by a hash of the stream",
    "projections": "ranks read, matches rated, projections rebuilt",
    "slices": "a subscription cut into slices",
    "soak": "hours of mixed load, with memory, connections and descriptors",
    "startup": "from the start of a process to its first answer, as the log grows",
    "stream": "server-sent events to thousands of clients, beside Litestar's own",
}
RESULTS: Final = "bench/results"


def configure(parser: argparse.ArgumentParser) -> None:
    """Take the name in ``run``: an option before it would otherwise be taken for one of ours."""
    del parser


def run(args: argparse.Namespace) -> int:
    """Run one bench: what it prints is shown, and kept with the date.

    Raises:
        Advice: there is none of this name.
    """
    name, *rest = args.rest or ["--help"]
    if name in ("-h", "--help"):
        print("usage: macao bench NAME [OPTIONS]\n")
        for bench, what in BENCHES.items():
            print(f"  {bench:<14}{what}")
        print(f"\nTable, JSON and plot are kept in {RESULTS}.")
        return 0
    if name not in BENCHES:
        raise Advice(f"there is no bench {name}; choose one of {', '.join(BENCHES)}.")
    return _run(name, rest)


def _run(name: str, rest: list[str]) -> int:
    begun = datetime.now(UTC)
    result = ROOT / RESULTS / f"{begun:%Y-%m-%d-%H%M}-{name}"
    environment = {**os.environ, "MACAO_BENCH_RESULT": str(result), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", f"bench.{name}", *rest]
    said: list[str] = []
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout or ():
                print(line, end="", flush=True)
                said.append(line)
        except KeyboardInterrupt:
            process.wait()
            raise
    if process.returncode == 0 and "--help" not in rest and "-h" not in rest:
        # The arguments stand in the JSON; there the addresses of databases are left out.
        result.parent.mkdir(parents=True, exist_ok=True)
        heading = f"macao bench {name}, begun {begun:%Y-%m-%d %H:%M} UTC\n\n"
        result.with_suffix(".txt").write_text(heading + "".join(said), "utf-8")
    return process.returncode
