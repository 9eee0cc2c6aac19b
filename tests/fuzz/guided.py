"""One target under atheris, which looks for inputs that reach code that no input has reached.

``python -m tests.fuzz.guided TARGET CORPUS [libFuzzer's options]``, with a Python that has atheris and can import the
packages of the project; ``python -m tests.fuzz`` sees to that.
"""

from __future__ import annotations

import sys

import atheris  # type: ignore[import-not-found]

with atheris.instrument_imports(include=["services"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Feed the target until the time is up, or it fails."""
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
