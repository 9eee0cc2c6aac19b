"""Fixtures for tests of the one-machine default."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.up import open_directory


@pytest.fixture
def home() -> Iterator[Path]:
    """A place for a home that does not exist yet."""
    with open_directory() as directory:
        yield directory / "home"
