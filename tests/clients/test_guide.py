"""docs/guide.md, block by block as it stands, in an empty directory."""

import re
import sys
from pathlib import Path

import pytest

from tests.clients.running import run
from tests.support.up import ROOT

pytestmark = pytest.mark.slow

GUIDE = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?:sh|python) guide ?(?P<file>\S*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_guide_leads_to_a_playing_bot(environment: dict[str, str], tmp_path: Path) -> None:
    shell = []
    for block in BLOCK.finditer(GUIDE):
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["text"], encoding="utf-8")
        else:
            shell.append(block["text"])
    assert len(shell) == 9
    # Users have a python3 with httpx; here it is the one that runs the tests.
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "bin/python3").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{environment['PATH']}"
    said = run(["bash", "-euo", "pipefail", "-c", "\n".join(shell)], tmp_path, environment | {"PATH": path})
    assert "dice-race for 2 to 16" in said
    assert re.search(r"^Your match is m_\w+$", said, re.MULTILINE)
    assert '"type": "rolled"' in said
    assert "event: snapshot" in said
    assert "event: rolled" in said
    assert re.search("idempotent-replayed: true", said, re.IGNORECASE)
    assert '"code": "stale-version"' in said
    assert len(re.findall(r"^Place [12] of 2$", said, re.MULTILINE)) == 2


def test_every_block_that_could_run_is_run() -> None:
    fences = re.findall(r"^```(\S.*)$", GUIDE, re.MULTILINE)
    left_out = [fence for fence in fences if " guide" not in fence]
    assert left_out == ["sh"]  # the generators, which tests of their own run
