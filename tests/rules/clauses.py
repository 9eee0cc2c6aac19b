"""The clauses as docs/rules/ has them, and which of them decide nothing that a case could show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "rules"

_CLAUSE = re.compile(r"^\s*- \*\*([A-Z]{1,2}[0-9-][0-9.]*)\*\*", re.MULTILINE)


def clauses_of(page: str) -> list[str]:
    """Return the clauses of one page of docs/rules/, in their order."""
    return _CLAUSE.findall((DOCS / page).read_text())


def all_clauses() -> set[str]:
    """Return the clauses of all pages."""
    return {clause for page in DOCS.glob("*.md") for clause in clauses_of(page.name)}


# Why there is no case. Every other clause needs one in each game's file.
NO_CASE: Mapping[str, Mapping[str, str]] = {
    "dice-race": {
        "G1": "no move exists that could change options or seats; that match-started holds them is among the laws",
        "G3": "where chance comes from is the subject of test_chance and of the laws about draws",
        "G5": "nothing is hidden in dice-race; that no seed is told before the end is among the laws",
        "G6": "counts are integers by type",
        "G15": "about bots, not about the rules",
    },
    "dice-bank": {
        "G1": "no move exists that could change options or seats; that match-started holds them is among the laws",
        "G3": "where chance comes from is the subject of test_chance and of the laws about draws",
        "G5": "nothing is hidden in dice-bank; that no seed is told before the end is among the laws",
        "G6": "counts are integers by type",
        "G15": "about bots, not about the rules",
    },
    "cards-bank": {
        "G1": "no move exists that could change options or seats; that match-started holds them is among the laws",
        "G3": "where chance comes from is the subject of test_chance and of the laws about draws",
        "G6": "counts are integers by type",
        "G15": "about bots, not about the rules",
    },
    "cards-places": {
        "G1": "no move exists that could change options or seats; that match-started holds them is seen in test_match",
        "G3": "where chance comes from is the subject of test_chance and of the laws about draws",
        "G5": "what each seat is told and shown is the subject of the laws about secrets, and of test_shedding",
        "G6": "counts are integers by type",
        "G12": "there are no chips",
        "G15": "about bots, not about the rules",
        "G17": "there are no stakes",
        "CP-9.1": "about tables, not about the rules",
        "CP-9.2": "about ratings, not about the rules",
        "CP-9.3": "about tables, not about the rules",
        "CP-9.4": "about accounts, not about the rules",
        "CP-9.5": "about the service, not about the rules",
    },
    "cards-points": {
        "G1": "no move exists that could change options or seats; that match-started holds them is seen in test_match",
        "G5": "what each seat is told and shown is the subject of the laws about secrets, and of test_shedding",
        "G6": "counts are integers by type",
        "G12": "there are no chips",
        "G15": "about bots, not about the rules",
        "G17": "there are no stakes",
    },
}
