"""Where things are: the source tree, and the home of the one-machine default."""

import os
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

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


def checkpoint_directory(home: Path, database_url: str) -> Path:
    """Return where the one-machine default keeps checkpoints outside its database.

    A home may be used with several databases, one after the other. Each has a log and a history of its own.

    Args:
        home: the home's directory.
        database_url: a database that is not the home's own, else empty.
    """
    if not database_url:
        return home / "checkpoints"
    url = urlsplit(database_url)
    place = f"{url.hostname}:{url.port or 5432}{url.path}"
    return home / f"checkpoints-{sha256(place.encode()).hexdigest()[:12]}"
