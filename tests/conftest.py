"""The fixtures that every test may ask for."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import pytest_asyncio
from hypothesis import settings as hypothesis_settings

from tests.support.backends import Backend, Servers
from tests.support.databases import Databases, migrated
from tests.support.documented import Watch

BACKEND = pytest.StashKey[Backend]()
ANNOUNCED = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[BACKEND] = Backend()
    # A red run must be about the change that it tests: the same examples every time. New ones are looked for
    # by the thorough run.
    hypothesis_settings.register_profile("steady", derandomize=True, database=None, deadline=None)
    if "not thorough" in config.option.markexpr:
        hypothesis_settings.load_profile("steady")


def pytest_report_header(config: pytest.Config) -> str:
    backend = config.stash[BACKEND]
    config.stash[ANNOUNCED] = backend.name
    return f"macao backend: {backend.name} ({backend.reason})"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    backend = config.stash[BACKEND]
    if backend.name != config.stash.get(ANNOUNCED, backend.name):
        terminalreporter.write_line(f"macao backend, after all: {backend.name} ({backend.reason})")


def pytest_unconfigure(config: pytest.Config) -> None:
    if BACKEND in config.stash:
        config.stash[BACKEND].close()


@pytest.fixture(scope="session", autouse=True)
def watch() -> Iterator[Watch]:
    """Holds every answer of the run against the OpenAPI documents."""
    from services.runtime.web.app import App

    watching = Watch()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(App, "__call__", watching.app_call(App.__call__))
        patch.setattr(
            httpx.AsyncClient, "send", watching.httpx_send(httpx.AsyncClient.send, asynchronous=True)
        )
        patch.setattr(httpx.Client, "send", watching.httpx_send(httpx.Client.send, asynchronous=False))
        yield watching


@pytest.fixture(autouse=True)
def answers_as_documented(watch: Watch) -> Iterator[None]:
    """Fails a test that was answered in a way that no document tells of."""
    yield
    faults = watch.taken()
    if faults:
        pytest.fail("not as documented:\n" + "\n".join(sorted(set(faults))[:20]), pytrace=False)


@pytest.fixture(scope="session")
def servers(request: pytest.FixtureRequest) -> Iterator[Servers]:
    """PostgreSQL and Redis, started when the first test needs them."""
    backend = request.config.stash[BACKEND]
    yield backend.servers()
    backend.close()


@pytest.fixture(scope="session")
def postgres_url(servers: Servers) -> str:
    """A URL with which databases can be made and dropped; most tests want ``database``."""
    return servers.postgres_url


@pytest.fixture(scope="session")
def redis_url(servers: Servers) -> str:
    """Redis or Valkey, shared by all tests of the run."""
    return servers.redis_url


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def databases(postgres_url: str) -> AsyncIterator[Databases]:
    """The maker of fresh databases, for tests that need several."""
    databases = Databases(postgres_url, migrated)
    await databases.make_template()
    yield databases
    await databases.drop_template()


@pytest_asyncio.fixture(loop_scope="session")
async def database(request: pytest.FixtureRequest, databases: Databases) -> AsyncIterator[str]:
    """The URL of a fresh, migrated, empty database; as a parameter, into how many partitions its events are cut."""
    async with databases.fresh(getattr(request, "param", None)) as url:
        yield url
