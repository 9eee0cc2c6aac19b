"""``macao openapi``: write the OpenAPI documents of the services."""

import argparse
import json
from pathlib import Path
from typing import Any, Final

from services.cli.places import ROOT

NAME: Final = "openapi"
HELP: Final = "write openapi/*.json from the code"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--to", type=Path, default=ROOT / "openapi", help="the directory to write to")


def run(args: argparse.Namespace) -> int:
    """Write one document a service."""
    args.to.mkdir(parents=True, exist_ok=True)
    for name, document in documents().items():
        path: Path = args.to / f"{name}.json"
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    return 0


def documents() -> dict[str, dict[str, Any]]:
    """Return the document of every service, and the JSON Schema of every event."""
    import msgspec

    from services.cli.compose import SERVICES, factory_of
    from services.contracts.events.catalogue import MatchFact, RatingFact, TableFact
    from services.runtime.web import openapi_of

    found = {name: openapi_of(factory_of(name)) for name in SERVICES}
    found["events.schema"] = msgspec.json.schema(MatchFact | TableFact | RatingFact)
    # Defaults in the documents are values of ours; from here on they are plain JSON.
    return {name: msgspec.json.decode(msgspec.json.encode(document)) for name, document in found.items()}
