"""The request as handlers see it: Litestar's, with caller, command and the service's own objects at hand."""

from __future__ import annotations

from typing import Any, TypeVar, cast

import litestar
from litestar.datastructures import State
from litestar.types import Empty

from services.runtime.platform import Platform
from services.runtime.tokens.caller import ANONYMOUS, Caller
from services.runtime.web import bodies, conditions, idempotency
from services.runtime.web.authentication import identify
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

T = TypeVar("T")

PLATFORM = "platform"
PROVIDED = "provided"
COMMAND = "command"
"""Where the id of its command is kept in the state of a request, for the line in the log."""
ARRIVED_MS = "arrived_ms"
CODING = "coding"
"""Where the state of a request has its ``Content-Encoding``, if it has one."""


class Request(litestar.Request[Any, Any, State]):
    """A request. Everything here is computed when it is asked for, and once."""

    __slots__ = ("_caller", "_decoded")

    _caller: Caller | None
    _decoded: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._caller = None
        self._decoded = None

    @property
    def id(self) -> str:
        """The request id, as it is logged and returned."""
        return cast("str", self.scope["state"]["request_id"])

    @property
    def arrived_ms(self) -> int:
        """When the request came in, before anything of it was looked at; Unix time in milliseconds."""
        return cast("int", self.scope["state"][ARRIVED_MS])

    @property
    def platform(self) -> Platform:
        """The platform that this process shares."""
        return cast("Platform", self.scope["litestar_app"].state[PLATFORM])

    def header(self, name: bytes) -> str | None:
        """Return a header by its name in small letters. ``headers`` has them all, and is slower for a few."""
        for found, value in self.scope["headers"]:
            if found == name:
                return value.decode("latin-1")
        return None

    def the(self, kind: type[T]) -> T:
        """Return the one object of this type that a service provides (``Service.provides``)."""
        return cast("T", self.scope["litestar_app"].state[PROVIDED][kind])

    async def caller(self) -> Caller:
        """Return who is asking; ``ANONYMOUS`` without a token.

        Raises:
            Problem: ``unauthenticated``, if there is a token and it is not valid.
        """
        if self._caller is None:
            self._caller = await identify(self.header(b"authorization"), self.platform.tokens) or ANONYMOUS
        return self._caller

    async def command(self) -> Command:
        """Return the command id and request hash of a write that must have an Idempotency-Key.

        Raises:
            Problem: ``idempotency-key-missing``, ``idempotency-key-malformed``.
        """
        command = await self.optional_command()
        if command is None:
            raise Problem("idempotency-key-missing")
        return command

    async def optional_command(self, actor: str | None = None) -> Command | None:
        """The same for a write that may come without a key; ``actor`` stands in for a caller without a token."""
        key = idempotency.key_of(self.header(b"idempotency-key"))
        if key is None:
            return None
        if actor is None:
            actor = (await self.caller()).player
        body = await self.body()
        command = idempotency.command_id(actor, key)
        self.scope["state"][COMMAND] = command
        return Command(command, idempotency.request_hash(self.method, self.scope["path"], body))

    def if_match(self) -> int | None:
        """Return the version in If-Match, or None without the header.

        Raises:
            Problem: ``malformed-request``.
        """
        return conditions.version_in(self.header(b"if-match"))

    async def body(self) -> bytes:
        """Return the body, whole; see ``bodies.whole``. Litestar's own way to it costs as much as deciding a move."""
        body = self._body
        if body is Empty:
            body = await bodies.whole(self.receive, self.header(b"content-length"))
            self._body = self._connection_state.body = body
        return body

    async def json(self) -> Any:
        """Return the body as the type that the handler declares for ``data``.

        Litestar would decode into plain objects first and coerce them leniently (the string "3" for a
        number); here the bytes become the declared struct at once, strictly.
        """
        if self._decoded is None:
            field = self.route_handler.parsed_fn_signature.parameters["data"]
            self._decoded = await self.decoded(field.annotation)
        return self._decoded

    async def decoded(self, kind: Any) -> Any:
        """Return the body as a type; see ``bodies.decode``.

        Raises:
            Problem: ``unsupported-media-type``, ``malformed-request``, and those of ``body``.
        """
        if CODING in self.scope["state"]:
            bodies.refuse_coding(self.scope["state"][CODING])
        return bodies.decode(kind, await self.body(), self.header(b"content-type") or "")
