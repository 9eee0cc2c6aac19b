"""The web layer: the app factory, and what every handler has at hand.

A service's ``http`` modules hold plain Litestar handlers, gathered in a ``Router("/v1", route_handlers=[…])``
that ``service(platform)`` in its ``app.py`` puts into a ``Service``. One looks like this::

    class MoveBody(Body, frozen=True):                        # unknown fields and wrong types are refused
        move: Move

    @post("/matches/{match_id:str}/moves", guards=[needs("play")], status_code=200,
          tags=["matches"], operation_id="make_move", responses=refusals("not-found", "not-your-turn"))
    async def make_move(request: Request, match_id: FromPath[str], data: JSONBody[MoveBody]) -> Response[Moved]:
        \"\"\"Make a move.\"\"\"
        play = request.the(Play)                              # the object that the service put into `provides`
        caller = await request.caller()                       # Caller(player, scopes); ANONYMOUS without a token
        command = await request.command()                     # Command(id, hash) from the Idempotency-Key
        version = request.if_match()                          # 12 for If-Match: "12", None without the header
        ...
        raise Problem("not-your-turn", "Seat 1 is to act.", clause="DR-2.1", legal=moves)

- ``request.platform`` is the ``Platform``, ``request.id`` the request id. There are no injected dependencies:
  Litestar resolves them anew for each request, which costs more than all the rest of this layer.
- ``needs(scope)`` is the guard that demands a scope; the OpenAPI document shows it by itself.
- ``Problem(code, …)`` may be raised at any depth; the catalogue is ``services.contracts.problems``.
- A handler answers with a struct, or with ``Response[Struct]`` for headers and status. Bytes that are encoded
  already go out as they are: ``Response(content=body)``, typed by ``cast``.
- An answer that repeats an earlier one carries ``Idempotent-Replayed: true`` (``idempotency.REPLAYED``).
- ``streams.event_stream(request, source)`` answers with server-sent events.
- Paths and queries are declared with ``FromPath[…]`` and ``FromQuery[…]``; numbers in them with bounds
  (``FromQuery[Annotated[int, Meta(ge=0, le=…)]]``), as PostgreSQL's integers end.
"""

from services.runtime.service import Factory, Service
from services.runtime.tokens.caller import ANONYMOUS, Caller
from services.runtime.web.app import App, create_app, openapi_of
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.conditions import etag
from services.runtime.web.idempotency import REPLAYED, Command, command_id
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import refusals

__all__ = [
    "ANONYMOUS",
    "REPLAYED",
    "App",
    "Body",
    "Caller",
    "Command",
    "Factory",
    "Problem",
    "Request",
    "Service",
    "command_id",
    "create_app",
    "etag",
    "needs",
    "openapi_of",
    "refusals",
]
