"""Where the archive lies: a directory, or a bucket of anything that speaks S3. The same few operations for both."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from obstore.exceptions import BaseError
from obstore.store import LocalStore, ObjectStore, S3Store

from services.contracts.ids import MATCH, is_id

if TYPE_CHECKING:
    from obstore.store import S3Config

SUFFIX: Final = ".ndjson.gz"
RECORD_BYTES_MAX: Final = 1 << 30
"""No record is longer; what unpacks to more is no record."""


class PlaceError(Exception):
    """The archive cannot be reached or written; the message says why, and what to do."""


class Place:
    """Keeps files by the ids of matches."""

    def __init__(self, name: str, store: ObjectStore) -> None:
        self.name: Final = name
        self._store = store

    @classmethod
    def at(cls, address: str) -> Place:
        """Open ``s3://bucket/prefix``, or a directory, which is made.

        Credentials and region of S3 come from ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY`` and ``AWS_REGION``; the
        address of a store that is not Amazon's from ``AWS_ENDPOINT_URL``.

        Raises:
            PlaceError: it cannot be used.
        """
        parts = urlsplit(address)
        try:
            if parts.scheme == "s3":
                if not parts.netloc:
                    raise PlaceError(f"{address} names no bucket: write s3://bucket/prefix")
                endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
                more: S3Config = {"endpoint": endpoint} if endpoint else {}
                store: ObjectStore = S3Store(
                    parts.netloc, prefix=parts.path.strip("/") or None, config=more,
                    client_options={"allow_http": endpoint.startswith("http:"), "timeout": "60s"},
                    retry_config={"max_retries": 4},
                )  # fmt: skip
            elif parts.scheme in {"", "file"}:
                store = LocalStore(Path(parts.path).expanduser().absolute(), mkdir=True)
            else:
                raise PlaceError(f"{address} is neither a directory nor s3://bucket/prefix")
        except (BaseError, OSError, ValueError) as error:
            raise PlaceError(f"{address} cannot be used: {error}") from error
        return cls(address, store)

    def put(self, match: str, record: bytes) -> None:
        """Keep the record of a match; one that is there is replaced. The same record gives the same file.

        Raises:
            PlaceError: it cannot be written.
        """
        try:
            self._store.put(_name(match), gzip.compress(record, 9, mtime=0))
        except (BaseError, OSError) as error:
            raise PlaceError(f"{_name(match)} cannot be written to {self.name}: {error}") from error

    def get(self, match: str) -> bytes | None:
        """Return the record of a match, None if it is not there.

        Raises:
            PlaceError: it cannot be read, or is no compressed file.
        """
        try:
            packed = bytes(self._store.get(_name(match)).bytes())
        except FileNotFoundError:
            return None
        except (BaseError, OSError) as error:
            raise PlaceError(f"{_name(match)} cannot be read from {self.name}: {error}") from error
        unpacking = zlib.decompressobj(wbits=31)
        try:
            record = unpacking.decompress(packed, RECORD_BYTES_MAX)
        except zlib.error as error:
            raise PlaceError(f"{_name(match)} in {self.name} is damaged: {error}") from error
        if not unpacking.eof or unpacking.unused_data:
            raise PlaceError(f"{_name(match)} in {self.name} is damaged: it does not end where it should")
        return record

    def matches(self) -> Iterator[str]:
        """Give the ids of all matches that are here, in no particular order.

        Raises:
            PlaceError: the place cannot be listed.
        """
        try:
            for page in self._store.list("matches"):
                for found in page:
                    name = found["path"].rpartition("/")[2].removesuffix(SUFFIX)
                    if is_id(MATCH, name):
                        yield name
        except (BaseError, OSError) as error:
            raise PlaceError(f"{self.name} cannot be listed: {error}") from error


def _name(match: str) -> str:
    # The end of an id is drawn by chance, so the directories fill evenly.
    return f"matches/{match[-2:]}/{match}{SUFFIX}"
