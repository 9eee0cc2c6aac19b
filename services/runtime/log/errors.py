"""What can go wrong with an append, apart from the outcomes that are answers."""

from __future__ import annotations


class LogUnavailableError(Exception):
    """The log cannot take this just now, or cannot say whether it did: ask again with the same command id."""

    code = "unavailable"


class AppendError(Exception):
    """This append can never be stored as it stands; the others of its batch were. A fault of the caller."""
