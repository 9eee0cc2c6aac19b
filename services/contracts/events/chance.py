"""Random operations as events carry them: exact input, exact outcome, and where they lie in ``macao-fair/1``.

A verifier that knows nothing of the games finds these under the field ``draw`` of an event and recomputes
``result`` from the round's key, ``round`` and ``op``.
"""

from __future__ import annotations

from msgspec import Struct

from services.contracts.events.base import Fact


class DiceDraw(Struct, frozen=True, tag_field="kind", tag="dice"):
    """``count`` six-sided dice, thrown together."""

    round: int
    op: int
    count: int
    result: tuple[int, ...]


class LotDraw(Struct, frozen=True, tag_field="kind", tag="lot"):
    """One of ``among`` (seat numbers), each as likely as the next."""

    round: int
    op: int
    among: tuple[int, ...]
    result: int


class ShuffleDraw(Struct, frozen=True, tag_field="kind", tag="shuffle"):
    """A shuffle of ``cards``; ``result`` is the order it left, first card on top."""

    round: int
    op: int
    cards: tuple[str, ...]
    result: tuple[str, ...]


class ChanceCommitted(Fact, frozen=True, tag="chance-committed"):
    """The commitment to a round's key, published before anything is drawn in the round (hex)."""

    round: int
    commitment: str


class ChanceRevealed(Fact, frozen=True, tag="chance-revealed"):
    """A round's key, published when the round is over (hex)."""

    round: int
    key: str


class SeedRevealed(Fact, frozen=True, tag="seed-revealed"):
    """The service's own seed ``S``, published when the match is over, however it ended (hex)."""

    seed: str
