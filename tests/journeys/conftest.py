"""A whole installation for every journey, on the servers that this run of the tests uses."""

import os
from collections.abc import Iterator

import httpx
import pytest

from tests.support.backends import Servers
from tests.support.up import Up, open_directory


@pytest.fixture
def up(servers: Servers, database: str) -> Iterator[Up]:
    """``macao up`` in a home of its own: with its embedded servers, or on those of this run where they are others."""
    given = ["--database", database, "--redis", servers.redis_url] if servers.backend != "embedded" else []
    with (
        open_directory() as directory,
        Up(directory / "home", arguments=given, environment={"MACAO_LOG_LEVEL": "debug"}) as running,
    ):
        yield running.wait_ready()


@pytest.fixture
def own(request: pytest.FixtureRequest) -> Up | None:
    """The installation of this test; None where ``MACAO_TEST_SERVER`` names one that somebody else runs."""
    return None if "MACAO_TEST_SERVER" in os.environ else request.getfixturevalue("up")


@pytest.fixture
def server_url(own: Up | None) -> str:
    """The address of the service."""
    return os.environ["MACAO_TEST_SERVER"] if own is None else own.url


@pytest.fixture
def client(server_url: str) -> Iterator[httpx.Client]:
    """A client of it."""
    with httpx.Client(base_url=server_url, timeout=30) as client:
        yield client
