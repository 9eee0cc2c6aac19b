"""The HTTP server: uvicorn with uvloop and httptools, which suits handlers that await the database."""

from __future__ import annotations

import errno
import gc
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import uvicorn

from services.runtime.settings import Settings
from services.runtime.web.app import App
from services.runtime.web.protocol import Protocol
from services.runtime.web.request import PLATFORM
from services.runtime.web.socket_protocol import SocketProtocol
from services.runtime.web.sockets import MESSAGE_BYTES_MAX

GRACE_SECONDS: Final = 5
COLLECT_EVERY: Final = (50_000, 20, 50)
"""Thresholds of the garbage collector. Requests leave next to no cycles behind, and each collection walks through
everything that lives, all matches in memory among it."""
BACKLOG: Final = 2048
PORT_MAX: Final = 65_535


class ListenError(Exception):
    """The address cannot be listened on; the message says what to do, in one line."""


def listen(host: str, port: int) -> socket.socket:
    """Bind the address before anything is started, so that a taken port costs nobody a wait.

    Raises:
        ListenError: the port is none, or is taken, or the address is not this machine's.
    """
    if not 0 <= port <= PORT_MAX:
        raise ListenError(f"{port} is no port: choose one between 1 and {PORT_MAX} with --port")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # From here on a client that comes before the app is ready waits for it, and is not refused.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ListenError(
                f"port {port} on {host} is taken: stop what listens there, or choose another with --port"
            ) from None
        if error.errno == errno.EACCES:
            raise ListenError(
                f"port {port} may not be used by this account: choose one above 1023 with --port"
            ) from None
        raise ListenError(f"cannot listen on {host} port {port}: {error.strerror}") from None
    listener.setblocking(False)
    return listener


class Server(uvicorn.Server):
    """Uvicorn's server; on its way out it first lets the open streams end, as it would wait for them."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on SIGINT and SIGTERM, at once on a second SIGINT.

        Uvicorn would raise the signal again afterwards, and so end the process before its owner has tidied up.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and take what is there by now, for good, out of the garbage collector's sight."""
        await super().startup(sockets)
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_EVERY)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then everything."""
        self._app.state[PLATFORM].stopping.set()
        await super().shutdown(sockets)


def server_of(app: App, settings: Settings) -> Server:
    """Return the server for an app; ``run([listener])`` serves until SIGINT or SIGTERM.

    Open streams then end at once; other requests have ``GRACE_SECONDS``. Whether it came to serve at all is
    told by ``started``.
    """
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=Protocol,
        ws=SocketProtocol,
        ws_max_size=MESSAGE_BYTES_MAX,
        ws_per_message_deflate=False,
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return Server(config, app)
