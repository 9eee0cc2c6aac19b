"""The installation of ``deploy/compose.yaml``, brought up once for the tests that look at it."""

import os
import shutil
import subprocess
from collections.abc import Iterator

import pytest

from tests.deploy.installation import Installation


def compose_command() -> list[str] | None:
    """Return how Compose is called here, or None where there is none or no engine answers."""
    if os.environ.get("MACAO_TEST_BACKEND") != "docker":
        return None
    for command in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(command[0])
            and subprocess.run([*command, "version"], capture_output=True, check=False).returncode == 0
        ):
            return command
    return None


@pytest.fixture(scope="session")
def compose() -> list[str]:
    """Say how Compose is called."""
    command = compose_command()
    if command is None:
        pytest.skip("needs a container engine: set MACAO_TEST_BACKEND=docker where one runs, with Compose")
    return command


@pytest.fixture(scope="module")
def installation(compose: list[str]) -> Iterator[Installation]:
    """PostgreSQL, Redis, every service twice and the proxy, from nothing; removed with its data afterwards."""
    with Installation(compose) as installation:
        yield installation
