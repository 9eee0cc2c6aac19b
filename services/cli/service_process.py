"""The services as a child of ``macao up``, on a listening socket that the parent holds.

Because the socket stays open while the child is started again, a client that comes in between waits for a moment
and is not refused.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from services.cli.advice import Advice
from services.cli.embedded import process
from services.cli.embedded.bounded_log import BoundedLog
from services.cli.embedded.mark import mark_of
from services.cli.embedded.ports import LOOPBACK
from services.cli.places import ROOT

START_SECONDS_MAX: Final = 60.0
PROBE_SECONDS: Final = 1.0
STOP_STEPS: Final = ((signal.SIGTERM, 10.0),)


class ServiceProcess:
    """All services in one child process.

    Args:
        listener: the bound, listening socket.
        environment: returns the settings as environment variables; asked at every start.
        home: the directory whose data they work on; their log is kept there.
    """

    name = "service"

    def __init__(
        self, listener: socket.socket, environment: Callable[[], Mapping[str, str]], home: Path
    ) -> None:
        self.log = BoundedLog(home / "logs/service.log")
        self.last_environment: Mapping[str, str] = {}
        self._listener = listener
        self._environment = environment
        self._mark = _mark(home)
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The child's process id while it is started."""
        return self._child.pid if self._child else None

    def alive(self) -> bool:
        """Say whether the child runs."""
        return self._child is not None and self._child.poll() is None

    def start(self) -> None:
        """Start the services, and return when they are ready.

        Raises:
            Advice: they end, or are not ready in time.
        """
        log_size = self.log.size()
        self._spawn()
        deadline = time.monotonic() + START_SECONDS_MAX
        while self.alive() and time.monotonic() < deadline:
            if self._ready():
                return
            time.sleep(0.02)
        self.stop()
        raise Advice(f"The services do not start: {self.log.last_words(log_size)} (more in {self.log.path})")

    def restart(self) -> None:
        """Start the services again, without waiting for them: what they wait for may have died as well."""
        self.stop()
        self._spawn()

    def stop(self) -> None:
        """Stop the services; requests under way are finished."""
        if self._child is not None:
            process.stop(self._child, STOP_STEPS)
            self._child = None

    def _spawn(self) -> None:
        self.last_environment = self._environment()
        with self.log.open() as output:
            self._child = process.spawn(
                [
                    *(sys.executable, "-P", "-m", "services.cli", "serve", "all"),
                    *("--descriptor", str(self._listener.fileno()), "--mark", self._mark),
                ],
                output=output,
                environment={**os.environ, "PYTHONPATH": str(ROOT), **self.last_environment},
                parting_signal=signal.SIGTERM,
                keep_descriptors=[self._listener.fileno()],
            )

    def _ready(self) -> bool:
        connection = http.client.HTTPConnection(
            LOOPBACK, self._listener.getsockname()[1], timeout=PROBE_SECONDS
        )
        try:
            connection.request("GET", "/health/ready")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


def stop_leftover_services(home: Path) -> None:
    """Stop services that an earlier run from this home, which was killed, has left behind."""
    process.stop_leftovers(process.find_marked(f"--mark {_mark(home)}"), STOP_STEPS)


def _mark(home: Path) -> str:
    """Return a word that stands on the services' command line and tells them from those of another home."""
    return f"{mark_of(home)}-service"
