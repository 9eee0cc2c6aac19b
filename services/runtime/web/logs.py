"""Logs: one JSON object a line on standard error, with the request id, and nothing that a request carried.

Neither headers, nor query strings, nor bodies are ever given to a logger; so there is nothing to filter.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
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
        told: dict[str, Any] = getattr(record, TOLD, {})
        if record.exc_info:
            told = told | {"exception": self.formatException(record.exc_info)}
        return _line(int(record.created * 1000), record.levelno, record.name, record.getMessage(), told)


class GatheringHandler(logging.StreamHandler[TextIO]):
    """Writes the lines of one turn of the event loop together; warnings, and lines from elsewhere, at once."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._lines: list[str] = []
        self._due_in: asyncio.AbstractEventLoop | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take what the logging module gives."""
        try:
            self.take(self.format(record), record.levelno)
        except Exception:  # noqa: BLE001 - a line that cannot be written must not end what it tells of
            self.handleError(record)

    def take(self, line: str, level: int) -> None:
        """Take a line."""
        self._lines.append(line)
        loop = _loop_here() if level < logging.WARNING else None
        if loop is None:
            self.flush()
        elif loop is not self._due_in:
            self._due_in = loop
            loop.call_soon(self.flush)

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


def tell(logger: logging.Logger, level: int, message: str, told: dict[str, Any]) -> None:
    """Log a line with fields, as ``logger.log(level, message, extra={TOLD: told})`` does.

    Where nobody but our handler listens, as in a service, this spares the record that the logging module makes of a
    line and carries from handler to handler: most of the price of one.
    """
    if not logger.isEnabledFor(level):
        return
    root = logging.root
    handler = root.handlers[0] if len(root.handlers) == 1 else None
    if type(handler) is GatheringHandler and logger.parent is root and not logger.handlers:
        handler.take(_line(time.time_ns() // 1_000_000, level, logger.name, message, told), level)
    else:
        logger.log(level, message, extra={TOLD: told})


def _line(at_ms: int, level: int, logger: str, message: str, told: dict[str, Any]) -> str:
    line = {
        "at": _moment(at_ms), "level": logging.getLevelName(level).lower(), "logger": logger, "message": message,
    }  # fmt: skip
    line.update(told)
    return _encode(line).decode()


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
