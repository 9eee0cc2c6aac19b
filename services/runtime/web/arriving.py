"""A body has to arrive in good time: who sends it one byte a minute would hold a connection for ever."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from litestar.types import HTTPReceiveMessage, Receive

from services.runtime.web.problems import Problem
from services.runtime.web.protocol import UNFIT

BODY_SECONDS: Final = 30.0
"""How long a body may take; it has 64 KiB at most."""

WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""The methods whose body is looked at."""


def in_time(receive: Receive, state: dict[str, Any]) -> Receive:
    """Return a ``receive`` that raises the problem ``body-too-slow`` when the body is not whole in time.

    It raises as well what the protocol finds wrong with the framing, and notes in ``state``.
    What comes after the body, the client's leaving, is waited for without a limit.
    """
    deadline = asyncio.get_running_loop().time() + BODY_SECONDS
    is_whole = False

    async def timely() -> HTTPReceiveMessage:
        nonlocal is_whole
        if is_whole:
            return await receive()  # type: ignore[return-value]
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError:
            raise Problem("body-too-slow") from None
        if UNFIT in state:
            raise Problem(*state[UNFIT])
        is_whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message  # type: ignore[return-value]

    return timely
