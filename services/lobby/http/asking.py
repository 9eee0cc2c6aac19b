"""What the endpoints of players and tokens have in common: who may ask, and the headers of an answer with secrets."""

from __future__ import annotations

from typing import Final

from services.runtime.names import RULES, fault_of, tidied
from services.runtime.tokens.caller import Caller
from services.runtime.web.idempotency import HEADER, REPLAYED, Command, key_of
from services.runtime.web.operations import ANONYMOUS_KEY_MIN
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request

KEY_REFUSALS: Final = ("idempotency-key-malformed", "idempotency-key-reused")


async def in_session(request: Request) -> Caller:
    """Return the caller, who has signed in here. A named token that got into wrong hands must not take the account.

    Raises:
        Problem: ``sign-in-needed``.
    """
    caller = await request.caller()
    if not caller.in_session:
        raise Problem("sign-in-needed")
    return caller


async def in_person(request: Request) -> Caller:
    """Return the caller, who has signed in here or at the issuer.

    Raises:
        Problem: ``sign-in-needed``.
    """
    caller = await request.caller()
    if not (caller.in_session or caller.is_external):
        raise Problem("sign-in-needed")
    return caller


async def anonymous_command(request: Request, actor: str) -> Command | None:
    """Return the command of a write without a token, if it has a key.

    Raises:
        Problem: ``idempotency-key-malformed``, also for a key that could be guessed.
    """
    # Without the quotes that it may come in, as it is used later.
    key = key_of(request.header(HEADER.lower().encode()))
    if key is not None and len(key) < ANONYMOUS_KEY_MIN:
        raise Problem(
            "idempotency-key-malformed",
            f"Without a token the key has to have at least {ANONYMOUS_KEY_MIN} characters, drawn at random.",
        )
    return await request.optional_command(actor)


def name_in(given: str) -> str:
    """Return a name as it is kept.

    Raises:
        Problem: ``name-invalid``, with the rule that it breaks.
    """
    name = tidied(given)
    fault = fault_of(name)
    if fault is not None:
        raise Problem("name-invalid", RULES[fault], params={"rule": fault})
    return name


def headers_of(limits: dict[str, str] | None = None, *, replayed: bool) -> dict[str, str]:
    """Return the headers of an answer that nobody may keep on the way."""
    headers = {"Cache-Control": "no-store", **(limits or {})}
    if replayed:
        headers[REPLAYED] = "true"
    return headers
