"""The files of the source tree, as a clone would have them."""

import shutil
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def files() -> list[Path]:
    """Return every file that is tracked, or would be, relative to the root."""
    said = subprocess.run(
        [
            "git",
            "-c",
            f"safe.directory={ROOT}",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    listed = [Path(name) for name in said.stdout.decode().split("\0") if name]
    return sorted(path for path in listed if (ROOT / path).is_file())


def copy_to(directory: Path) -> None:
    """Make a clone's work tree, of the files as they are now."""
    for path in files():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / path, directory / path)
