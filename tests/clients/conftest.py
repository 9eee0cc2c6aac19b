"""One installation for all clients, with bots that do not pause."""

import os
from collections.abc import AsyncIterator

import pytest_asyncio

from tests.support.backends import Servers
from tests.support.databases import Databases
from tests.support.up import Up, open_directory


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def up(servers: Servers, databases: Databases) -> AsyncIterator[Up]:
    """``macao up`` in a home of its own: with its embedded servers, or on those of this run where they are others."""
    async with databases.fresh() as database:
        given = (
            ["--database", database, "--redis", servers.redis_url] if servers.backend != "embedded" else []
        )
        environment = {"MACAO_BOT_PACE_SECONDS": "0"}
        with (
            open_directory() as directory,
            Up(directory / "home", arguments=given, environment=environment) as running,
        ):
            yield running.wait_ready()


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def environment(up: Up) -> dict[str, str]:
    """The environment of a client's program: it finds the service, and no more of this project than a user has."""
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "MACAO_SERVER": up.url,
    }
