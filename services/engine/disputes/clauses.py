"""The clauses of the rules in their own words, and which of them speak of an event."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from services.contracts.events.bank import StakeTaken
from services.contracts.events.base import Fact
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Rolled, Stood
from services.contracts.events.match import PlayerEliminated, RoundStarted

TEXTS: Final = Path(__file__).parents[3] / "docs" / "rules"
GENERAL_PAGE: Final = "README"
CLAUSES_MAX: Final = 8
"""How many clauses a case file quotes; those that matter most come first."""

_BEGINNING: Final = re.compile(r"^- \*\*([A-Z]{1,2}[0-9-][0-9.]*)\*\* ")
_MISSING: Final = "This installation came without the texts of the rules."

_GENERAL: Final[Mapping[str, tuple[str, ...]]] = {
    "match-started": ("G1", "G2"),
    "lot-drawn": ("G3",),
    "chance-committed": ("G3",),
    "chance-revealed": ("G3", "G5"),
    "seed-revealed": ("G3", "G5"),
    "round-started": ("G3",),
    "player-eliminated": ("G7", "G14"),
    "went-out": ("G12", "G14"),
    "match-ended": ("G8", "G9"),
    "match-voided": ("G3", "G5"),
}

_OF_GAME: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "dice-race": {
        "lot-drawn": ("DR-1.4",),
        "round-started": ("DR-3.6", "DR-2.1"),
        "rolled": ("DR-2.3", "DR-2.4"),
        "busted": ("DR-2.3",),
        "stood": ("DR-2.4", "DR-2.2"),
        "playoff-started": ("DR-3.2", "DR-3.8"),
        "staked": ("DR-4.1",),
        "paid": ("DR-3.5", "DR-4.2", "DR-4.3"),
        "round-ended": ("DR-3.1", "DR-3.3"),
        "went-out": ("DR-4.6", "DR-4.1"),
        "player-eliminated": ("DR-3.9",),
        "match-ended": ("DR-3.7", "DR-4.5"),
    },
    "dice-bank": {
        "lot-drawn": ("DB-1.3",),
        "round-started": ("DB-2.1",),
        "staked": ("DB-2.1", "DB-2.2", "DB-2.3", "DB-2.4"),
        "round-sat-out": ("DB-2.3", "DB-2.4"),
        "rolled": ("DB-3.1", "DB-3.2"),
        "busted": ("DB-3.2",),
        "stood": ("DB-3.1",),
        "stake-taken": ("DB-3.2", "DB-3.4"),
        "stake-returned": ("DB-3.4",),
        "paid": ("DB-3.4", "DB-3.5"),
        "bank-passed": ("DB-3.6",),
        "round-skipped": ("DB-4.1",),
        "round-ended": ("DB-3.4", "DB-3.7"),
        "went-out": ("DB-2.2",),
        "player-eliminated": ("DB-3.8",),
        "match-ended": ("DB-4.1",),
    },
    "cards-bank": {
        "lot-drawn": ("CB-1.3",),
        "packs-shuffled": ("CB-1.4", "G3", "G5"),
        "round-started": ("CB-1.4", "CB-2.1"),
        "staked": ("CB-2.1", "CB-2.2", "CB-2.4"),
        "round-sat-out": ("CB-2.2", "CB-2.4"),
        "first-card-dealt": ("CB-3.1",),
        "first-card-shown": ("CB-3.2", "CB-3.3", "CB-3.7", "CB-3.9"),
        "first-card-kept": ("CB-3.5", "CB-3.6"),
        "second-card-drawn": ("CB-3.5", "CB-3.6"),
        "busted": ("CB-3.5", "CB-3.6"),
        "stake-taken": ("CB-3.7", "CB-3.5"),
        "stake-returned": ("CB-3.7",),
        "paid": ("CB-3.7", "CB-3.8", "CB-3.4"),
        "bank-passed": ("CB-1.3",),
        "round-ended": ("CB-3.7",),
        "went-out": ("CB-2.3",),
        "player-eliminated": ("CB-3.10",),
        "match-ended": ("CB-4.1",),
    },
    "cards-places": {
        "lot-drawn": ("CP-1.3",),
        "round-started": ("CP-1.3",),
        "dealt": ("CP-1.3", "CP-1.1", "G3"),
        "turned-up": ("CP-1.3",),
        "played": ("CP-2.1", "CP-5.1"),
        "suit-called": ("CP-2.2", "CP-2.5"),
        "drew": ("CP-2.3", "CP-7.3"),
        "penalty-stacked": ("CP-3.1", "CP-4.1", "CP-4.2"),
        "penalty-taken": ("CP-4.3", "CP-4.5"),
        "penalty-cancelled": ("CP-8.1",),
        "skip-stacked": ("CP-3.2",),
        "sat-out": ("CP-3.3", "CP-3.4"),
        "lapsed": ("CP-3.4", "CP-7.5"),
        "pile-turned": ("CP-7.3", "CP-7.7"),
        "macao-called": ("CP-6.1", "CP-6.5", "G13"),
        "macao-caught": ("CP-6.2", "CP-6.1", "CP-6.7", "G13"),
        "hand-counted": ("CP-8.4",),
        "stalled": ("CP-7.4",),
        "went-out": ("CP-7.1",),
        "round-ended": ("CP-8.4", "CP-7.2"),
        "player-eliminated": ("CP-7.5", "CP-7.6"),
        "match-ended": ("CP-7.2",),
    },
    "cards-points": {
        "lot-drawn": ("PT-1.3",),
        "round-started": ("PT-1.3", "PT-1.4"),
        "dealt": ("PT-1.3", "PT-1.1", "G3"),
        "turned-up": ("PT-1.3", "PT-1.4"),
        "played": ("PT-2.1", "PT-2.2", "PT-3.1"),
        "suit-called": ("PT-2.2", "PT-2.5"),
        "drew": ("PT-2.3", "PT-3.4"),
        "passed": ("PT-2.4",),
        "penalty-stacked": ("PT-3.1", "PT-3.2"),
        "penalty-taken": ("PT-3.3",),
        "lapsed": ("PT-6.4",),
        "pile-shuffled": ("PT-4.1", "PT-4.2"),
        "macao-called": ("PT-5.1", "PT-5.2", "PT-5.3"),
        "macao-fined": ("PT-5.2", "PT-5.3"),
        "hand-counted": ("PT-6.2",),
        "stalled": ("PT-6.6",),
        "round-ended": ("PT-6.1", "PT-6.2"),
        "player-eliminated": ("PT-6.4", "PT-6.7"),
        "match-ended": ("PT-6.3",),
    },
}


class Clause(Struct, frozen=True):
    """A clause of the rules.

    Attributes:
        number: as refusals cite it, ``DR-2.3``.
        text: what it says, as docs/rules has it, in one paragraph or with a table.
    """

    number: str
    text: str


def clauses_of(game: str, fact: Fact) -> tuple[str, ...]:
    """Return the numbers of the clauses that speak of a fact, those that decide it first."""
    kind = str(fact.__struct_config__.tag)
    special = _special(game, fact)
    own = _OF_GAME.get(game, {}).get(kind, ())
    return tuple(dict.fromkeys((*special, *own, *_GENERAL.get(kind, ()))))


def _special(game: str, fact: Fact) -> tuple[str, ...]:
    """Return what is to be read first where the kind of an event does not say which clause decided it."""
    match fact:
        case PlayerEliminated(reason="timeout"):
            return ("CP-7.5", "G10") if game == "cards-places" else ("G10",)
        case PlayerEliminated():
            return ("CP-7.6",) if game == "cards-places" else ()
        case Rolled() if fact.draw.count > 1:
            return ("DR-2.5",)
        case Staked(reason="danger"):
            return ("DR-4.4",)
        case Stood(instant_win=True):
            return ("DR-3.4",)
        case RoundStarted(kind="extra"):
            return ("DR-4.5", "DR-4.7")
        case StakeTaken() if fact.beyond:
            return ("CB-3.3",)
        case Paid(source="pot"):
            return ("DR-4.2",)
        case Paid(source="remainder"):
            return ("DR-4.3",)
        case _:
            return ()


def quoted(game: str, numbers: Iterable[str]) -> tuple[Clause, ...]:
    """Return clauses with their texts, each once and not too many."""
    wanted = list(dict.fromkeys(number for number in numbers if number))[:CLAUSES_MAX]
    texts = {**_page(GENERAL_PAGE), **_page(game)}
    return tuple(Clause(number, texts.get(number, _MISSING)) for number in wanted)


@lru_cache(maxsize=16)
def _page(name: str) -> Mapping[str, str]:
    """Return the clauses of one page of docs/rules."""
    page = TEXTS / f"{name}.md"
    return dict(_read(page.read_text(encoding="utf-8"))) if page.is_file() else {}


def _read(text: str) -> Iterator[tuple[str, str]]:
    number, lines = "", list[str]()
    for line in text.splitlines():
        begins = _BEGINNING.match(line)
        if begins or (line and not line.startswith(" ")):
            if number:
                yield number, _joined(lines)
            number, lines = (begins[1], [line[begins.end() :]]) if begins else ("", [])
        elif number:
            lines.append(line.strip())
    if number:
        yield number, _joined(lines)


def _joined(lines: Iterable[str]) -> str:
    """Return a clause's lines as one paragraph; the rows of a table keep their lines."""
    text = ""
    for line in lines:
        if not line:
            continue
        text += ("\n" if line.startswith("|") or text.endswith("|") else " " if text else "") + line
    return text
