"""The README's first match, line for line as it stands there."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.up import ROOT, Up

pytestmark = pytest.mark.slow

BLOCK = re.compile(r"^```sh first match\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_first_match_of_the_readme(up: Up, tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(blocks) == 2
    for name in ("macao", "services", "requirements", "pyproject.toml", ".venv"):
        (tmp_path / name).symlink_to(ROOT / name)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(blocks)],
        cwd=tmp_path,
        env={**os.environ, "MACAO_SERVER": up.url},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = done.stdout
    assert re.search(r"^Sound: the record of m_\w+ \(dice-race@1\) is whole and true", said, re.MULTILINE), (
        said
    )
    assert '"rolled"' in said
    found = re.search(r"^Places: \[([12]), ([12])\]$", said, re.MULTILINE)
    assert found, said
    places = [int(place) for place in found.groups()]
    record = (tmp_path / "match.ndjson").read_text(encoding="utf-8")
    assert f'\\"places\\":[{places[0]},{places[1]}]' in record
    # The replay ends in the same standings: "1. Seat 0 …", "2. Seat 1 …".
    assert [f"{place}. Seat {seat}" for place, seat in sorted(zip(places, (0, 1), strict=True))] == [
        line[: len("1. Seat 0")] for line in said.splitlines()[-2:]
    ], said
