"""A table as a stream of server-sent events: the whole table first, then each event with the table that it left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Raw, Struct

from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Table
from services.lobby.tables.views import TableView, TableViews
from services.runtime.web.frames import Frame
from services.runtime.web.problems import Problem
from services.runtime.web.streams import frame

PAGE_FRAMES: Final = 200

_encode: Final = msgspec.json.Encoder().encode


class TableChange(Struct, frozen=True):
    """One event of a table: ``event`` is what happened, ``table`` how it then stands."""

    version: int
    type: str
    at_ms: int
    event: Annotated[Raw, Meta(extra_json_schema={"$ref": "#/components/schemas/TableEventData"})]
    table: TableView


class TableSource:
    """What one viewer's stream of a table tells. Only the host's differs: it carries the invitation code."""

    def __init__(self, table: Table, viewer: str, streams: TableStreams, views: TableViews) -> None:
        self.stream: Final = table.id
        self.audience: Final = viewer if table.settings.visibility == "private" else ""
        self._table = table
        self._viewer = viewer if self.audience else ""
        self._streams = streams
        self._views = views

    async def snapshot(self, at: int | None) -> tuple[int, bytes]:
        """Return the table at a version."""
        table = self._table
        if at is not None and at < table.version:
            table = await self._at(
                max(at, 1)
            )  # there is no version 0: who has nothing yet begins with the first
        return table.version, _encode(await self._views.view(table, self._viewer))

    async def frames(self, after: int) -> Sequence[Frame]:
        """Return the next changes."""
        events = await self._streams.events(self.stream, after, after + PAGE_FRAMES)
        frames: list[Frame] = []
        if events:
            tables = await self._streams.each(self.stream, after, events[-1].version)
            for event, table in zip(events, tables, strict=True):
                view = await self._views.view(table, self._viewer)
                change = TableChange(event.version, event.type, event.at_ms, _public(event.body), view)
                frames.append(frame("change", event.version, _encode(change)))
        return frames

    def frames_of(self, _news: object, /) -> Sequence[Frame]:
        """Return nothing: changes are told with the table, which is read."""
        return ()

    async def _at(self, version: int) -> Table:
        table = await self._streams.load_at(self.stream, version)
        if table is None:
            raise Problem("not-found", "There is no such table.")
        return table


def _public(body: bytes) -> Raw:
    """Return an event's body without the hash of the invitation code, which is nobody's business."""
    if b"invite_hash" not in body:
        return Raw(body)
    fields: dict[str, Any] = msgspec.json.decode(body, type=dict[str, Any])
    fields.pop("invite_hash", None)
    return Raw(_encode(fields))
