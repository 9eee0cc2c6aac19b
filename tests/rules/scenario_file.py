"""Reading of the scenario files: readable text in, cases out. What the lines mean is told in the files themselves."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FILES = Path(__file__).parent / "scenarios"

STATE_WORDS = (
    "chips", "scores", "pot", "turn", "may", "hand", "stock", "pile", "suit", "penalty", "losses", "everybody",
    "shuffle", "sees",
)  # fmt: skip
GIVEN_WORDS = ("hands", "top", "stock", "first", "deck")


@dataclass
class Step:
    """One line of a case: what is done and what is expected of it, or what is to be seen."""

    line: int
    left: str
    expected: list[str] = field(default_factory=list)

    @property
    def is_sight(self) -> bool:
        return self.left.split()[0] in STATE_WORDS


@dataclass
class Case:
    """One case of a file."""

    game: str
    title: str
    line: int
    clauses: list[str] = field(default_factory=list)
    seats: int = 0
    options: dict[str, Any] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)


def read_options(words: str) -> dict[str, Any]:
    """Read ``name=value`` pairs; a value is JSON, or a word as it stands."""
    return {name: _value(value) for name, value in (pair.split("=", 1) for pair in words.split())}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_cases(game: str) -> list[Case]:
    """Read a game's file.

    Raises:
        ValueError: a line means nothing, with its number.
    """
    path = FILES / f"{game}.txt"
    cases: list[Case] = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        line = text.strip()
        if text.startswith("case "):
            cases.append(Case(game, line.removeprefix("case "), number))
            continue
        if not cases or not line or line.startswith(("#", "--")):
            continue
        try:
            _read_line(cases[-1], number, line)
        except (ValueError, IndexError) as error:
            raise ValueError(f"{path.name}:{number}: {line!r}: {error}") from error
    return cases


def _read_line(case: Case, number: int, line: str) -> None:
    left, arrow, right = (part.strip() for part in line.partition("->"))
    expected = [phrase.strip() for phrase in right.split(",") if phrase.strip()]
    word, _, rest = left.partition(" ")
    if arrow and not left:
        case.steps[-1].expected += expected
    elif arrow:
        case.steps.append(Step(number, left, expected))
    elif word == "clauses":
        case.clauses = rest.split()
    elif word == "seats":
        case.seats = int(rest)
    elif word == "options":
        case.options = read_options(rest)
    elif word in GIVEN_WORDS and not case.steps:
        case.given[word] = rest.strip()
    elif word in STATE_WORDS:
        case.steps.append(Step(number, left))
    else:
        raise ValueError("this line means nothing here")
