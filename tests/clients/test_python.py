"""A Python client generated from the committed documents: it type-checks strictly, and plays every game."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from services.engine.rules.catalogue import CATALOGUE
from tests.clients.running import run
from tests.support.up import ROOT, Up

pytestmark = pytest.mark.slow

PROGRAM = ROOT / "tests/clients/programs/every_game.py"
SERVICES = ("lobby", "engine", "projections")


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the packages ``macao_lobby``, ``macao_engine`` and ``macao_projections``, and the program."""
    place = tmp_path_factory.mktemp("generated")
    (place / "generator.yaml").write_text("post_hooks: []\n")
    for name in SERVICES:
        said = run(
            [
                *(sys.executable, "-P", "-m", "openapi_python_client", "generate", "--meta", "none"),
                *("--path", ROOT / f"openapi/{name}.json", "--output-path", f"macao_{name}"),
                *("--config", "generator.yaml"),
            ],
            place,
            os.environ,
        )
        # Lines of NDJSON are read with plain HTTP. Nothing else in the documents is beyond the generator.
        complaints = [line for line in said.splitlines() if line.startswith("WARNING")]
        assert all(
            line.startswith("WARNING parsing GET /v1/matches/{match_id}/record") for line in complaints
        ), said
        (place / f"macao_{name}" / "py.typed").touch()
    shutil.copy(PROGRAM, place)
    return place


def test_the_client_and_a_program_on_it_pass_the_strict_type_check(clients: Path) -> None:
    said = run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            ".types",
            *(f"macao_{name}" for name in SERVICES),
            PROGRAM.name,
        ],
        clients,
        os.environ,
    )
    assert said.startswith("Success: no issues found in ")


def test_the_types_say_something(clients: Path) -> None:
    (clients / "wrong.py").write_text(
        "from macao_engine.models import DiceRacePosition, MatchView, MoveRequest, StakeMove, StakeRange\n"
        "def play(view: MatchView) -> MoveRequest:\n"
        "    move = view.legal[0]\n"
        "    if isinstance(move, StakeRange):\n"
        "        return MoveRequest(move=move)\n"
        "    if isinstance(view.view, DiceRacePosition):\n"
        "        print(view.view.hand)\n"
        "    return MoveRequest(move=StakeMove(type_='stake', amount='1'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", ".types", "wrong.py"],
        cwd=clients, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert [line.rpartition("[")[2] for line in done.stdout.splitlines()[:-1]] == [
        "arg-type]",
        "attr-defined]",
        "arg-type]",
    ], done.stdout


def test_two_clients_play_a_match_of_every_game(clients: Path, up: Up, environment: dict[str, str]) -> None:
    ended = json.loads(run([sys.executable, PROGRAM.name, up.url], clients, environment))
    check_matches(ended, up.url)


def test_the_running_service_describes_itself_as_the_committed_documents_do(up: Up) -> None:
    shown = httpx.get(f"{up.url}/schema/openapi.json", timeout=30).json()
    committed = [json.loads((ROOT / f"openapi/{name}.json").read_text(encoding="utf-8")) for name in SERVICES]
    for kind in ("schemas", "responses", "headers", "securitySchemes"):
        together = {name: it for one in committed for name, it in one["components"].get(kind, {}).items()}
        assert set(shown["components"][kind]) == set(together)
    own = {path: operations for one in committed for path, operations in one["paths"].items()}
    assert set(shown["paths"]) == set(own)
    for path, operations in own.items():
        if path.startswith("/v1/"):
            for method, operation in operations.items():
                for part in ("operationId", "requestBody", "responses", "security"):
                    assert shown["paths"][path][method].get(part) == operation.get(part), (path, method, part)


def check_matches(ended: dict[str, dict[str, object]], server: str) -> None:
    """All games were played, each to an end that the record confirms."""
    assert set(ended) == {rules.name for rules in CATALOGUE.newest()}
    for game, match in ended.items():
        assert match["position"] == game
        record = httpx.get(f"{server}/v1/matches/{match['match']}/record", timeout=30).text.splitlines()
        assert json.loads(record[-1])["version"] == match["version"] == len(record) - 2
        end = next(json.loads(line) for line in record if '"type":"match-ended"' in line)
        assert json.loads(end["body"])["places"] == match["places"]
        assert 1 in match["places"]
        assert httpx.get(f"{server}/v1/matches/{match['match']}/audit", timeout=30).json()["sound"]
