"""``macao up``: PostgreSQL, Valkey and the services on one machine, each a child of this process."""

import asyncio
import signal
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from asyncpg import InterfaceError, PostgresError

from services.cli.advice import Advice
from services.cli.embedded import EmbeddedPostgres, EmbeddedValkey
from services.cli.embedded.home import Home, Running
from services.cli.listener import listen
from services.cli.places import checkpoint_directory
from services.cli.report import Report
from services.cli.service_process import ServiceProcess, stop_leftover_services
from services.cli.supervisor import Part, Supervisor
from services.runtime.migrate import MigrationError, migrate


class OneMachine:
    """One run of ``macao up``.

    Args:
        home: where the data stay.
        port: where everything answers, on loopback.
        database_url: a PostgreSQL to use in place of the embedded one.
        redis_url: a Redis to use in place of the embedded one.
        report: tells the person who watches.
    """

    def __init__(
        self, home: Path, port: int, database_url: str | None, redis_url: str | None, report: Report
    ) -> None:
        self._home = Home(home)
        self._port = port
        self._database_url = database_url or ""
        self._redis_url = redis_url or ""
        self._postgres = None if database_url else EmbeddedPostgres(self._home.directory)
        self._valkey = None if redis_url else EmbeddedValkey(self._home.directory)
        self._report = report
        self._supervisor = Supervisor(report.event, self._revived)
        self._service: ServiceProcess | None = None
        self._asked_to_stop = False

    def run(self) -> int:
        """Start everything, keep it alive, and stop all of it on SIGINT, SIGTERM or SIGHUP.

        Raises:
            Advice: it cannot be started, and what to do.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as nohup wants it
            signal.signal(signal.SIGHUP, self._on_signal)
        started = time.monotonic()
        # The home first: somebody who starts twice wants to hear where it runs, and not that the port is taken.
        with self._home:
            stop_leftover_services(self._home.directory)
            with listen(self._port) as listener:
                try:
                    self._start(listener)
                    self._report.ready(self._url(), time.monotonic() - started)
                    self._supervisor.watch(lambda: self._asked_to_stop)
                    self._report.stopping()
                except OSError as error:
                    raise Advice(f"{error.filename or self._home.directory}: {error.strerror}.") from error
                finally:
                    self._supervisor.stop()
        self._report.stopped()
        return 0

    def _start(self, listener: socket.socket) -> None:
        if self._postgres is not None:
            self._start_part(self._postgres)
            self._report.server("PostgreSQL", self._postgres.version, str(self._home.directory))
        if self._valkey is not None:
            self._start_part(self._valkey)
            self._report.server("Valkey", self._valkey.version, "keeps nothing")
        self._migrate()
        self._service = ServiceProcess(listener, self._environment, self._home.directory)
        self._start_part(self._service)
        self._announce()

    def _start_part(self, part: Part) -> None:
        if self._asked_to_stop:
            raise KeyboardInterrupt
        self._supervisor.start(part)

    def _migrate(self) -> None:
        try:
            applied = asyncio.run(migrate(self._environment()["MACAO_DATABASE_URL"]))
        except MigrationError as error:
            raise Advice(str(error)) from error
        except (OSError, ValueError, PostgresError, InterfaceError) as error:
            raise Advice(
                f"The database cannot be used: {error}. Check the URL, and that it is running."
            ) from error
        self._report.migrated(len(applied))

    def _environment(self) -> Mapping[str, str]:
        """Return what the services are told; asked at every start, as a server may have had to change its port."""
        return {
            "MACAO_DATABASE_URL": self._postgres.url if self._postgres else self._database_url,
            "MACAO_REDIS_URL": self._valkey.url if self._valkey else self._redis_url,
            "MACAO_SECRET_KEY": self._home.secret_key(),
            "MACAO_PORT": str(self._port),
            "MACAO_CHECKPOINT_DIRECTORY": str(checkpoint_directory(self._home.directory, self._database_url)),
        }

    def _revived(self, part: Part) -> None:
        """After a part was started again: tell the services if it has moved, and everybody its new process id."""
        environment = self._environment()
        if (
            part is not self._service
            and self._service is not None
            and environment != self._service.last_environment
        ):
            self._service.restart()
        self._announce()

    def _announce(self) -> None:
        environment = self._environment()
        parts: list[Part | None] = [self._postgres, self._valkey, self._service]
        self._home.announce(
            Running(
                url=self._url(),
                database_url=environment["MACAO_DATABASE_URL"],
                redis_url=environment["MACAO_REDIS_URL"],
                secret_key=environment["MACAO_SECRET_KEY"],
                parts={part.name: part.pid for part in parts if part is not None and part.pid},
            )
        )

    def _url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Ask for an orderly end; whoever asks twice does not want to wait."""
        if self._asked_to_stop:
            raise KeyboardInterrupt
        self._asked_to_stop = True
