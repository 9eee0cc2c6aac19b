"""The event log: appends that are totally ordered, idempotent and gathered into batches, and reads in pages."""

from services.runtime.log.errors import AppendError, LogUnavailableError
from services.runtime.log.event_log import EventLog, Lag, Page, slice_of
from services.runtime.log.types import Append, Appended, Command, Conflict, Duplicate, Outcome, Reused

__all__ = [
    "Append",
    "AppendError",
    "Appended",
    "Command",
    "Conflict",
    "Duplicate",
    "EventLog",
    "Lag",
    "LogUnavailableError",
    "Outcome",
    "Page",
    "Reused",
    "slice_of",
]
