"""Where Redis is, and of what kind: one server, a primary that Sentinel names, or a cluster. Read from one URL.

    redis://user:password@host:6379/0                                one server; rediss:// with TLS, unix:// a socket
    redis+sentinel://user:password@host:26379,host:26379/service/0   the primary that Sentinel calls ``service``
    redis+cluster://user:password@host:6379,host:6379                a cluster, by some of its nodes

``rediss+sentinel://`` and ``rediss+cluster://`` speak TLS. User and password are those of the data servers; where the
Sentinels want some of their own, ``?sentinel_username=…&sentinel_password=…`` says which. A certificate authority of
one's own is named by ``?ssl_ca_certs=/path``.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qsl, unquote

from msgspec import Struct
from redis.asyncio import ConnectionPool

from services.runtime.settings import SettingsError

REDIS_PORT: Final = 6379
SENTINEL_PORT: Final = 26379

_OPTIONS: Final = {
    "sentinel": ("sentinel_username", "sentinel_password", "ssl_ca_certs"),
    "cluster": ("ssl_ca_certs",),
}


_PARTS: Final = re.compile(
    r"(?P<scheme>rediss?)\+(?P<kind>sentinel|cluster)://(?P<netloc>[^/?#]*)(?P<path>[^?#]*)"
    r"(\?(?P<query>[^#]*))?(?P<fragment>#.*)?",
    re.DOTALL,
)
_PLACE: Final = re.compile(r"(\[(?P<v6>[0-9A-Fa-f:.%]+)\]|(?P<name>[^\s:\[\]]+))(:(?P<port>[0-9]{1,5}))?")


class Topology(StrEnum):
    """How Redis is run."""

    SINGLE = "single"
    SENTINEL = "sentinel"
    CLUSTER = "cluster"


class RedisAddress(Struct, frozen=True):
    """What a URL says.

    Attributes:
        url: the URL itself, of a single server; empty otherwise.
        hosts: the Sentinels, or nodes of the cluster, with their ports.
        service: as which Sentinel knows the primary.
        database: the number of the database; a cluster has only 0.
        options: what stands behind the question mark.
    """

    topology: Topology
    url: str = ""
    hosts: tuple[tuple[str, int], ...] = ()
    service: str = ""
    database: int = 0
    username: str | None = None
    password: str | None = None
    tls: bool = False
    options: dict[str, str] = {}


def parse_redis_url(url: str) -> RedisAddress:
    """Read a URL.

    Raises:
        SettingsError: in one line, what is wrong with it. The URL itself is not quoted, as it holds a password.
    """
    if url.startswith(("redis://", "rediss://", "unix://")):
        return _single(url)
    # By hand: the library's splitter knows one host, and in some versions refuses several in brackets.
    parts = _PARTS.fullmatch(url)
    if parts is None:
        raise _unusable(
            "it has to begin with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// "
            "(rediss+… with TLS)"
        )
    kind = parts["kind"]
    options = dict(parse_qsl(parts["query"] or "", keep_blank_values=True))
    unknown = sorted(options.keys() - set(_OPTIONS[kind]))
    if unknown:
        raise _unusable(f"the option {unknown[0]} is unknown; known are {', '.join(_OPTIONS[kind])}")
    if parts["fragment"]:
        raise _unusable("a # in the password has to be written %23")
    login, _, places = parts["netloc"].rpartition("@")
    username, _, password = login.partition(":")
    default_port = SENTINEL_PORT if kind == "sentinel" else REDIS_PORT
    segments = [unquote(segment) for segment in parts["path"].split("/") if segment]
    service, database = _sentinel_path(segments) if kind == "sentinel" else ("", _cluster_path(segments))
    return RedisAddress(
        topology=Topology(kind),
        hosts=tuple(_host(place, default_port) for place in places.split(",")),
        service=service,
        database=database,
        username=unquote(username) or None,
        password=unquote(password) or None,
        tls=parts["scheme"] == "rediss",
        options=options,
    )


def _single(url: str) -> RedisAddress:
    try:
        # Made and thrown away: so an option that no connection knows is told now and not at the first attempt.
        ConnectionPool.from_url(url).make_connection()  # type: ignore[no-untyped-call]
    except TypeError:
        raise _unusable("an option behind the question mark is unknown") from None
    except (ValueError, AttributeError):
        raise _unusable(
            "it is to be like redis://user:password@host:6379/0; in a password write "
            "%23 for #, %25 for %, %2F for /, %3A for :, %40 for @"
        ) from None
    return RedisAddress(Topology.SINGLE, url=url)


def _sentinel_path(segments: list[str]) -> tuple[str, int]:
    if not segments:
        raise _unusable(
            "behind the Sentinels stands the name that they have for the primary, as in "
            "redis+sentinel://host:26379,host:26379/mymaster"
        )
    if len(segments) > 2:  # noqa: PLR2004 - the service and the database
        raise _unusable("its path is /service or /service/database")
    return segments[0], _database(segments[1]) if len(segments) == 2 else 0  # noqa: PLR2004 - as above


def _cluster_path(segments: list[str]) -> int:
    if len(segments) > 1 or (segments and _database(segments[0]) != 0):
        raise _unusable("a cluster has only the database 0")
    return 0


def _database(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise _unusable("the database, last in its path, is no number; a / in a password is written %2F")
    return int(text)


def _host(place: str, default_port: int) -> tuple[str, int]:
    """Read ``host``, ``host:port``, ``[v6]`` or ``[v6]:port``."""
    found = _PLACE.fullmatch(place)
    port = default_port if found is None or found["port"] is None else int(found["port"])
    if found is None or not 0 < port < 1 << 16:
        raise _unusable("it needs hosts with their ports, separated by commas: host:port,host:port")
    return found["v6"] or found["name"], port


def _unusable(reason: str) -> SettingsError:
    return SettingsError(f"MACAO_REDIS_URL cannot be used: {reason}")
