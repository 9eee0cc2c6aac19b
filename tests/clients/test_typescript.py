"""TypeScript clients generated from the committed documents: they pass ``tsc --strict``, and play every game."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.clients.node import LOCK, PROJECT, node, packages
from tests.clients.running import run
from tests.clients.test_python import SERVICES, check_matches
from tests.support.up import ROOT, Up

pytestmark = pytest.mark.slow

PROGRAM = ROOT / "tests/clients/programs/every_game.ts"


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """A directory with the types of each service, and the program on them."""
    place = tmp_path_factory.mktemp("generated")
    (place / "node_modules").symlink_to(packages())
    for name in SERVICES:
        generate(place, f"{name}.d.ts", str(ROOT / f"openapi/{name}.json"), environment)
    for file in (PROGRAM, PROJECT / "tsconfig.json", PROJECT / "package.json"):
        shutil.copy(file, place)
    return place


def generate(place: Path, name: str, document: str, environment: dict[str, str]) -> None:
    """Write the types of an OpenAPI document, in a file or at a URL."""
    generator = packages() / "openapi-typescript/bin/cli.js"
    run([node(), generator, document, "--default-non-nullable=false", "-o", name], place, environment)


def check_types(place: Path, environment: dict[str, str]) -> None:
    """Run the compiler over everything in a directory, as its ``tsconfig.json`` says: strictly."""
    run([node(), packages() / "typescript/bin/tsc", "-p", "."], place, environment)


def test_the_lock_file_pins_every_package_by_digest_and_names_no_registry() -> None:
    lock = json.loads(LOCK.read_text(encoding="utf-8"))
    pinned = {name: entry for name, entry in lock["packages"].items() if name}
    assert {"node_modules/openapi-fetch", "node_modules/typescript"} <= set(pinned)
    for name, entry in pinned.items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", entry["version"]), name
        assert entry["integrity"].startswith("sha512-"), name
        assert "resolved" not in entry, name
    asked = json.loads((PROJECT / "package.json").read_text(encoding="utf-8"))
    for name, version in (asked["dependencies"] | asked["devDependencies"]).items():
        assert pinned[f"node_modules/{name}"]["version"] == version


def test_the_types_and_a_program_on_them_compile(clients: Path, environment: dict[str, str]) -> None:
    # The program also holds lines that must not compile, each marked as such: types that say nothing are found out.
    assert "@ts-expect-error" in PROGRAM.read_text(encoding="utf-8")
    assert '"strict": true' in (PROJECT / "tsconfig.json").read_text(encoding="utf-8")
    check_types(clients, environment)


def test_two_clients_play_a_match_of_every_game(clients: Path, up: Up, environment: dict[str, str]) -> None:
    check_matches(json.loads(run([node(), PROGRAM.name, up.url], clients, environment)), up.url)
