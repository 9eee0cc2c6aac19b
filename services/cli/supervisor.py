"""Starts parts in order, starts again what dies, and stops everything in reverse order."""

import time
from collections.abc import Callable
from typing import Final, Protocol

from services.cli.advice import Advice
from services.cli.embedded.bounded_log import BoundedLog

POLL_SECONDS: Final = 0.1
PAUSE_SECONDS_MIN: Final = 0.2
PAUSE_SECONDS_MAX: Final = 2.0
STEADY_SECONDS: Final = 10.0  # whoever lived as long as this died of something new


class Part(Protocol):
    """A child process to be kept alive."""

    @property
    def name(self) -> str:
        """What it is called when it is spoken of."""
        ...

    @property
    def log(self) -> BoundedLog:
        """What it says."""
        ...

    @property
    def pid(self) -> int | None:
        """Its process id while it is started."""
        ...

    def alive(self) -> bool:
        """Say whether it runs."""
        ...

    def start(self) -> None:
        """Start it, and return when it serves; Advice tells why it does not."""

    def restart(self) -> None:
        """Start it after its death."""

    def stop(self) -> None:
        """Stop it, if it runs."""


class Supervisor:
    """Keeps parts alive, from the main thread.

    Args:
        tell: takes a line for the person who watches.
        changed: called after a part was started again.
    """

    def __init__(self, tell: Callable[[str], None], changed: Callable[[Part], None]) -> None:
        self._tell = tell
        self._changed = changed
        self._watched: list[_Watched] = []

    def start(self, part: Part) -> None:
        """Start a part and watch it from now on.

        Raises:
            Advice: it does not start.
        """
        self._watched.append(_Watched(part))
        part.start()

    def watch(self, until: Callable[[], bool]) -> None:
        """Look after the parts until told to stop."""
        while not until():
            for watched in self._watched:
                if until():
                    return
                if not watched.part.alive():
                    self._revive(watched)
                watched.part.log.trim()
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """Stop everything, last started first."""
        while self._watched:
            self._watched.pop().part.stop()

    def _revive(self, watched: "_Watched") -> None:
        now = time.monotonic()
        if now < watched.not_before:
            return
        if now - watched.started > STEADY_SECONDS:
            watched.pause_seconds = PAUSE_SECONDS_MIN
        self._tell(f"{watched.part.name} died; starting it again")
        try:
            watched.part.restart()
            self._changed(watched.part)
        except (Advice, OSError) as reason:
            self._tell(str(reason))
        watched.started = time.monotonic()
        watched.not_before = watched.started + watched.pause_seconds
        watched.pause_seconds = min(2 * watched.pause_seconds, PAUSE_SECONDS_MAX)


class _Watched:
    """A part, and how patient we are with it."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.started = time.monotonic()
        self.not_before = 0.0
        self.pause_seconds = PAUSE_SECONDS_MIN
