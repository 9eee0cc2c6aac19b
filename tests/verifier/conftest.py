"""The verifier in the other language, kept running for all tests here."""

from collections.abc import Iterator

import pytest

from tests.support.javascript import JavaScript


@pytest.fixture(scope="session")
def javascript() -> Iterator[JavaScript]:
    with JavaScript() as running:
        yield running
