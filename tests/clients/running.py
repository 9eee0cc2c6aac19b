"""Programs of client authors, run as they run them."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS_MAX = 180


def run(command: Sequence[str | Path], cwd: Path, environment: Mapping[str, str]) -> str:
    """Run a program to its end, which has to be a good one; return what it said."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, f"{command}:\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    return done.stdout
