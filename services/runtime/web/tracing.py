"""A request as a span of a trace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from litestar.types import Message, Receive, Send
from opentelemetry.trace import StatusCode

from services.runtime.traces import TRACEPARENT, Traces
from services.runtime.web.heads import method_of

TRACE_ID: Final = "trace_id"
"""Where the id of its trace is kept in the state of a request, for the line in the log."""

ID_CHARS_MAX: Final = 64
"""A path may hold anything; of what is no id, a part will do."""

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_HEADER: Final = TRACEPARENT.encode()
_FAULT: Final = 500


async def traced(
    traces: Traces,
    answer: Callable[[Any, Receive, Send], Awaitable[None]],
    scope: Any,
    receive: Receive,
    send: Send,
) -> None:
    """Answer a request under a span; it goes by the template of the path, and names the ids in it."""
    given = next((value.decode("latin-1") for name, value in scope["headers"] if name == _HEADER), None)
    method = method_of(scope)
    if method not in _METHODS:
        method = "OTHER"
    with traces.answering(method, given, {"http.request.method": method}) as span:
        state: dict[str, Any] = scope.setdefault("state", {})
        state[TRACE_ID] = format(span.get_span_context().trace_id, "032x")

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = scope.get("path_template") or "unmatched"
                span.update_name(f"{method} {route}")
                ids: dict[str, Any] = scope.get("path_params") or {}
                span.set_attributes(
                    {
                        "http.route": route,
                        "http.response.status_code": message["status"],
                        "macao.request_id": str(state.get("request_id", "")),
                        **{f"macao.{name}": str(value)[:ID_CHARS_MAX] for name, value in ids.items()},
                    }
                )
                if message["status"] >= _FAULT:
                    span.set_status(StatusCode.ERROR)
            await send(message)

        await answer(scope, receive, told)
