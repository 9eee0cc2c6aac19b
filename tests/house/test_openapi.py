"""The committed OpenAPI documents are those of the code."""

import json

import pytest

from services.cli.documents import documents
from tests.support.up import ROOT


@pytest.mark.parametrize("name", ["engine", "lobby", "projections", "events.schema", "asyncapi"])
def test_the_committed_document_is_current(name: str) -> None:
    committed = json.loads((ROOT / "openapi" / f"{name}.json").read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(documents()[name])), (
        "run ./macao openapi, and read the difference"
    )
