"""A refusal as a person is told it."""

from __future__ import annotations

from services.contracts.problems import PROBLEMS
from services.engine.rules.kernel import Refusal
from services.engine.words.naming import card_in_words

CARDS = frozenset({"card", "top"})


def refused_in_words(refusal: Refusal) -> str:
    """Return what is wrong, what it is about, and the clause that says so."""
    kind = PROBLEMS.get(refusal.code)
    title = kind.title if kind else refusal.code
    about = ", ".join(_about(name, value) for name, value in refusal.params.items() if value is not None)
    return f"{title}{f': {about}' if about else ''} ({refusal.clause})."


def _about(name: str, value: int | str | None) -> str:
    if name in {"option", "reason"}:
        return str(value)
    return f"{name.replace('_', ' ')} {card_in_words(str(value)) if name in CARDS else value}"
