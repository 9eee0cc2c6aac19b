"""A frame of a stream, and how it is written: as a server-sent event, or as a message on a WebSocket."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

_TEXT: Final = 0x81
"""A whole message of text."""
_SHORT_MAX: Final = 125
_MEDIUM: Final = 126
_MEDIUM_MAX: Final = 0xFFFF
_LONG: Final = 127


class Frame(Struct, frozen=True):
    """A frame, whichever way it is sent.

    Attributes:
        version: the version of the stream that it leads to.
        event: its name.
        data: JSON, in one line.
    """

    version: int
    event: bytes
    data: bytes

    def as_event(self) -> bytes:
        """Return the server-sent event."""
        return event_of(self.event, self.version, self.data)

    def as_message(self) -> bytes:
        """Return the message, as it goes to the connection."""
        return text_frame(message_of(self.event, self.version, self.data))


def event_of(event: bytes, version: int, data: bytes) -> bytes:
    """Write a server-sent event."""
    return b"event: %b\nid: %d\ndata: %b\n\n" % (event, version, data)


def message_of(event: bytes, version: int, data: bytes) -> bytes:
    """Write the text of a message."""
    return b'{"event":"%b","id":%d,"data":%b}' % (event, version, data)


def text_frame(text: bytes) -> bytes:
    """Write a message of a server as a frame of RFC 6455: whole, not masked, not compressed."""
    size = len(text)
    if size <= _SHORT_MAX:
        return b"%c%c%b" % (_TEXT, size, text)
    if size <= _MEDIUM_MAX:
        return b"%c%c%b%b" % (_TEXT, _MEDIUM, size.to_bytes(2, "big"), text)
    return b"%c%c%b%b" % (_TEXT, _LONG, size.to_bytes(8, "big"), text)
