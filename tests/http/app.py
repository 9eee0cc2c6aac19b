"""Apps for tests: composed as in production, over a real database, with a clock that a test can turn."""

import asyncio
import base64
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import httpx

from services.runtime.clock import SystemClock, system_entropy
from services.runtime.platform import Platform
from services.runtime.service import Factory
from services.runtime.settings import Settings
from services.runtime.web.app import App, create_app

SECRET_KEY = base64.urlsafe_b64encode(bytes(range(32))).decode()


class TurnableClock:
    """The real time, moved forward by as much as a test likes."""

    def __init__(self) -> None:
        self.forward_ms = 0

    def now_ms(self) -> int:
        return SystemClock().now_ms() + self.forward_ms


def settings_of(database: str, redis_url: str = "", **more: object) -> Settings:
    given: dict[str, object] = {"poll_seconds": 0.2, **more}
    return Settings(database_url=database, redis_url=redis_url, secret_key=SECRET_KEY, **given)


def app_of(settings: Settings, factories: Sequence[Factory], clock: TurnableClock | None = None) -> App:
    return create_app(settings, factories, platform=Platform(settings, clock=clock, entropy=system_entropy))


@asynccontextmanager
async def opened(app: App) -> AsyncIterator[App]:
    """Open the app in a task of its own: fixtures begin and end in different ones, which the app's lifespan cannot."""
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def live() -> None:
        try:
            async with app.lifespan():
                ready.set_result(None)
                await done.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
                return
            raise

    task = asyncio.create_task(live())
    await ready
    try:
        yield app
    finally:
        done.set()
        await task


@asynccontextmanager
async def client_of(app: App) -> AsyncIterator[httpx.AsyncClient]:
    """Open the app, and speak to it without a network."""
    async with opened(app):
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            yield client
