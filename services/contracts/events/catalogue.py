"""The one list of event types, and the one function that turns stored bytes into events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

import msgspec

from services.contracts.envelope import Draft, Event, Link
from services.contracts.events import bank, cards, chance, chips, dice, dispute, match, past, rating, table
from services.contracts.events.base import Fact

MatchFact = (
    match.MatchStarted | match.LotDrawn | match.RoundStarted | match.RoundEnded | match.PlayerEliminated
    | match.WentOut | match.MatchEnded | match.MatchVoided
    | chance.ChanceCommitted | chance.ChanceRevealed | chance.SeedRevealed
    | dice.Rolled | dice.Busted | dice.Stood | dice.PlayoffStarted
    | chips.Staked | chips.Paid
    | bank.BankPassed | bank.RoundSkipped | bank.RoundSatOut | bank.StakeTaken | bank.StakeReturned
    | bank.PacksShuffled | bank.FirstCardDealt | bank.FirstCardShown | bank.FirstCardKept | bank.SecondCardDrawn
    | cards.Dealt | cards.TurnedUp | cards.PileTurned | cards.PileShuffled
    | cards.Played | cards.SuitCalled | cards.Drew | cards.Passed
    | cards.PenaltyStacked | cards.PenaltyTaken | cards.PenaltyCancelled | cards.SkipStacked | cards.SatOut
    | cards.Lapsed | cards.MacaoCalled | cards.MacaoCaught | cards.MacaoFined | cards.HandCounted | cards.Stalled
)  # fmt: skip
TableFact = (
    table.TableOpened | table.QuickMatchOpened | table.CommitmentPublished | table.SettingsChanged
    | table.PlayerJoined | table.BotSeated | table.PlayerMoved | table.PlayerLeft | table.SeedGiven
    | table.HostPassed | table.MatchRequested | table.MatchFinished | table.TableClosed
)  # fmt: skip
DisputeFact = dispute.DisputeOpened | dispute.DisputeWithdrawn | dispute.DisputeRuled

RatingFact = rating.RatingApplied | rating.RatingWithdrawn

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Final[Mapping[tuple[str, int], Upcaster]] = {
    ("dispute-opened", 1): past.complaint_apart,
    ("dispute-ruled", 1): past.reasons_apart,
}
"""(type, schema) to the function that turns a body of that schema into one of the next."""

TYPES: Final[Mapping[str, type[Fact]]] = {
    str(struct.__struct_config__.tag): struct
    for union in (MatchFact, TableFact, DisputeFact, RatingFact)
    for struct in get_args(union)
}

MATCH_TYPES: Final = frozenset(str(struct.__struct_config__.tag) for struct in get_args(MatchFact))
"""The types that stand in the streams of matches."""

PAST: Final[Mapping[tuple[str, int], type[msgspec.Struct]]] = {
    ("dispute-opened", 1): past.DisputeOpened1,
    ("dispute-ruled", 1): past.DisputeRuled1,
}
"""Shapes that are no longer written, by type and schema: each step that `UPCASTERS` brings forward, as a struct."""

SHAPES: Final[Mapping[tuple[str, int], type[msgspec.Struct]]] = {
    **PAST, **{(kind, struct.SCHEMA): struct for kind, struct in TYPES.items()},
}  # fmt: skip
"""Every shape that stands in a log anywhere."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final[Callable[[bytes], Any]] = msgspec.json.Decoder(
    MatchFact | TableFact | DisputeFact | RatingFact
).decode


class UndecodableEventError(Exception):
    """Stored bytes that no reader understands: an unknown type, a schema from the future, or a damaged body."""


def encode(fact: Fact) -> bytes:
    """Return the compact JSON under which an event is stored, hashed and sent."""
    return _encode(fact)


def draft(fact: Fact, public: Fact, salt: bytes | None) -> Draft:
    """Return an event ready to be chained; where ``public`` says less than ``fact``, the whole is sealed."""
    kind = str(fact.__struct_config__.tag)
    body = encode(public)
    whole = body if public is fact else encode(fact)
    if whole == body:
        return Draft(kind, fact.SCHEMA, body)
    return Draft(kind, fact.SCHEMA, body, sealed=whole, salt=salt)


def decode(kind: str, schema: int, body: bytes) -> Fact:
    """Turn stored bytes of any schema ever written into today's event.

    Raises:
        UndecodableEventError: with the type, the schema and what is wrong.
    """
    struct = TYPES.get(kind)
    if struct is None:
        raise UndecodableEventError(f"there is no event type {kind!r}: is this service older than its log?")
    try:
        fact: Fact = _decode(body) if schema == struct.SCHEMA else _upcast(struct, kind, schema, body)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise UndecodableEventError(f"{kind} (schema {schema}) cannot be read: {error}") from error
    if type(fact) is not struct:
        raise UndecodableEventError(f"an event of type {kind} has the body of another type")
    return fact


def fact_of(event: Event | Link) -> Fact:
    """Return the complete event inside an envelope, sealed parts included where the envelope has them."""
    return decode(event.type, event.schema, event.whole)


def _upcast(struct: type[Fact], kind: str, schema: int, body: bytes) -> Fact:
    fields = msgspec.json.decode(body, type=dict[str, Any])
    for step in range(schema, struct.SCHEMA):
        upcaster = UPCASTERS.get((kind, step))
        if upcaster is None:
            raise UndecodableEventError(f"{kind} has no upcaster from schema {step}")
        fields = upcaster(fields)
    if schema > struct.SCHEMA:
        raise UndecodableEventError(f"{kind} has schema {schema}, this service knows up to {struct.SCHEMA}")
    return msgspec.convert(fields, struct)
