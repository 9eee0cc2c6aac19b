"""One Valkey server. It keeps nothing on disk: what is in it can be thrown away."""

import signal
import socket
from collections.abc import Sequence

from services.cli.embedded.ports import LOOPBACK
from services.cli.embedded.programs import Program, find_valkey
from services.cli.embedded.server import EmbeddedServer


class EmbeddedValkey(EmbeddedServer):
    """A Valkey (or Redis) server on a loopback port, with a password, without persistence."""

    name = "Valkey"
    process_names = ("valkey-server", "redis-server")
    parting_signal = signal.SIGTERM
    stop_steps = ((signal.SIGTERM, 5.0),)
    start_seconds_max = 15.0

    @property
    def url(self) -> str:
        """The URL of its database 0."""
        return f"redis://:{self._password}@{LOOPBACK}:{self.port}/0"

    def _find(self) -> Program:
        return find_valkey()

    def _prepare(self) -> None:
        self.stop_leftovers()

    def _command(self) -> Sequence[str]:
        return [str(self._executable), "-"]

    def _standard_input(self) -> bytes:
        """Return the whole configuration; by this way the password stands in no list of processes."""
        lines = (
            f"bind {LOOPBACK}",
            f"port {self.port}",
            f"requirepass {self._password}",
            "dir /",
            'save ""',
            "appendonly no",
            "maxmemory 256mb",
            "maxmemory-policy allkeys-lru",
            "maxclients 1000",
            "loglevel notice",
            "daemonize no",
            # A title gets no more room than arguments and environment had: the mark goes first.
            f'proc-title-template "{self.process_names[0]} {self._mark} {{listen-addr}}"',
        )
        return "\n".join(lines).encode() + b"\n"

    def _serves(self, pid: int) -> bool:  # noqa: ARG002 - the password shows that it is ours
        """Authenticate."""
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as connection:
                connection.sendall(f"AUTH {self._password}\r\n".encode())
                return connection.recv(16).startswith(b"+OK")
        except OSError:
            return False
