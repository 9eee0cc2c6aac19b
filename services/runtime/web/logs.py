"""Logs: one JSON object a line on standard error, with the request id, and nothing that a request carried.

Neither headers, nor query strings, nor bodies are ever given to a logger; so there is nothing to filter.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TextIO

import msgspec

TOLD: Final = "told"
"""What is passed as ``extra={TOLD: {...}}`` becomes fields of the line."""

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class JsonFormatter(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "at": _moment(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(getattr(record, TOLD, ()))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encode(line).decode()


class GatheringHandler(logging.StreamHandler[TextIO]):
    """Writes the lines of one turn of the event loop together; warnings, and lines from elsewhere, at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lines: list[str] = []
        self._due_in: asyncio.AbstractEventLoop | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        try:
            self._lines.append(self.format(record))
            loop = _loop_here() if record.levelno < logging.WARNING else None
            if loop is None:
                self.flush()
            elif loop is not self._due_in:
                self._due_in = loop
                loop.call_soon(self.flush)
        except Exception:  # noqa: BLE001 - a line that cannot be written must not end what it tells of
            self.handleError(record)

    def flush(self) -> None:
        """Write what has gathered."""
        self.acquire()
        try:
            self._due_in = None
            if self._lines:
                self.stream.write("\n".join([*self._lines, ""]))
                self._lines.clear()
            super().flush()
        finally:
            self.release()


def _loop_here() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


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
    handler = GatheringHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # They tell each request and each connection once more, or speak of their own housekeeping.
    for chatty in ("uvicorn.access", "httpx", "httpcore", "asyncio"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
