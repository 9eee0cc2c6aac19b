"""The live board: what changed, read and encoded once for all who watch.

The frames of ``GET /v1/lobby/stream``; the id of each is a position of the log::

    event: snapshot   first, always, and again when the board was built anew: {"position", "whole", "items", "gone"}
                      whole: the board as it stands, forget what you had; else what changed since your last id
    event: table      a table that is new or has changed, as it stands now
    event: gone       {"id"}: a table that closed or turned private

Several changes of a table that happened between two readings come as one.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from services.projections.board.tables import Board, Change
from services.projections.board.view import TableOnBoard, tables_of
from services.runtime.platform import Platform
from services.runtime.web.frames import Frame
from services.runtime.web.streams import frame

BELL: Final = "projection:board"
"""Under this name the doorbell rings when the board has changed."""

SNAPSHOT_MAX: Final = 500
"""Tables of a snapshot at most, the newest; ``GET /v1/lobby`` pages through more."""
READ_MAX: Final = 200
"""Changes of one reading at most."""
REMEMBERED_MAX: Final = 1000

_logger: Final = logging.getLogger(__name__)
_encode: Final = msgspec.json.Encoder().encode


class Snapshot(Struct, frozen=True):
    """The first frame. ``gone`` has the ids of tables that are no longer to be shown; empty in a whole one."""

    position: int
    whole: bool
    items: list[TableOnBoard]
    gone: list[str]


class Gone(Struct, frozen=True):
    """A table that is no longer to be shown."""

    id: str


class BoardStream:
    """What every stream of the board in this process draws on.

    The frames of the last changes are remembered without a gap: all that happened in ``(since, end]``. Who stands
    within is answered from memory; who is behind, from the database.
    """

    def __init__(self, platform: Platform, board: Board) -> None:
        self._platform = platform
        self._board = board
        self._lock = asyncio.Lock()
        self._frames: deque[Frame] = deque()
        self._since = 0
        self._known = 0
        self.generation = 0

    def reader(self) -> BoardReader:
        """Return what one open stream reads from."""
        return BoardReader(self)

    async def snapshot(self, at: int | None) -> tuple[int, bytes]:
        """Return the board's position, and what brings a reader there: from ``at``, or from nothing."""
        pool = self._platform.database.pool
        async with (
            pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            await self._board.hold(connection)
            position = await self._board.position(connection)
            _, built_position = await self._board.built(connection)
            changes: list[Change] = []
            # An id beyond the board is one from a log that has lost its tail, and before a rebuild the board may have
            # looked otherwise: only the whole board helps.
            whole = at is None or at > position or at <= built_position
            if at is not None and not whole:
                changes = await self._board.changes(connection, at, READ_MAX + 1)
                whole = len(changes) > READ_MAX
            if whole:
                rows = await self._board.page(
                    connection, game=None, state=None, before=None, limit=SNAPSHOT_MAX
                )
            else:
                rows = [change.row for change in changes if change.row.shown]
        gone = [] if whole else [change.row.id for change in changes if not change.row.shown]
        items = await tables_of(self._platform.players, rows)
        return position, _encode(Snapshot(position, whole, items, gone))

    async def frames(self, after: int) -> Sequence[Frame]:
        """Return a frame for each table that has changed after a position, in the order of the changes."""
        async with self._lock:
            if self._frames and self._since <= after < self._frames[-1].version:
                return [one for one in self._frames if one.version > after]
            if after < self._since:
                return await self._read(after)
            if not self._frames:
                self._since = after
            end = self._frames[-1].version if self._frames else after
            self._frames.extend(await self._read(end))
            while len(self._frames) > REMEMBERED_MAX:
                self._since = self._frames.popleft().version
            return [one for one in self._frames if one.version > after]

    async def watch(self) -> None:
        """Look at the board now and then, until cancelled: the ring of the process that writes it may be lost."""
        while True:
            await asyncio.sleep(self._platform.settings.poll_seconds)
            try:
                async with self._platform.database.pool.acquire() as connection:
                    shown = await self._board.last_shown(connection)
                    generation, built_position = await self._board.built(connection)
            except Exception as error:  # noqa: BLE001 - the database may be away for a while; looking goes on
                _logger.warning("the board could not be looked at: %r", error)
                continue
            if generation != self.generation:
                self.generation = generation
                self._frames.clear()
                self._platform.bell.ring(built_position, [(BELL, built_position)])
            if shown > self._known:
                self._known = shown
                self._platform.bell.ring(shown, [(BELL, shown)])

    async def _read(self, after: int) -> list[Frame]:
        async with self._platform.database.pool.acquire() as connection:
            changes = await self._board.changes(connection, after, READ_MAX)
        if changes:
            self._known = max(self._known, changes[-1].position)
        shown = await tables_of(
            self._platform.players, [change.row for change in changes if change.row.shown]
        )
        tables = {table.id: table for table in shown}
        return [
            frame("table", change.position, _encode(tables[change.row.id]))
            if change.row.shown
            else frame("gone", change.position, _encode(Gone(change.row.id)))
            for change in changes
        ]


class BoardReader:
    """One open stream: it knows which build of the board it has told of."""

    def __init__(self, board: BoardStream) -> None:
        self._board = board
        self._generation = board.generation

    @property
    def stream(self) -> str:
        """The name under which the doorbell rings."""
        return BELL

    @property
    def audience(self) -> str:
        """Everybody sees the same, of the same build."""
        return str(self._board.generation)

    async def snapshot(self, at: int | None) -> tuple[int, bytes]:
        """Return the board's position, and what brings a reader there: from ``at``, or from nothing."""
        return await self._board.snapshot(at)

    async def frames(self, after: int) -> Sequence[Frame]:
        """Return what changed after a position; the whole board once if it was built anew meanwhile."""
        if self._generation == self._board.generation:
            return await self._board.frames(after)
        self._generation = self._board.generation
        position, view = await self._board.snapshot(None)
        return [frame("snapshot", position, view)]

    def frames_of(self, _news: object, /) -> Sequence[Frame]:
        """Return nothing: the board is written by its projection."""
        return ()
