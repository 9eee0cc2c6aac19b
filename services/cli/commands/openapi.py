"""``macao openapi``: write the OpenAPI documents of the services."""

import argparse
import json
from pathlib import Path
from typing import Final

from services.cli.places import ROOT

NAME: Final = "openapi"
HELP: Final = "write openapi/*.json from the code"
PASSES_ON: Final = False


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--to", type=Path, default=ROOT / "openapi", help="the directory to write to")


def run(args: argparse.Namespace) -> int:
    """Write one document a service, and those of events and streams."""
    from services.cli.documents import documents

    args.to.mkdir(parents=True, exist_ok=True)
    for name, document in documents().items():
        path: Path = args.to / f"{name}.json"
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)
    return 0
