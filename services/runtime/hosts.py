"""One connection to the one of several hosts that may be written to.

The driver asks the hosts of a URL in their order, within one time limit for all. A host that has gone without a word,
as when its machine lost power, uses up all of it, and the next is never asked. So here each host has a time of its own,
and the one that was found last is asked first. Once another is found, connections to the one before are ended: who
waits there for an answer would wait long.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit
from weakref import WeakKeyDictionary

import asyncpg
from asyncpg import Connection

from services.runtime.pool import SteadyConnection

CONNECT_SECONDS: Final = 10.0
"""How long one host may take to let us in."""

CONNECT_SEVERAL_SECONDS: Final = 3.0
"""The same where there are others to turn to."""

SILENT_SECONDS: Final = 20
"""A host that acknowledges nothing for so long is gone, though nobody said so. (Left to itself the system waits for a
quarter of an hour.) A statement that takes long is no silence: the host answers for it."""

_TRY_THE_NEXT: Final = (
    OSError,  # refused, reset, unreachable; TimeoutError too
    asyncpg.CannotConnectNowError,  # it is starting or stopping
    asyncpg.PostgresConnectionError,  # it closed the connection in the middle of the greeting
    asyncpg.TargetServerAttributeNotMatched,  # it is a standby
)


class Hosts:
    """The hosts of one database URL.

    Args:
        url: as of PostgreSQL's own clients: ``postgresql://user:password@one:5432,two:5432/database``. Where several
            are named, the one that may be written to is wanted, unless ``target_session_attrs`` says something else.
        pooled: these are poolers. What they tell of a server at the greeting is what they once heard of it; so each is
            asked whether it leads to a primary, whatever the URL says.
    """

    def __init__(self, url: str, *, pooled: bool = False) -> None:
        self._urls = urls_of(url, "any" if pooled else "read-write")
        self._asks: Final = pooled and len(self._urls) > 1
        self._made: Final[WeakKeyDictionary[Connection[Any], str]] = WeakKeyDictionary()
        self._followers: list[Hosts] = []
        self._seconds: Final = CONNECT_SECONDS if len(self._urls) == 1 else CONNECT_SEVERAL_SECONDS

    async def connect(self, *_: object, **options: Any) -> Connection[Any]:
        """Connect; the signature is that which a pool of the driver asks for.

        Raises:
            OSError, asyncpg.PostgresError, asyncpg.InternalClientError: no host can be reached, lets us in, or may be
                written to; of several errors, the one that says most.
        """
        errors: list[Exception] = []
        for url in self._urls:
            try:
                connection = await self._connect(url, options)
            except _TRY_THE_NEXT as error:
                errors.append(error)
                continue
            _end_when_silent(connection)
            self._made[connection] = url
            if url != self._urls[0]:
                self._urls = [url, *(other for other in self._urls if other != url)]
                self.end_others(url)
                for follower in self._followers:
                    follower.end_others("")
            return connection
        # That a standby is a standby explains nothing while the primary says why it does not answer.
        raise min(errors, key=lambda error: isinstance(error, asyncpg.TargetServerAttributeNotMatched))

    def followed_by(self, other: Hosts) -> None:
        """When another host is found here, end all connections of the other hosts, too: poolers before these."""
        self._followers.append(other)

    def end_others(self, url: str) -> None:
        """End the connections that lead anywhere else."""
        for connection in [one for one, its_url in self._made.items() if its_url != url]:
            connection.terminate()

    async def _connect(self, url: str, options: dict[str, Any]) -> Connection[Any]:
        options = {"connection_class": SteadyConnection, **options}
        connection: Connection[Any] = await asyncpg.connect(url, timeout=self._seconds, **options)
        if self._asks:
            try:
                async with asyncio.timeout(self._seconds):
                    standby: bool = await connection.fetchval("SELECT pg_is_in_recovery()")
            except BaseException:
                connection.terminate()
                raise
            if standby:
                connection.terminate()
                raise asyncpg.TargetServerAttributeNotMatched("the pooler leads to a standby")
        return connection


def urls_of(url: str, wanted: str = "read-write") -> list[str]:
    """Return a URL for each host that a URL names before its path, with what is wanted of one of several."""
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    several = hosts.split(",")
    if len(several) == 1:
        return [url]
    query = parts.query
    if wanted == "any":
        query = "&".join(part for part in query.split("&") if not part.startswith("target_session_attrs="))
    elif "target_session_attrs=" not in query:
        query = f"{query}&target_session_attrs={wanted}".lstrip("&")
    return [urlunsplit(parts._replace(netloc=f"{login}{at}{host}", query=query)) for host in several]


def _end_when_silent(connection: Connection[Any]) -> None:
    """Have the system break the connection when its other end has fallen silent."""
    inside: Any = connection
    found = inside._transport.get_extra_info("socket")  # noqa: SLF001 - the driver has no other way to it
    if found is None or found.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    with socket.fromfd(
        found.fileno(), found.family, found.type
    ) as own:  # the loop lends one that can set nothing
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if sys.platform == "linux":
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, SILENT_SECONDS // 2)
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, SILENT_SECONDS // 4)
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 2)
            own.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_SECONDS * 1000)
