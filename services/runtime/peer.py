"""One service asking another: over HTTP, or straight into the app when both run in one process."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Final, Self, TypeVar

import httpx
import msgspec

from services.contracts.problems import PROBLEMS
from services.runtime.platform import Platform
from services.runtime.web.problems import Problem, ProblemDocument

CONNECT_SECONDS: Final = 1.0
ANSWER_SECONDS: Final = 5.0
ATTEMPTS_MAX: Final = 4
PAUSE_SECONDS: Final = 0.1
"""Before the second attempt; doubled before each one after."""

_AGAIN: Final = frozenset({429, 502, 503, 504})
_OURS: Final = frozenset(
    {"unauthenticated", "forbidden", "internal-error", "malformed-request", "not-found", "method-not-allowed"}
)
"""Problems of a peer that say something about us or about it, and nothing about what our own caller asked for."""

T = TypeVar("T")
_logger: Final = logging.getLogger("macao.peer")


class Peer:
    """Asks one other service, as ``service``; what it refuses is refused to our caller in the same words."""

    def __init__(self, platform: Platform, *, service: str, url: str) -> None:
        """Prepare.

        Args:
            platform: signs the tokens, and holds the app that is asked when there is no URL.
            service: who is asking, for instance ``lobby``.
            url: where the other service answers; empty: in this process.
        """
        self._platform = platform
        self._service = service
        self._url = url
        self._client: httpx.AsyncClient | None = None

    async def __aenter__(self) -> Self:
        """Open the connections."""
        transport: httpx.AsyncBaseTransport | None = None
        if not self._url:
            app: Any = self._platform.app
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(
            base_url=self._url or "http://in-process",
            transport=transport,
            timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close them."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def ready(self) -> None:
        """Return if the peer answers, raise if not."""
        response = await self._open_client().get("/health/live")
        response.raise_for_status()

    async def post(self, path: str, body: object, kind: type[T], *, key: str) -> T:
        """Ask, as often as it takes, always with the same key, so that it happens once.

        Raises:
            Problem: the peer's refusal; ``unavailable``, when it does not answer or is at odds with us.
        """
        return await self._ask("POST", path, msgspec.json.encode(body), self._headers(key), kind)

    async def get(self, path: str, kind: type[T]) -> T:
        """Read something that needs no token, as often as it takes.

        Raises:
            Problem: as ``post``.
        """
        return await self._ask("GET", path, None, {}, kind)

    async def _ask(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str], kind: type[T]
    ) -> T:
        problem = Problem("unavailable")
        for attempt in range(ATTEMPTS_MAX):
            if attempt:
                await asyncio.sleep(PAUSE_SECONDS * 2 ** (attempt - 1))
            try:
                response = await self._send(method, path, content, headers)
            except httpx.TransportError as error:
                _logger.warning("%s did not answer the %s: %r", path, self._service, error)
                continue
            if response.is_success:
                return msgspec.json.decode(response.content, type=kind)
            if response.status_code not in _AGAIN:
                raise self._refusal(path, response)
        raise problem

    async def _send(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> httpx.Response:
        client, traces = self._open_client(), self._platform.traces
        if traces is None:
            return await client.request(method, path, content=content, headers=headers)
        said = {"http.request.method": method, "url.path": path}
        headers = dict(headers)
        with traces.asking(method, headers, said) as span:
            response = await client.request(method, path, content=content, headers=headers)
            span.set_attribute("http.response.status_code", response.status_code)
            return response

    def _headers(self, key: str) -> dict[str, str]:
        return {
            "Authorization": f"Bearer {self._platform.tokens.service_token(self._service)}",
            "Content-Type": "application/json",
            "Idempotency-Key": key,
        }

    def _refusal(self, path: str, response: httpx.Response) -> Problem:
        try:
            said = msgspec.json.decode(response.content, type=ProblemDocument)
        except msgspec.MsgspecError:
            said = None
        if said is None or said.code not in PROBLEMS or said.code in _OURS:
            _logger.error("%s answered the %s with status %d", path, self._service, response.status_code)
            return Problem("unavailable")
        return Problem(said.code, said.detail, clause=said.clause, params=said.params, legal=said.legal)

    def _open_client(self) -> httpx.AsyncClient:
        if self._client is None:
            raise RuntimeError("the peer is not open")
        return self._client
