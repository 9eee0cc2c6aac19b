"""The streams in AsyncAPI 3: server-sent events of matches, tables and the board, and the WebSocket of a match."""

from __future__ import annotations

from typing import Any, Final

from services.contracts.events.catalogue import MATCH_TYPES
from services.engine.http import documentation as engine
from services.engine.http.socket import MoveMessage
from services.engine.play.wire import EventView, MatchView, MoveAnswer
from services.lobby.http import documentation as lobby
from services.lobby.tables.table_stream import TableChange
from services.lobby.tables.views import TableView
from services.projections.board.stream import Gone, Snapshot
from services.projections.board.view import TableOnBoard
from services.runtime.web.openapi.schemas import REF, Schemas
from services.runtime.web.problems import ProblemDocument
from services.runtime.web.schema import VERSION
from services.runtime.web.sockets import Hello

_JSON: Final = "application/json"
_DESCRIPTION: Final = """
What the services tell as it happens. Server-sent events (`text/event-stream`) have the name of the message as `event`,
a version as `id`, and its payload as `data`. The WebSocket carries the same three in one JSON object, and takes moves.

The first message is always `snapshot`. Come back with `Last-Event-ID` or `?after=`: the snapshot is then the view at
that version, and everything behind it follows, once and in order. `keep-alive` comes every 15 seconds without another
message; its `version` is the newest there is. A token is needed to see what only a player may see, and to move.
docs/api.md tells the rest.
"""

_KEEP_ALIVE: Final = {
    "type": "object",
    "description": "Nothing new; `version` is the newest there is.",
    "properties": {"version": {"type": "integer"}},
    "required": ["version"],
}
_KEYED: Final = {"type": ["string", "null"], "description": "The `key` of the message that this is about."}


def asyncapi() -> dict[str, Any]:
    """Return the document."""
    told = (
        MatchView,
        EventView,
        MoveAnswer,
        TableView,
        TableChange,
        Snapshot,
        TableOnBoard,
        Gone,
        ProblemDocument,
    )
    unions = {**engine.UNIONS, **lobby.UNIONS}
    schemas = Schemas(
        (Hello, MoveMessage), told, unions, {**engine.NAMES, **_NAMES}, {**engine.ENUMS, **lobby.ENUMS}
    )
    schemas.components["Problem"]["properties"]["legal"]["items"] = {"$ref": REF + "LegalMove"}
    components = {
        **schemas.components,
        "KeepAlive": _KEEP_ALIVE,
        "Answered": _object(
            "A move was accepted, now or (`replayed`) when it was first sent.",
            key={"type": "string"}, replayed={"type": "boolean"}, answer={"$ref": REF + "MoveAnswer"},
        ),
        "Refused": _object("A message was refused.", key=_KEYED, problem={"$ref": REF + "Problem"}),
    }  # fmt: skip
    messages = {**_frames(), **_socket()}
    return {
        "asyncapi": "3.0.0",
        "info": {"title": "Macao: streams", "version": VERSION, "description": _DESCRIPTION.strip()},
        "servers": {
            "http": {"host": "127.0.0.1:8000", "protocol": "http", "description": "Server-sent events."},
            "ws": {"host": "127.0.0.1:8000", "protocol": "ws", "description": "The WebSocket."},
        },
        "channels": _channels(),
        "operations": _operations(),
        "components": {
            "messages": messages,
            "schemas": _plain_refs(dict(sorted(components.items()))),
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
        },
    }


_NAMES: Final = {
    "ProblemDocument": "Problem", "Hello": "HelloMessage", "Snapshot": "BoardSnapshot", "Gone": "TableGone",
}  # fmt: skip


