"""What is left of a bench: its table as it was printed, every figure of every round as JSON, and a plot.

A bench calls ``keep`` at its end. Files are written under the name that ``macao bench`` gives them, without an ending
(``MACAO_BENCH_RESULT``); a bench that is run by itself only prints.
"""

from __future__ import annotations

import io
import os
import re
import sys
import textwrap
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
from msgspec import Struct

VARIABLE: Final = "MACAO_BENCH_RESULT"
BAR_INCHES: Final = 0.28
CHART_INCHES: Final = 1.1
WIDTH_INCHES: Final = 9.0
TITLE_CHARACTERS: Final = 130
WHOLE_FROM: Final = 1_000
_PAIR: Final = re.compile(rb"\[\s+([-+.e\d]+),\s+([-+.e\d]+)\s+\]")
"""A point of a line takes four lines of JSON where one will do."""


class Bar(Struct, frozen=True):
    """One contender: its figure in every round."""

    label: str
    values: list[float]


class Chart(Struct, frozen=True):
    """Contenders beside each other, with what is measured and its unit."""

    title: str
    unit: str
    bars: list[Bar]


class Line(Struct, frozen=True):
    """Something that changes: pairs of x and y."""

    label: str
    points: list[tuple[float, float]]


class Graph(Struct, frozen=True):
    """Lines over the same x."""

    title: str
    x_unit: str
    unit: str
    lines: list[Line]


class Result(Struct, frozen=True):
    """What JSON holds.

    Attributes:
        at: when, as UTC.
        machine: where, with versions.
        load_average: of the last minute, at the end.
    """

    name: str
    at: str
    machine: str
    load_average: float
    arguments: list[str]
    charts: list[Chart]
    graphs: list[Graph]


def keep(name: str, machine: str, charts: list[Chart], graphs: list[Graph] | None = None) -> None:
    """Write JSON and plot, if it is asked for."""
    given = os.environ.get(VARIABLE)
    if not given:
        return
    now = datetime.now(UTC)
    stem = Path(given)
    result = Result(
        name, f"{now:%Y-%m-%dT%H:%M:%SZ}", machine, round(os.getloadavg()[0], 1), _arguments(), charts, graphs or []
    )  # fmt: skip
    stem.parent.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.format(msgspec.json.encode(result), indent=1)
    stem.with_suffix(".json").write_bytes(_PAIR.sub(rb"[\1, \2]", encoded) + b"\n")
    try:
        draw(result, stem.with_suffix(".svg"))
    except ImportError as error:
        print(f"no plot: {error.name} is missing; ./macao bench installs it", file=sys.stderr)
    print(f"{stem}.json", file=sys.stderr)


def _arguments() -> list[str]:
    """Return what the bench was called with, but for databases: their addresses are nobody's business."""
    given = list(sys.argv[1:])
    for number, argument in enumerate(given):
        if argument == "--database" and number + 1 < len(given):
            given[number + 1] = "..."
        elif argument.startswith("--database="):
            given[number] = "--database=..."
    return given


def draw(result: Result, path: Path) -> None:
    """Draw the charts, one below the other, as SVG: medians as bars, the span of the rounds as whiskers.

    Raises:
        ImportError: matplotlib, which only the set of the benches has, is not installed.
    """
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = result.name  # the same figures give the same file
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text, and the file small
    matplotlib.rcParams["font.sans-serif"] = ["DejaVu Sans"]
    pyplot: Any = import_module("matplotlib.pyplot")
    heights = [CHART_INCHES + BAR_INCHES * len(chart.bars) for chart in result.charts]
    heights += [3.0] * len(result.graphs)
    if not heights:
        return
    figure, grid = pyplot.subplots(
        len(heights), 1, squeeze=False, layout="constrained",
        figsize=(WIDTH_INCHES, sum(heights)), gridspec_kw={"height_ratios": heights},
    )  # fmt: skip
    axes = [row[0] for row in grid]
    for chart, at in zip(result.charts, axes, strict=False):
        _draw_chart(chart, at)
    for graph, at in zip(result.graphs, axes[len(result.charts) :], strict=True):
        for line in graph.lines:
            at.plot([x for x, _ in line.points], [y for _, y in line.points], label=line.label)
        at.set(title=graph.title, xlabel=graph.x_unit, ylabel=graph.unit, ylim=(0, None))
        at.legend(fontsize="small")
    where = textwrap.fill(f"{result.machine}, load {result.load_average}", TITLE_CHARACTERS)
    figure.suptitle(f"{result.name}, {result.at}\n{where}", fontsize=7)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    pyplot.close(figure)
    path.write_text(_slim(drawn.getvalue()), "utf-8")


def _slim(svg: str) -> str:
    """Return the same picture in half as many bytes: nobody sees a hundredth of a point, or an indented line."""
    shorter = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d\.\d)\d+", r"\1", tag[0]), svg)
    return re.sub(r"\n\s*", "\n", shorter)


def _draw_chart(chart: Chart, at: Any) -> None:
    middles = [median(bar.values) for bar in chart.bars]
    below = [middle - min(bar.values) for middle, bar in zip(middles, chart.bars, strict=True)]
    above = [max(bar.values) - middle for middle, bar in zip(middles, chart.bars, strict=True)]
    drawn = at.barh(
        [bar.label for bar in chart.bars], middles, xerr=[below, above], capsize=3, color="#7a9cc6"
    )
    at.bar_label(
        drawn,
        [f"{middle:,.0f}" if middle >= WHOLE_FROM else f"{middle:.3g}" for middle in middles],
        padding=6,
        fontsize="small",
    )
    at.invert_yaxis()
    at.margins(x=0.15)
    at.set(title=chart.title, xlabel=chart.unit)
