"""A line of the log is the same, whether it went the way of the logging module or past it."""

import io
import logging

import msgspec
import pytest

from services.runtime.web.logs import TOLD, GatheringHandler, JsonFormatter, tell

LOGGER = logging.getLogger("macao.web")
FIELDS = {"request_id": "r_1", "status": 200, "ms": 0.25}


@pytest.fixture
def written(monkeypatch):
    """What the one handler of a service writes."""
    stream = io.StringIO()
    handler = GatheringHandler(stream)
    handler.setFormatter(JsonFormatter())
    monkeypatch.setattr(logging.root, "handlers", [handler])
    monkeypatch.setattr(logging.root, "level", logging.INFO)
    monkeypatch.setattr(LOGGER.manager, "disable", logging.NOTSET)
    LOGGER.manager._clear_cache()
    yield stream
    LOGGER.manager._clear_cache()


def lines(stream):
    return [msgspec.json.decode(line) for line in stream.getvalue().splitlines()]


def test_a_line_told_is_the_line_logged(written):
    tell(LOGGER, logging.INFO, "request", FIELDS)
    LOGGER.info("request", extra={TOLD: FIELDS})
    told, logged = lines(written)
    assert told.pop("at")[:19] <= logged.pop("at")[:19]
    assert told == logged == {"level": "info", "logger": "macao.web", "message": "request", **FIELDS}


def test_what_is_below_the_level_is_not_told(written):
    tell(LOGGER, logging.DEBUG, "request", FIELDS)
    assert written.getvalue() == ""


def test_whoever_else_listens_hears_it_too(written, monkeypatch):
    heard = []

    class Listener(logging.Handler):
        def emit(self, record):
            heard.append((record.getMessage(), getattr(record, TOLD)))

    monkeypatch.setattr(logging.root, "handlers", [*logging.root.handlers, Listener()])
    tell(LOGGER, logging.INFO, "request", FIELDS)
    assert heard == [("request", FIELDS)]
    assert len(lines(written)) == 1
