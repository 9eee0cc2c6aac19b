"""``python -m tests.fuzz``: every target for some time, guided by coverage; or one input again, by ``--again FILE``.

Atheris comes into an environment of its own. What was found worth keeping stays in the user's cache, so that the next
run goes on from there.
"""
# ruff: noqa: T201 - it talks to a person

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from hashlib import sha256
from pathlib import Path
from typing import Final

from bench.installing import NotToBeHadError, cache, python_with
from tests.fuzz.targets import TARGETS, good
from tests.support.tree import ROOT

PINS: Final = Path(__file__).parent / "atheris.txt"
INPUT_BYTES_MAX: Final = 100_000
MEMORY_MB_MAX: Final = 2_048
INPUT_SECONDS_MAX: Final = 20


def main() -> int:
    """Run what was asked for; 1 if a target failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="for all targets together")
    parser.add_argument("--targets", nargs="+", default=sorted(TARGETS), choices=sorted(TARGETS))
    parser.add_argument("--again", type=Path, help="one input, for the one target that is named")
    given = parser.parse_args()
    if given.again is not None:
        if len(given.targets) != 1:
            parser.error("--again takes one target: name it with --targets")
        TARGETS[given.targets[0]](given.again.read_bytes())
        return 0
    try:
        python = python_with(PINS)
    except NotToBeHadError as error:
        print(
            f"atheris is not to be had here ({error}); MACAO_FUZZ_INPUTS makes the tests in tests/fuzz long"
        )
        return 1
    failed = [name for name in given.targets if not _fuzz(python, name, given.seconds // len(given.targets))]
    print(f"failed: {', '.join(failed)}" if failed else "nothing was found")
    return 1 if failed else 0


def _fuzz(python: Path, name: str, seconds: int) -> bool:
    """Feed one target for so long; say whether it held."""
    place = cache() / "fuzz" / name
    corpus, found = place / "corpus", place / "found"
    for directory in (corpus, found):
        directory.mkdir(parents=True, exist_ok=True)
    for content in good(name):
        (corpus / sha256(content).hexdigest()).write_bytes(content)
    print(f"\n{name}, {seconds} s", flush=True)
    paths = [str(ROOT), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    done = subprocess.run(
        [
            str(python), "-P", "-m", "tests.fuzz.guided", name, str(corpus), f"-max_total_time={seconds}",
            f"-max_len={INPUT_BYTES_MAX}", f"-rss_limit_mb={MEMORY_MB_MAX}", f"-timeout={INPUT_SECONDS_MAX}",
            f"-artifact_prefix={found}{os.sep}", "-print_final_stats=1", "-verbosity=1",
        ],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, check=False,
        timeout=seconds * 2 + 300,
    )  # fmt: skip
    if done.returncode:
        print(f"{name} failed on an input in {found}: python -m tests.fuzz --targets {name} --again FILE")
    return not done.returncode


if __name__ == "__main__":
    sys.exit(main())
