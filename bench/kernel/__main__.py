"""``python -m bench.kernel``: the speed of the rules on one core, beside other people's card games in the same run."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from statistics import median
from typing import Final

from bench.installing import NotToBeHadError
from bench.kernel import playouts
from bench.kernel.others import Others, install
from bench.machine import machine
from bench.results import Bar, Chart, keep
from services.engine.rules.catalogue import CATALOGUE
from services.engine.rules.kernel import AnyRules

OURS: Final = "cards-places"
OTHERS: Final = {
    "uno-raw": "RLCard, UNO, raw step",
    "uno-encoded": "RLCard, UNO, encoded environment",
    "crazy-eights": "OpenSpiel, crazy eights (C++)",
}
REPLAYED_OTHER: Final = "crazy-eights-replayed"
MOVES: Final = "moves played"
MATCHES: Final = "matches played"
DECIDED: Final = "moves as in service"
FOLDED: Final = "facts folded"
REPLAYED: Final = "events replayed"
WHOLE: Final = "matches replayed"
STORED: Final = "from stored bytes"
COLUMNS: Final = (MOVES, MATCHES, DECIDED, FOLDED, REPLAYED, STORED, WHOLE)
EVENTS_MIN: Final = 4000
"""So many events of each game are replayed, over and over."""

Figures = dict[tuple[str, str], list[float]]


def main() -> None:
    """Read the arguments, run, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.kernel", description="The speed of the rules.")
    parser.add_argument("--rounds", type=int, default=5, help="each figure is the median of so many")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long one figure of one round takes")
    parser.add_argument("--seats", type=int, default=4, help="players at every table")
    given = parser.parse_args()
    others: Others | None = None
    missing = ""
    try:
        others = install()
        others.try_out([*OTHERS, REPLAYED_OTHER])
    except NotToBeHadError as error:
        others, missing = None, str(error)

    print(machine("msgspec"))
    print(
        f"{given.seats} seats, default options, random legal moves; a second of one core, median of {given.rounds} "
        f"rounds of {given.seconds:g} s (lowest - highest, in thousands)"
    )
    before = os.getloadavg()[0]
    figures = _measure(others, given.rounds, given.seconds, given.seats)
    print(
        f"load of the machine: {before:.1f} before, {os.getloadavg()[0]:.1f} after, on {os.cpu_count()} cores\n"
    )
    _print_games(figures)
    print(f"\n{others.versions() if others else f'rlcard and open-spiel are not to be had: {missing}'}")
    _print_others(figures)
    _print_replayed(figures)
    keep("kernel", machine("msgspec") + (f"; {others.versions()}" if others else ""), _charts(figures))


def _measure(others: Others | None, rounds: int, seconds: float, seats: int) -> Figures:
    # The game that is compared comes last, right before those that it is compared with.
    games = sorted(CATALOGUE.newest(), key=lambda rules: rules.name == OURS)
    records = {rules.name: _records(rules, seats) for rules in games}
    figures: Figures = {}

    def note(who: str, what: str, value: float) -> None:
        figures.setdefault((who, what), []).append(value)

    for seed in range(1, rounds + 1):
        for rules in games:
            known = records[rules.name]
            note(rules.name, FOLDED, playouts.fold_rules(rules, known, seats, seconds))
            replayed = playouts.fold_matches(rules, known, seconds)
            note(rules.name, REPLAYED, replayed)
            note(rules.name, WHOLE, replayed * len(known) / sum(len(each.facts) for each in known))
            note(rules.name, STORED, playouts.fold_stored(rules, known, seconds))
            decided = playouts.play_matches(rules, seats, seconds, seed)
            note(rules.name, DECIDED, decided.moves / decided.seconds)
            pace = playouts.play_rules(rules, seats, seconds, seed)
            note(rules.name, MOVES, pace.moves / pace.seconds)
            note(rules.name, MATCHES, pace.matches / pace.seconds)
        if others is None:
            continue
        for contender in OTHERS:
            pace = others.play(contender, seats, seconds, seed)
            note(contender, MOVES, pace.moves / pace.seconds)
            note(contender, MATCHES, pace.matches / pace.seconds)
        pace = others.play(REPLAYED_OTHER, seats, seconds, seed)
        note(REPLAYED_OTHER, MOVES, pace.moves / pace.seconds)
        note(REPLAYED_OTHER, WHOLE, pace.matches / pace.seconds)
    return figures


def _records(rules: AnyRules, seats: int) -> list[playouts.Record]:
    records: list[playouts.Record] = []
    while sum(len(each.events) for each in records) < EVENTS_MIN:
        records.append(playouts.record(rules, seats, seed=len(records)))
    return records


def _print_games(figures: Figures) -> None:
    print(f"{'':16}" + "".join(f"{column:>24}" for column in COLUMNS))
    for rules in CATALOGUE.newest():
        print(f"{rules.name:16}" + "".join(_cell(figures[rules.name, column]) for column in COLUMNS))


def _print_others(figures: Figures) -> None:
    print(f"{'':34}{MOVES:>24}{MATCHES:>24}{OURS + ' to it':>24}")
    ours = median(figures[OURS, MOVES])
    for contender, title in OTHERS.items():
        if (contender, MOVES) not in figures:
            print(f"{title:34}{'-':>24}{'-':>24}{'-':>24}")
            continue
        moves, matches = figures[contender, MOVES], figures[contender, MATCHES]
        print(f"{title:34}{_cell(moves)}{_cell(matches)}{ours / median(moves):>24.2f}")


def _print_replayed(figures: Figures) -> None:
    """Print how many whole matches are replayed, beside whole games of crazy eights applied again."""
    theirs = figures.get((REPLAYED_OTHER, WHOLE))
    if theirs is None:
        return
    print(f"\n{'whole matches replayed':34}{WHOLE:>24}{'to crazy eights':>24}")
    for rules in CATALOGUE.newest():
        ours = figures[rules.name, WHOLE]
        print(f"{rules.name:34}{_cell(ours)}{median(ours) / median(theirs):>24.3f}")
    print(f"{'OpenSpiel, crazy eights (C++)':34}{_cell(theirs)}")


def _charts(figures: Figures) -> list[Chart]:
    titles = OTHERS | {REPLAYED_OTHER: "OpenSpiel, crazy eights (C++)"}
    return [
        Chart(
            what,
            "a second of one core",
            [
                Bar(titles.get(who, who), values)
                for (who, column), values in figures.items()
                if column == what
            ],
        )
        for what in COLUMNS
    ]


def _cell(values: Sequence[float]) -> str:
    low, high = min(values) / 1000, max(values) / 1000
    digits = 0 if high > 10 else 1
    return f"{median(values):,.0f} ({low:,.{digits}f}-{high:,.{digits}f})".rjust(24)


if __name__ == "__main__":
    main()