def _plain_refs(schema: Any) -> Any:
    """Return a schema without words beside a reference, where older dialects allow none."""
    if isinstance(schema, list):
        return [_plain_refs(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema and len(schema) > 1:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return {"allOf": [{"$ref": schema["$ref"]}], **beside}
    return {key: _plain_refs(value) for key, value in schema.items()}


def _object(description: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object", "description": description, "properties": properties, "required": list(properties),
    }  # fmt: skip


def _message(name: str, summary: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "title": name, "summary": summary, "contentType": _JSON, "payload": payload}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": REF + name}


def _frames() -> dict[str, Any]:
    events = f"An event, named by its type: {', '.join(sorted(MATCH_TYPES))}"
    return {
        "matchSnapshot": _message("snapshot", "The match as the viewer may see it", _ref("MatchView")),
        "matchEvent": _message("TYPE", events, _ref("EventView")),
        "tableSnapshot": _message("snapshot", "The table", _ref("TableView")),
        "tableChange": _message(
            "change", "An event of the table, and how it then stands", _ref("TableChange")
        ),
        "boardSnapshot": _message("snapshot", "The board, or what changed on it", _ref("BoardSnapshot")),
        "boardTable": _message("table", "A table that is new or has changed", _ref("TableOnBoard")),
        "boardGone": _message("gone", "A table that is no longer shown", _ref("TableGone")),
        "keepAlive": _message("keep-alive", "Nothing new for 15 seconds", _ref("KeepAlive")),
    }


def _socket() -> dict[str, Any]:
    def envelope(event: dict[str, Any], data: str) -> dict[str, Any]:
        return _object("A message of the service.", event=event, id={"type": "integer"}, data=_ref(data))

    def named(event: str, data: str, summary: str) -> dict[str, Any]:
        return _message(event, summary, envelope({"type": "string", "const": event}, data))

    return {
        "hello": _message("hello", "The first message, where no header says who is asking", _ref("HelloMessage")),
        "move": _message("move", "A move", _ref("MoveMessage")),
        "socketSnapshot": named("snapshot", "MatchView", "The match as the viewer may see it"),
        "socketEvent": _message(
            "TYPE", "An event, named by its type",
            envelope({"type": "string", "enum": sorted(MATCH_TYPES)}, "EventView"),
        ),
        "socketKeepAlive": named("keep-alive", "KeepAlive", "Nothing new for 15 seconds"),
        "resync": named("resync", "KeepAlive", "The client was too slow; a new snapshot follows"),
        "answer": named("answer", "Answered", "A move was accepted"),
        "problem": named("problem", "Refused", "A message was refused"),
    }  # fmt: skip


_MATCH: Final = {"match_id": {"description": "The id of a match."}}
_CHANNELS: Final = {
    "matchStream": (
        "/v1/matches/{match_id}/stream", "http", _MATCH, "A match, for those who play or watch it.",
        ("matchSnapshot", "matchEvent", "keepAlive"),
    ),
    "tableStream": (
        "/v1/tables/{table_id}/stream", "http", {"table_id": {"description": "The id of a table."}},
        "A table: who sits down, what is set, which match it plays.", ("tableSnapshot", "tableChange", "keepAlive"),
    ),
    "boardStream": (
        "/v1/lobby/stream", "http", {}, "The board of public tables.",
        ("boardSnapshot", "boardTable", "boardGone", "keepAlive"),
    ),
    "matchSocket": (
        "/v1/matches/{match_id}/socket", "ws", _MATCH, "A match, with moves on the same connection.",
        ("hello", "move", "socketSnapshot", "socketEvent", "socketKeepAlive", "resync", "answer", "problem"),
    ),
}  # fmt: skip


def _channels() -> dict[str, Any]:
    return {
        name: {
            "address": address,
            "servers": [{"$ref": f"#/servers/{server}"}],
            "description": description,
            **({"parameters": parameters} if parameters else {}),
            "messages": {each: {"$ref": f"#/components/messages/{each}"} for each in messages},
        }
        for name, (address, server, parameters, description, messages) in _CHANNELS.items()
    }


def _operations() -> dict[str, Any]:
    def operation(action: str, channel: str, summary: str, *messages: str) -> dict[str, Any]:
        return {
            "action": action,
            "channel": {"$ref": f"#/channels/{channel}"},
            "summary": summary,
            "security": [{"$ref": "#/components/securitySchemes/token"}],
            "messages": [{"$ref": f"#/channels/{channel}/messages/{each}"} for each in messages],
        }

    def told(channel: str) -> tuple[str, ...]:
        return tuple(
            each for each in _CHANNELS[channel][4] if each not in ("hello", "move", "answer", "problem")
        )

    moves = operation("receive", "matchSocket", "Take a move", "move")
    moves["reply"] = {
        "channel": {"$ref": "#/channels/matchSocket"},
        "messages": [{"$ref": f"#/channels/matchSocket/messages/{each}"} for each in ("answer", "problem")],
    }
    return {
        "tellMatch": operation("send", "matchStream", "Tell a match", *told("matchStream")),
        "tellTable": operation("send", "tableStream", "Tell a table", *told("tableStream")),
        "tellBoard": operation("send", "boardStream", "Tell the board", *told("boardStream")),
        "greet": operation("receive", "matchSocket", "Learn who is asking", "hello"),
        "tellMatchOnSocket": operation("send", "matchSocket", "Tell a match", *told("matchSocket")),
        "takeMove": moves,
    }
