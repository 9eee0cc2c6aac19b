"""``deploy/compose.yaml`` under a name and a port of its own, alone or with an override."""

import base64
import os
import subprocess
import time
from pathlib import Path
from typing import Final, Self
from uuid import uuid4

import httpx

from services.cli.embedded.ports import free_port
from tests.support.up import ROOT

DEPLOY: Final = ROOT / "deploy"
PATIENCE_SECONDS: Final = 90.0
COMMAND_SECONDS: Final = 300.0


class Installation:
    """What Compose runs, from ``up`` to ``down``.

    Args:
        command: how Compose is called.
        overrides: files of ``deploy/`` on top of ``compose.yaml``.
    """

    def __init__(self, command: list[str], *overrides: str) -> None:
        self._command = command
        self._files = [part for name in ("compose.yaml", *overrides) for part in ("-f", str(DEPLOY / name))]
        self._project = f"macao-test-{uuid4().hex[:8]}"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._environment = {
            **os.environ,
            "POSTGRES_PASSWORD": uuid4().hex,
            "MACAO_SERVICE_PASSWORD": uuid4().hex,
            "LOG_B_PASSWORD": uuid4().hex,
            "LOG_C_PASSWORD": uuid4().hex,
            "LOG_SERVICE_PASSWORD": uuid4().hex,
            "MACAO_SECRET_KEY": base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode(),
            "MACAO_PUBLIC_URL": self.url,
            "MACAO_PROXY_PORT": str(self.port),
            "MACAO_BOT_PACE_SECONDS": "0",
        }

    def __enter__(self) -> Self:
        try:
            self.run("up", "--build", "-d")
            self.wait_healthy()
        except BaseException as error:
            error.add_note(self.run("logs", "--tail", "30", check=False))
            self.run("down", "-v", "--timeout", "5", check=False)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.run("down", "-v", "--timeout", "5", check=False)

    def run(self, *arguments: str, check: bool = True) -> str:
        """Run Compose, and return what it printed."""
        done = subprocess.run(
            [*self._command, "-p", self._project, *self._files, *arguments],
            env=self._environment,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert not check or done.returncode == 0, f"{arguments}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def container(self, service: str) -> str:
        """Return the id of a service's container."""
        return self.run("ps", "-q", service).strip()

    def inspect(self, service: str, template: str) -> str:
        """Ask the engine about a service's container, in its template language."""
        return subprocess.run(
            ["docker", "inspect", "--format", template, self.container(service)],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        ).stdout.strip()

    def replace(self, service: str) -> None:
        """Stop a service's container, put a new one in its place, and wait until the proxy can use it."""
        self.run("up", "-d", "--no-deps", "--force-recreate", service)
        self.wait_healthy([service])
        # The proxy asks every half second.
        time.sleep(1.5)

    def wait_healthy(self, services: list[str] | None = None) -> None:
        """Wait until the health checks of the services, or of all, are content, and until the proxy leads there."""
        waited = services or [
            f"{kind}-{number}" for kind in ("engine", "lobby", "projections", "web") for number in (1, 2)
        ]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(self.inspect(service, "{{.State.Health.Status}}") != "healthy" for service in waited):
            assert time.monotonic() < deadline, self.run("ps")
            time.sleep(0.5)
        while not self.answers():
            assert time.monotonic() < deadline, self.run("ps")
            time.sleep(0.5)

    def answers(self) -> bool:
        """Say whether all services answer through the proxy."""
        try:
            return all(
                httpx.get(self.url + path, timeout=5).status_code == 200
                for path in ("/v1/games", "/v1/tables", "/v1/lobby", "/")
            )
        except httpx.TransportError:
            return False


def script(name: str) -> Path:
    """Return a file of ``deploy/``."""
    return ROOT / "deploy" / name
