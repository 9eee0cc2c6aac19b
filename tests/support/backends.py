"""The servers that the tests run against: PostgreSQL and Redis, by one order for everybody.

1. ``MACAO_TEST_DATABASE_URL`` and ``MACAO_TEST_REDIS_URL``: servers that somebody else runs;
2. Docker, by testcontainers, when an engine answers;
3. embedded, from the wheels.

``MACAO_TEST_BACKEND`` (``url``, ``docker`` or ``embedded``) insists on one of them.
"""

import gc
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import docker
import docker.errors
from msgspec import Struct

POSTGRES_IMAGE: Final = os.environ.get("MACAO_TEST_POSTGRES_IMAGE", "postgres:17")
REDIS_IMAGE: Final = os.environ.get("MACAO_TEST_REDIS_IMAGE", "redis:8")
ENGINE_PATIENCE_SECONDS: Final = 2
ENGINE_SOCKETS: Final = (Path("/var/run/docker.sock"), Path.home() / ".docker/run/docker.sock")


class BackendError(Exception):
    """No server can be had in the way that was asked for."""


class Servers(Struct, frozen=True):
    """What a test run uses.

    Attributes:
        backend: ``url``, ``docker`` or ``embedded``.
        postgres_url: a URL with which databases can be made and dropped.
        redis_url: a Redis that the tests have to themselves.
    """

    backend: str
    postgres_url: str
    redis_url: str


class Backend:
    """The servers of one run, started when a test first asks for them, and stopped at its end."""

    def __init__(self) -> None:
        self.name, self.reason = choose()
        self._stack = ExitStack()
        self._servers: Servers | None = None

    def servers(self) -> Servers:
        """Start the servers, or return those that run already."""
        if self._servers is None:
            try:
                self._start()
            except Exception as error:
                if self.name != "docker" or "MACAO_TEST_BACKEND" in os.environ:
                    raise
                self.name, self.reason = "embedded", f"Docker answers, but does not start: {error}"
                self._start()
        assert self._servers is not None
        return self._servers

    def _start(self) -> None:
        starters: dict[str, Callable[[ExitStack], Servers]] = {
            "url": _given,
            "docker": _docker,
            "embedded": _embedded,
        }
        with ExitStack() as started:
            self._servers = starters[self.name](started)
            self._stack = started.pop_all()

    def close(self) -> None:
        """Stop whatever was started."""
        self._stack.close()
        self._servers = None


def choose() -> tuple[str, str]:
    """Return the backend's name, and why it was chosen."""
    asked = os.environ.get("MACAO_TEST_BACKEND", "")
    if asked not in {"", "url", "docker", "embedded"}:
        raise BackendError(f"MACAO_TEST_BACKEND is {asked!r}; it may be url, docker or embedded")
    if asked:
        return asked, "MACAO_TEST_BACKEND asks for it"
    if os.environ.get("MACAO_TEST_DATABASE_URL") and os.environ.get("MACAO_TEST_REDIS_URL"):
        return "url", "MACAO_TEST_DATABASE_URL and MACAO_TEST_REDIS_URL are set"
    missing = _docker_misses()
    return ("embedded", missing) if missing else ("docker", "an engine answers and has the images")


def _docker_misses() -> str:
    """Return what keeps us from using Docker, or nothing. A hung engine must not hold up the tests."""
    if "DOCKER_HOST" not in os.environ and not any(path.exists() for path in ENGINE_SOCKETS):
        return "no Docker engine"
    with warnings.catch_warnings():
        # The client leaves its socket open when the engine does not answer; that is no fault of a test.
        warnings.simplefilter("ignore", ResourceWarning)
        missing = _docker_answers()
        gc.collect()
    return missing


def _docker_answers() -> str:
    try:
        client = docker.DockerClient.from_env(timeout=ENGINE_PATIENCE_SECONDS)
        try:
            client.ping()
            for image in (POSTGRES_IMAGE, REDIS_IMAGE):
                client.images.get(image)
        finally:
            client.close()
    except docker.errors.ImageNotFound:
        return f"the Docker engine has no {POSTGRES_IMAGE} or {REDIS_IMAGE}"
    except Exception as error:  # noqa: BLE001 - whatever it is, Docker is not to be had
        return f"no Docker engine answers: {type(error).__name__}"
    return ""


def _given(_stack: ExitStack) -> Servers:
    try:
        return Servers("url", os.environ["MACAO_TEST_DATABASE_URL"], os.environ["MACAO_TEST_REDIS_URL"])
    except KeyError as error:
        raise BackendError(f"MACAO_TEST_BACKEND=url needs {error.args[0]}") from error


def _docker(stack: ExitStack) -> Servers:
    from testcontainers.community.postgres import PostgresContainer
    from testcontainers.community.redis import RedisContainer

    postgres = stack.enter_context(PostgresContainer(POSTGRES_IMAGE, driver=None, dbname="macao"))
    redis = stack.enter_context(RedisContainer(REDIS_IMAGE))
    redis_url = f"redis://{redis.get_container_host_ip()}:{redis.get_exposed_port(6379)}/0"
    return Servers("docker", postgres.get_connection_url(), redis_url)


def _embedded(stack: ExitStack) -> Servers:
    from services.cli.embedded import EmbeddedPostgres, EmbeddedValkey

    directory = Path(tempfile.mkdtemp(prefix="macao-test-"))
    stack.callback(shutil.rmtree, directory, ignore_errors=True)
    directory.chmod(0o755)  # for root, the account that runs the servers has to get in
    postgres = stack.enter_context(EmbeddedPostgres(directory, throwaway=True))
    valkey = stack.enter_context(EmbeddedValkey(directory))
    return Servers("embedded", postgres.url, valkey.url)
