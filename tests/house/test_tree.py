"""What must not stand in the repository."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.support import tree

CI: Final = Path(".ci/run")
# Escaped as they are, these patterns do not find themselves.
NEIGHBOUR: Final = re.compile(r"\.\./shared")
MACHINE_PATHS: Final = re.compile(r"(?<![\w.])/(work|root|home/[a-z]+|Users/[a-z]+)/")
REGISTRIES: Final = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.(org|com)")
TEXT_SIZE_MAX_BYTES: Final = 2_000_000


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in tree.files():
        content = (tree.ROOT / path).read_bytes()
        if b"\0" not in content and len(content) <= TEXT_SIZE_MAX_BYTES:
            found.append((path, content.decode()))
    return found


def test_only_ci_knows_of_the_place_beside_the_repository() -> None:
    assert [path for path, text in texts() if NEIGHBOUR.search(text) and path != CI] == []


@pytest.mark.parametrize("pattern", [MACHINE_PATHS, REGISTRIES], ids=["machine paths", "registries"])
def test_nothing_is_tied_to_one_machine(pattern: re.Pattern[str]) -> None:
    assert [f"{path}: {found[0]}" for path, text in texts() for found in pattern.finditer(text)] == []


def test_text_ends_in_one_line_feed() -> None:
    untidy = [
        path
        for path, text in texts()
        if text and (not text.endswith("\n") or text.endswith("\n\n") or "\r" in text)
    ]
    assert untidy == []


def test_locked_files_name_wheels_by_digest_and_no_place() -> None:
    for name in ("run", "dev", "bench"):
        lines = (tree.ROOT / f"requirements/{name}.txt").read_text().splitlines()
        assert all(
            re.match(r"[a-z0-9._-]+==\S+( ; .+)? \\$|    --hash=sha256:[0-9a-f]{64}( \\)?$", line)
            for line in lines
        )


def test_each_lock_contains_the_one_before() -> None:
    pins = {
        name: {
            line.partition(" ")[0]
            for line in (tree.ROOT / f"requirements/{name}.txt").read_text().splitlines()
            if "==" in line
        }
        for name in ("run", "dev", "bench")
    }
    assert pins["run"] <= pins["dev"] <= pins["bench"]
