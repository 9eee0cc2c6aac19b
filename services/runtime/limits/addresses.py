"""Whose request it is: the address of the connection, or what a proxy of ours says about it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from services.runtime.settings import SettingsError

HOPS_MAX: Final = 20
SUBJECTS_MAX: Final = 4_096
"""Peers remembered with what they are counted under."""


class Proxies:
    """The proxies whose ``X-Forwarded-For`` is believed.

    Args:
        listed: addresses and networks with commas between them, as in the settings; empty: none.

    Raises:
        SettingsError: one of them is neither.
    """

    def __init__(self, listed: str) -> None:
        try:
            self._trusted = [
                ip_network(one.strip(), strict=False) for one in listed.split(",") if one.strip()
            ]
        except ValueError as error:
            raise SettingsError(f"MACAO_TRUSTED_PROXIES cannot be used: {error}") from None

    def subject_of(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return what requests are counted under: an address, for IPv6 the network of 64 bits around it.

        Args:
            peer: the address of the connection.
            forwarded: the values of ``X-Forwarded-For`` in the order of the headers. Each proxy adds at the end whom
                it was asked by, so they are read from there, as far as the proxies are ours; further to the left
                anybody can have written anything.
        """
        if not forwarded:
            return _subject_of(peer)
        found = _read(peer)
        hops = [hop for value in forwarded for hop in value.split(",")][-HOPS_MAX:]
        while found is not None and hops and self._trusts(found):
            before = _read(hops.pop())
            if before is None:
                break
            found = before
        return _written(found, peer)

    def _trusts(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._trusted)


@lru_cache(maxsize=SUBJECTS_MAX)
def _subject_of(peer: str) -> str:
    """Return the subject of a connection that no proxy speaks for: the same with every request over it."""
    return _written(_read(peer), peer)


def _written(found: IPv4Address | IPv6Address | None, peer: str) -> str:
    if found is None:
        return peer or "unknown"
    if isinstance(found, IPv6Address):
        return str(IPv6Network((int(found) >> 64 << 64, 64)))
    return str(found)


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address as proxies write it: with a port or without, in brackets or not, with a zone or not."""
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
