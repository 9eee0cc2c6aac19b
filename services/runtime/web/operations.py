"""What the OpenAPI document says of writes: the headers that make a retry harmless, and a move one of its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from litestar.openapi.spec import OpenAPIType, Operation, Parameter, Schema

from services.runtime.web import idempotency

ANONYMOUS_KEY_MIN: Final = 20
"""Without a token nothing but the key tells two clients apart, and the answer holds a token: it must not be guessed."""

IF_MATCH: Final = "If-Match"
IF_NONE_MATCH: Final = "If-None-Match"

ANSWER_HEADERS: Final = "answer_headers"
"""The key of a handler's ``opt`` under which it lists the headers that its answers have beyond the usual."""
VERSIONED: Final = {ANSWER_HEADERS: ("ETag",)}
MADE: Final = {ANSWER_HEADERS: ("ETag", "Location")}


def _key(*, required: bool, length_min: int = 1) -> Parameter:
    characters = f"[A-Za-z0-9._:-]{{{length_min},128}}"
    return Parameter(
        name=idempotency.HEADER,
        param_in="header",
        required=required,
        description="A fresh random key for a new command, the same key for its retries: 1 to 128 characters.",
        schema=Schema(
            type=OpenAPIType.STRING,
            pattern=f'^("{characters}"|{characters})$',
        ),
    )


def _version() -> Parameter:
    return Parameter(
        name=IF_MATCH,
        param_in="header",
        required=False,
        description='The version that the move was chosen at, in quotes: `"12"`. Moves that race with those of others'
        " (`leave`, `call`, `catch`) need none; all others do.",
        schema=Schema(type=OpenAPIType.STRING, pattern=r'^"?[0-9]{1,15}"?$'),
    )


@dataclass
class Conditional(Operation):
    """A read whose answer has an entity tag, and is 304 without a body for who holds it already."""

    def __post_init__(self) -> None:
        """Add the header."""
        self.parameters = [
            *(self.parameters or []),
            Parameter(
                name=IF_NONE_MATCH,
                param_in="header",
                required=False,
                description="The `ETag` of the answer that the client holds: `304` without a body if it still holds.",
                schema=Schema(type=OpenAPIType.STRING),
            ),
        ]


@dataclass
class Keyed(Operation):
    """A write that must carry an idempotency key."""

    def __post_init__(self) -> None:
        """Add the header."""
        self.parameters = [*(self.parameters or []), _key(required=True)]


@dataclass
class OptionallyKeyed(Operation):
    """A write that may carry an idempotency key."""

    def __post_init__(self) -> None:
        """Add the header."""
        self.parameters = [*(self.parameters or []), _key(required=False)]


@dataclass
class AnonymouslyKeyed(OptionallyKeyed):
    """A write without a token, whose answer holds one: its key must not be guessed."""

    def __post_init__(self) -> None:
        """Add the header."""
        self.parameters = [*(self.parameters or []), _key(required=False, length_min=ANONYMOUS_KEY_MIN)]


@dataclass
class KeyedAtVersion(Keyed):
    """A move: it also names the version that it was chosen at."""

    def __post_init__(self) -> None:
        """Add both headers."""
        super().__post_init__()
        self.parameters = [*(self.parameters or []), _version()]
