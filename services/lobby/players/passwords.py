"""Passwords: what one has to be, and argon2id over it, in threads of its own.

A hash takes some 50 ms and 64 MiB. So no more than a few are made at a time, and whoever would have to wait for
long is told to come back.
"""

from __future__ import annotations

import asyncio
import contextlib
import unicodedata
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from importlib.resources import files
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from argon2.profiles import RFC_9106_LOW_MEMORY

from services.runtime.names import canonical
from services.runtime.web.problems import Problem

LENGTH_MIN: Final = 8
LENGTH_MAX: Final = 256
PARAMETERS: Final = RFC_9106_LOW_MEMORY
"""Hashes made with others are renewed when their owner signs in."""
AT_ONCE: Final = 2
WAITING_MAX: Final = 64

RULES: Final[Mapping[str, str]] = {
    "length": f"A password has {LENGTH_MIN} to {LENGTH_MAX} characters.",
    "common": "This password is among the first that anybody would try.",
    "name": "The name is no password.",
}


T = TypeVar("T")


@cache
def _common() -> frozenset[str]:
    listed = files("services.lobby.players").joinpath("common_passwords.txt")
    return frozenset(listed.read_text("utf-8").split())


def plain(password: str) -> str:
    """Return a password in the one form in which keyboards of different makes agree."""
    return unicodedata.normalize("NFKC", password)


def fault_of(password: str, name: str) -> str | None:
    """Return the first of ``RULES`` that a password breaks for somebody of this name, or None."""
    text = plain(password)
    if not LENGTH_MIN <= len(text) <= LENGTH_MAX:
        return "length"
    if text.casefold() in _common() or len(set(text)) < 3:  # noqa: PLR2004 - a key held down, or two in turn
        return "common"
    return "name" if canonical(text) == canonical(name) else None


class Passwords:
    """Makes hashes and compares with them."""

    def __init__(self) -> None:
        self._hasher = PasswordHasher.from_parameters(PARAMETERS)
        self._threads: ThreadPoolExecutor | None = None
        self._decoy: Future[str] | None = None
        self._waiting = 0

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Be there, while open."""
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="argon2")
        # What is compared with where there is no such account: the answer must not come sooner for that.
        self._decoy = self._threads.submit(self._hasher.hash, "nobody has this password")
        try:
            yield
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None

    async def hash(self, password: str) -> str:
        """Return what is stored.

        Raises:
            Problem: ``unavailable``, if too many wait already.
        """
        return await self._apart(lambda: self._hasher.hash(plain(password)))

    async def matches(self, stored: str | None, password: str) -> bool:
        """Say whether a password is the one that was stored; without one the same work is done for nothing.

        Raises:
            Problem: ``unavailable``, if too many wait already.
        """
        return await self._apart(lambda: self._verify(stored, password))

    def is_outdated(self, stored: str) -> bool:
        """Say whether a hash was made with other parameters than those of today."""
        return self._hasher.check_needs_rehash(stored)

    def _verify(self, stored: str | None, password: str) -> bool:
        if self._decoy is None:
            raise RuntimeError("passwords are not open")
        try:
            # The decoy was the first thing that the threads were given to do, so it is there or on its way.
            self._hasher.verify(stored or self._decoy.result(), plain(password))
        except (Argon2Error, InvalidHashError):
            return False
        return stored is not None

    async def _apart(self, work: Callable[[], T]) -> T:
        if self._threads is None:
            raise RuntimeError("passwords are not open")
        if self._waiting >= WAITING_MAX:
            raise Problem("unavailable", "Too many passwords are being checked just now.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        finally:
            self._waiting -= 1
