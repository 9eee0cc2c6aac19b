"""One look at the match: what is seen of the table, what has happened, and what can be typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from rich.console import RenderableType
from rich.text import Text

from services.contracts.events.base import Fact
from services.contracts.events.catalogue import MatchFact
from services.contracts.events.chance import ChanceCommitted, ChanceRevealed, SeedRevealed
from services.contracts.events.match import MatchEnded, RoundStarted
from services.engine.words import sentence

OLD_FACTS_MAX: Final = 200

UNSPOKEN: Final = (ChanceCommitted, ChanceRevealed, SeedRevealed)
"""Facts that say nothing to somebody who plays; a replay shows them."""


class Happening(NamedTuple):
    """A sentence of the log; ``new`` since the viewer last looked."""

    text: str
    new: bool
    heading: bool


class Scene(NamedTuple):
    """What is shown before somebody is asked.

    Attributes:
        heading: the game, the version of the match, and who looks.
        table: the picture of the table.
        log: what happened, the latest last.
        below: the hand and the menu.
    """

    heading: str
    table: RenderableType
    log: Sequence[Happening]
    below: Sequence[Text]


def log_of(facts: Sequence[Fact], seen: int) -> list[Happening]:
    """Return facts in words, the first ``seen`` of which are old; of the old ones not more than fit a screen."""
    first = max(0, min(seen, len(facts) - OLD_FACTS_MAX))
    return [
        Happening(_sentence(fact), at >= seen, isinstance(fact, RoundStarted | MatchEnded))
        for at, fact in enumerate(facts[first:], first)
        if not isinstance(fact, UNSPOKEN)
    ]


def _sentence(fact: Fact) -> str:
    known: MatchFact = fact  # type: ignore[assignment] # the facts of a match are those of the catalogue
    return sentence(known)
