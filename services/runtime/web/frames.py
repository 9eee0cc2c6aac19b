"""A frame of a stream, and how it is written: as a server-sent event, or as a message on a WebSocket."""

from __future__ import annotations

import websockets.frames
from msgspec import Struct


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
    """Write a message of a server as a frame: whole, not masked, not compressed."""
    return websockets.frames.Frame(websockets.frames.Opcode.TEXT, text).serialize(mask=False)
