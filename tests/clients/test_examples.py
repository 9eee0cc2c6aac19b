"""The examples do what their page says, against a running service."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.clients.node import PROJECT, node, packages
from tests.clients.running import SECONDS_MAX, run
from tests.clients.test_typescript import check_types, generate
from tests.support.bad_network import BadNetwork
from tests.support.up import ROOT, Up

pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"
SAID = re.compile(r"Playing (m_\w+)\nPlace (\d) of 2 in (\d+) events\n")


def check(said: str, up: Up, game: str) -> None:
    """What a bot says about its match is what the match says."""
    found = SAID.fullmatch(said)
    assert found, said
    match, place, version = found.groups()
    view = httpx.get(f"{up.url}/v1/matches/{match}", timeout=30).json()
    assert (view["game"], view["status"], view["version"]) == (game, "ended", int(version))
    assert view["places"][0] == int(place)


@pytest.mark.parametrize("game", ["dice-race", "dice-bank", "cards-bank", "cards-places"])
def test_the_python_bot_plays(game: str, up: Up, environment: dict[str, str], tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "bot.py", tmp_path)
    check(
        run([sys.executable, "bot.py", "--game", game, "--level", "casual"], tmp_path, environment), up, game
    )


def test_the_python_bot_is_typed(tmp_path: Path, environment: dict[str, str]) -> None:
    run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path, EXAMPLES / "bot.py"],
        tmp_path,
        environment,
    )


async def test_the_python_bot_plays_over_a_bad_network(up: Up, environment: dict[str, str]) -> None:
    async with BadNetwork("127.0.0.1", up.port, "an example") as network:
        over_it = environment | {"MACAO_SERVER": f"http://127.0.0.1:{network.port}"}
        said = await asyncio.to_thread(
            run, [sys.executable, "bot.py", "--game", "dice-bank"], EXAMPLES, over_it
        )
    check(said, up, "dice-bank")
    assert network.met.total() > 20


def test_the_python_bot_shows_why_it_was_refused(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "bot.py", "--game", "chess"],
        cwd=EXAMPLES, env=environment, capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "unknown-game: There is no such game GET /v1/games lists the games.\n"


@pytest.fixture(scope="module")
def typescript(tmp_path_factory: pytest.TempPathFactory, up: Up, environment: dict[str, str]) -> Path:
    """The TypeScript example with its packages, and types from the running service."""
    place = tmp_path_factory.mktemp("example") / "typescript"
    shutil.copytree(PROJECT, place, ignore=shutil.ignore_patterns("node_modules", "macao.d.ts"))
    (place / "node_modules").symlink_to(packages())
    generate(place, "macao.d.ts", f"{up.url}/schema/openapi.json", environment)
    return place


def test_the_typescript_bot_is_typed(typescript: Path, environment: dict[str, str]) -> None:
    script = json.loads((typescript / "package.json").read_text(encoding="utf-8"))["scripts"]["generate"]
    assert script.endswith("/schema/openapi.json --default-non-nullable=false -o macao.d.ts")
    check_types(typescript, environment)


@pytest.mark.parametrize("game", ["dice-race", "dice-bank", "cards-bank", "cards-places"])
def test_the_typescript_bot_plays(game: str, typescript: Path, up: Up, environment: dict[str, str]) -> None:
    check(run([node(), "bot.ts", game, "casual"], typescript, environment), up, game)


@pytest.fixture
def playing(environment: dict[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """A match that a bot is playing; its first line says which."""
    with subprocess.Popen(
        [sys.executable, "-u", "bot.py", "--game", "cards-places"],
        cwd=EXAMPLES, env=environment, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        yield process


def test_the_spectator_sees_everything_that_is_public(
    playing: "subprocess.Popen[str]", up: Up, environment: dict[str, str]
) -> None:
    assert playing.stdout is not None
    match = playing.stdout.readline().split()[1]
    told = run([node(), "spectator.mjs", match], EXAMPLES, environment).splitlines()
    events = [line.split(" ", 2) for line in told]
    assert events[0][1] == "snapshot"
    start = int(events[0][0])
    record = httpx.get(f"{up.url}/v1/matches/{match}/record", timeout=30).text.splitlines()
    lines = [json.loads(line) for line in record[1:-1]][start:]
    assert [(int(version), event) for version, event, _ in events[1:]] == [
        (line["version"], line["type"]) for line in lines
    ]
    assert [json.loads(data)["hash"] for _, _, data in events[1:]] == [line["hash"] for line in lines]


def test_the_spectator_is_thirty_lines_and_says_when_there_is_nothing(environment: dict[str, str]) -> None:
    assert len((EXAMPLES / "spectator.mjs").read_text(encoding="utf-8").splitlines()) <= 30
    assert "There is no such match" in run([node(), "spectator.mjs", "m_none"], EXAMPLES, environment)
