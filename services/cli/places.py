"""Where things are: the source tree, and the home of the one-machine default."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


def default_home() -> Path:
    """Return where ``macao up`` keeps its data unless it is told otherwise.

    For root that is a place which the servers' account can reach, and not root's own home.
    """
    given = os.environ.get("MACAO_HOME")
    if given:
        return Path(given)
    if os.geteuid() == 0:
        return Path("/var/lib/macao")
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data and Path(data).is_absolute() else Path.home() / ".local/share") / "macao"
