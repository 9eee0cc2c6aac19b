"""The proof of chance for an event: what was committed to, what was drawn, and whether it comes out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from services.contracts.events.base import Fact
from services.contracts.events.chance import (
    ChanceCommitted,
    ChanceRevealed,
    DiceDraw,
    LotDraw,
    SeedRevealed,
    ShuffleDraw,
)
from services.engine.replay import Step
from services.engine.rules import match as matches
from services.engine.rules.chance import commitment_of, match_key, redraw, round_commitment, round_key
from services.engine.rules.kernel import Viewer

Draw = DiceDraw | LotDraw | ShuffleDraw

FACES: Final = (1, 2, 3, 4, 5, 6)

FROM_A_STOCK: Final = frozenset({
    "first-card-dealt", "first-card-shown", "second-card-drawn", "turned-up", "drew", "penalty-taken",
    "macao-caught", "macao-fined", "hand-counted",
})  # fmt: skip
"""What shows or gives cards whose order an earlier shuffle has fixed."""


class Drawing(Struct, frozen=True):
    """One random operation, with everything that is needed to do it again.

    Attributes:
        version: the event that holds it.
        kind: ``dice``, ``lot`` or ``shuffle``.
        round: under which round of the match it was drawn; 0 for lots before the first.
        op: the number of the operation in the round, from 0.
        drawn_from: the faces of a die, the seats, or the cards in the order before; None where they are still hidden.
        result: each die, the one seat, or the cards in their order, the next first; None where it is still hidden.
        commitment: to the round's key (hex), and the event that published it.
        key: the round's key (hex) and the event that revealed it; None until the round is over.
        key_opens_commitment: whether this key is the one committed to; None without a key.
        redrawn: whether the key gives this result again; None without a key, or where the result is hidden.
        seed_opens_commitment: whether the service's seed is the one committed to before the match; None until it
            is revealed.
        key_follows: whether the round's key follows from that seed and the players' seeds; None until then.
    """

    version: int
    kind: str
    round: int
    op: int
    drawn_from: tuple[int | str, ...] | None
    result: tuple[int | str, ...] | None
    commitment: str | None
    commitment_version: int | None
    key: str | None
    key_version: int | None
    key_opens_commitment: bool | None
    redrawn: bool | None
    seed_opens_commitment: bool | None
    key_follows: bool | None


def drawings_of(steps: Sequence[Step], command: Sequence[Step], viewer: Viewer) -> tuple[Drawing, ...]:
    """Return the draws of a command; where it has none, the last draw before it in the same round.

    A card that is drawn from a stock was decided when the stock was shuffled, so that shuffle is its chance.
    """
    own = [step for step in command if _draw_of(step.fact) is not None]
    found = own or (_before(steps, command) if command[-1].event.type in FROM_A_STOCK else [])
    return tuple(_drawing(steps, step, viewer) for step in found)


def _before(steps: Sequence[Step], command: Sequence[Step]) -> list[Step]:
    earlier = steps[: command[0].version - 1]
    round = earlier[-1].match.round if earlier else matches.NO_ROUND
    for step in reversed(earlier):
        draw = _draw_of(step.fact)
        if draw is not None:
            return [step] if draw.round == round else []
    return []


def _drawing(steps: Sequence[Step], step: Step, viewer: Viewer) -> Drawing:
    whole = _draw_of(step.fact)
    assert whole is not None  # noqa: S101 - the caller has looked; this tells the type checker
    seen = _draw_of(matches.redact(step.match.rules, step.fact, viewer))
    hidden = seen != whole
    committed = next(
        (each for each in steps if isinstance(each.fact, ChanceCommitted) and each.fact.round == whole.round),
        None,
    )
    revealed = next(
        (each for each in steps if isinstance(each.fact, ChanceRevealed) and each.fact.round == whole.round),
        None,
    )
    commitment = (
        committed.fact.commitment if committed and isinstance(committed.fact, ChanceCommitted) else None
    )
    key = revealed.fact.key if revealed and isinstance(revealed.fact, ChanceRevealed) else None
    opens, follows = _seed(steps, whole.round, key)
    return Drawing(
        version=step.version,
        kind=str(whole.__struct_config__.tag),
        round=whole.round,
        op=whole.op,
        drawn_from=None if hidden else _input(whole),
        result=None if hidden else _result(whole),
        commitment=commitment,
        commitment_version=None if committed is None else committed.version,
        key=key,
        key_version=None if revealed is None else revealed.version,
        key_opens_commitment=None if key is None else round_commitment(bytes.fromhex(key)) == commitment,
        redrawn=None if key is None or hidden else redraw(bytes.fromhex(key), whole) == whole,
        seed_opens_commitment=opens,
        key_follows=follows,
    )


def _seed(steps: Sequence[Step], round: int, key: str | None) -> tuple[bool | None, bool | None]:
    fact = next((step.fact for step in steps if isinstance(step.fact, SeedRevealed)), None)
    if not isinstance(fact, SeedRevealed):
        return None, None
    seed, match = bytes.fromhex(fact.seed), steps[0].match
    opens = commitment_of(match.started.match, seed) == match.started.commitment
    follows = round_key(match_key(*match.keys_message, seed), round).hex() == key
    return opens, follows


def _draw_of(fact: Fact) -> Draw | None:
    draw = getattr(fact, "draw", None)
    return draw if isinstance(draw, Draw) else None


def _result(draw: Draw) -> tuple[int | str, ...]:
    return (draw.result,) if isinstance(draw, LotDraw) else draw.result


def _input(draw: Draw) -> tuple[int | str, ...]:
    match draw:
        case DiceDraw():
            return FACES
        case LotDraw():
            return draw.among
        case ShuffleDraw():
            return draw.cards
