"""Logs: one JSON object a line on standard error, with the request id, and nothing that a request carried.

Neither headers, nor query strings, nor bodies are ever given to a logger; so there is nothing to filter.
"""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

import msgspec

_STANDARD: Final = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {
    "message",
    "asctime",
    "taskName",
}
_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON; what is passed as ``extra`` becomes fields of it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": _moment(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update((key, value) for key, value in record.__dict__.items() if key not in _STANDARD)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line).decode()


def _moment(at_ms: int) -> str:
    seconds, ms = divmod(at_ms, 1000)
    return f"{_second(seconds)}.{ms:03}+00:00"


@lru_cache(maxsize=4)
def _second(at: int) -> str:
    """Write a second out, once for all lines in it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def configure_logging(level: str) -> None:
    """Send every log of this process through one handler. Called by what starts a process, never by an import."""
    # Nothing of this is in a line, and finding it out would be most of the price of one.
    logging._srcfile = None  # pyright: ignore[reportPrivateUsage]  # noqa: SLF001 - as the logging HOWTO says
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # They tell each request and each connection once more, or speak of their own housekeeping.
    for chatty in ("uvicorn.access", "httpx", "httpcore", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
