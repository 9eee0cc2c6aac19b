"""All documents, by the name of their file."""

from __future__ import annotations

from typing import Any

import msgspec

from services.cli.compose import APIS, factory_of
from services.cli.documents.events import events_schema
from services.cli.documents.streams import asyncapi
from services.runtime.web import openapi_of


def documents() -> dict[str, dict[str, Any]]:
    """Return the document of every service, the JSON Schema of every event, and the description of the streams."""
    found = {name: openapi_of(factory_of(name)) for name in APIS}
    found["events.schema"] = events_schema()
    found["asyncapi"] = asyncapi()
    # Defaults in the documents are values of ours; from here on they are plain JSON.
    return {name: msgspec.json.decode(msgspec.json.encode(document)) for name, document in found.items()}
