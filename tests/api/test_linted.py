"""The documents pass a linter with every rule of its strict set, without a warning."""

import json
import os
import subprocess
from pathlib import Path

import jsonschema_rs
import pytest

from tests.support.npm import node, packages
from tests.support.up import ROOT

LINTER = Path(__file__).parent / "linter"
DOCUMENTS = ("engine", "lobby", "projections", "asyncapi")


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_linter_has_nothing_to_say(name: str) -> None:
    command = packages(LINTER) / "@redocly/cli/bin/cli.js"
    path = ROOT / "openapi" / f"{name}.json"
    done = subprocess.run(
        [node(), command, "lint", "--config", LINTER / "redocly.yaml", "--format", "json", path],
        # It would tell its makers about each run, and ask them for newer versions.
        env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr
    found = json.loads(done.stdout)
    problems = [
        f"{problem['location'][0].get('pointer')}: {problem['ruleId']}: {problem['message']}"
        for problem in found["problems"]
    ]
    assert found["totals"] == {"errors": 0, "warnings": 0, "ignored": 0}, "\n".join(problems)
    assert done.returncode == 0, done.stderr


def test_the_schema_of_events_is_one() -> None:
    schema = json.loads((ROOT / "openapi/events.schema.json").read_text("utf-8"))
    jsonschema_rs.meta.validate(schema)
