"""JSON Schema of every event, in every version of its shape."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from services.contracts.events.catalogue import SHAPES
from services.runtime.web.openapi.schemas import REF, Schemas

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_DEFS: Final = "#/$defs/"


def events_schema() -> dict[str, Any]:
    """Return it: ``$defs`` has ``TYPE.SCHEMA`` for each (``rolled.1``), and the structs that stand in them."""
    shapes = list(SHAPES.items())
    schemas = Schemas((), [shape for _, shape in shapes], {}, {})
    named = {
        f"{kind}.{version}": ref for ((kind, version), _), ref in zip(shapes, schemas.answers, strict=True)
    }
    found = {
        "$schema": DIALECT,
        "title": "Events of Macao",
        "description": "The body of an event, as it is stored and sent. `TYPE.SCHEMA` under `$defs` is the shape of one"
        " type in one version; an envelope says which version it is in.",
        "oneOf": [{"$ref": f"{_DEFS}{name}"} for name in named],
        "$defs": {**named, **schemas.components},
    }
    moved: dict[str, Any] = msgspec.json.decode(
        msgspec.json.encode(found).replace(REF.encode(), _DEFS.encode())
    )
    return moved
