"""The README's first match, line for line as it stands there."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.up import ROOT, Up, open_directory

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"^```sh first match\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_first_match_of_the_readme() -> None:
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(blocks) == 2
    with open_directory() as directory, Up(directory / "home") as up:
        up.wait_ready()
        for name in ("macao", "services", "requirements", "pyproject.toml", ".venv"):
            (directory / name).symlink_to(ROOT / name)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
            cwd=directory,
            env={**os.environ, "MACAO_SERVER": up.url},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        said = done.stdout
        assert re.search(r"^Places: \[[12], [12]\]$", said, re.MULTILINE), said
        assert re.search(
            r"^Sound: the record of m_\w+ \(dice-race@1\) is whole and true", said, re.MULTILINE
        ), said
        assert '"rolled"' in said
        assert (directory / "match.ndjson").stat().st_size > 1000
        places = re.search(r"^Places: (\[.*\])$", said, re.MULTILINE)
        assert places
        _same_standings(directory / "match.ndjson", places[1], said)


def _same_standings(record: Path, places: str, said: str) -> None:
    """The record, the API and the replay end in the same standings."""
    assert f'\\"places\\":{places.replace(" ", "")}' in record.read_text()
    replayed = said[said.index("Sound:") :].splitlines()[-8:]
    winner = ["Anna", "Bela"][[int(place) for place in re.findall(r"\d", places)].index(1)]
    seat = ["Anna", "Bela"].index(winner)
    assert any(re.search(rf"\b1\b.*\bSeat {seat}\b", line, re.IGNORECASE) for line in replayed), "\n".join(
        replayed
    )
