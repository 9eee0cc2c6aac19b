"""Which records there are. Another one is a line here, and a line in the fold that sets its mark."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

Name = Literal[
    "longest-chain",
    "largest-penalty",
    "most-caught-out",
    "most-busts",
    "largest-payment",
    "most-rounds",
    "fastest-match",
]


class Kind(Struct, frozen=True):
    """A kind of record.

    Attributes:
        title: what to write above it.
        unit: of the values.
        lowest: whether the smallest value is the best.
    """

    name: Name
    title: str
    unit: Literal["plays", "cards", "times", "chips", "rounds", "milliseconds"]
    lowest: bool = False


KINDS: Final[dict[Name, Kind]] = {
    kind.name: kind
    for kind in (
        Kind("longest-chain", "Longest penalty chain", "plays"),
        Kind("largest-penalty", "Largest penalty", "cards"),
        Kind("most-caught-out", 'Most players caught without "Macao!" by one player in a match', "times"),
        Kind("most-busts", "Most busts of one player in a match", "times"),
        Kind("largest-payment", "Most chips paid at once", "chips"),
        Kind("most-rounds", "Most rounds in a match", "rounds"),
        Kind("fastest-match", "Fastest match", "milliseconds", lowest=True),
    )
}
