"""The issuer's published keys: fetched when they are needed, kept for a while, fetched anew when one is missing."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final

import httpx
import jwt
import msgspec
from jwt import PyJWK

from services.runtime.issuer.config import IssuerConfig

ALGORITHMS: Final = frozenset(
    {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}
)
"""Signatures with a private and a public key. Never ``none``, never a shared secret."""

MAX_AGE_SECONDS: Final = 600.0
"""A key that the issuer withdraws is refused after so long."""
STALE_SECONDS: Final = 24 * 3600.0
"""So long the last known keys are good while the issuer does not answer."""
PAUSE_SECONDS: Final = 10.0
"""Between two fetches at least: made-up key ids must not send us there each time."""
ANSWER_SECONDS: Final = 5.0
SIZE_MAX: Final = 1 << 20
KEYS_MAX: Final = 100
RSA_BITS_MIN: Final = 2048

_DISCOVERY: Final = "/.well-known/openid-configuration"
_logger: Final = logging.getLogger(__name__)


class IssuerAwayError(OSError):
    """The issuer does not answer, and no key of it is known well enough: a matter of trying again."""


class IssuerKeys:
    """The keys by id, as of the last fetch."""

    def __init__(self, config: IssuerConfig) -> None:
        self._config = config
        self._client: httpx.AsyncClient | None = None
        self._lock = asyncio.Lock()
        self._keys: dict[str, dict[str, Any]] = {}
        self._fetched_at = float("-inf")
        self._tried_at = float("-inf")

    async def find(self, key_id: str | None, algorithm: str) -> PyJWK | None:
        """Return the key of an id, for an allowed algorithm; None if there is none, or it is for something else.

        A token without an id can only be meant for the issuer's one key.

        Raises:
            IssuerAwayError: nothing is known, as the issuer does not answer.
        """
        if algorithm not in ALGORITHMS:
            return None
        if self._age() > MAX_AGE_SECONDS or self._data_of(key_id) is None:
            await self._refresh()
        data = self._data_of(key_id)
        if data is None or data.get("alg", algorithm) != algorithm:
            return None
        try:
            key = PyJWK(data, algorithm)
        except (jwt.PyJWTError, ValueError):
            return None  # a key of another kind than the algorithm's
        return None if getattr(key.key, "key_size", RSA_BITS_MIN) < _bits_min(algorithm) else key

    async def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _age(self) -> float:
        return asyncio.get_running_loop().time() - self._fetched_at

    def _data_of(self, key_id: str | None) -> dict[str, Any] | None:
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(key_id or "")

    async def _refresh(self) -> None:
        asked_at = asyncio.get_running_loop().time()
        async with self._lock:
            # Whoever waited here while another fetched takes what that one brought.
            if self._fetched_at < asked_at and asked_at - self._tried_at >= PAUSE_SECONDS:
                self._tried_at = asked_at
                try:
                    self._keys = await self._fetch()
                    self._fetched_at = asyncio.get_running_loop().time()
                except (httpx.HTTPError, httpx.InvalidURL, msgspec.MsgspecError, ValueError) as error:
                    _logger.warning("the issuer's keys could not be fetched: %r", error)
        if self._age() > STALE_SECONDS:
            self._keys = {}
            raise IssuerAwayError("the issuer's keys could not be fetched")

    async def _fetch(self) -> dict[str, dict[str, Any]]:
        url = self._config.jwks_url
        if not url:
            found = await self._get(self._config.issuer.rstrip("/") + _DISCOVERY)
            if found.get("issuer") != self._config.issuer:
                raise ValueError("the discovery document is another issuer's")
            url = str(found.get("jwks_uri", ""))
            if not url.startswith("https://") and not self._config.issuer.startswith("http://"):
                raise ValueError("the discovery document names keys that would not come over https")
        keys = (await self._get(url)).get("keys")
        return {
            str(key.get("kid", "")): key
            for key in (keys if isinstance(keys, list) else [])[:KEYS_MAX]
            if isinstance(key, dict) and key.get("kty") != "oct" and key.get("use", "sig") == "sig"
        }

    async def _get(self, url: str) -> dict[str, Any]:
        if self._client is None:
            self._client = httpx.AsyncClient(timeout=ANSWER_SECONDS, headers={"Accept": "application/json"})
        body = bytearray()
        async with self._client.stream("GET", url) as response:
            response.raise_for_status()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > SIZE_MAX:
                    raise ValueError("the answer is too large")
        return msgspec.json.decode(body, type=dict[str, Any])


def _bits_min(algorithm: str) -> int:
    return RSA_BITS_MIN if algorithm[:2] in ("RS", "PS") else 0
