"""The settings of the services for an operator's command: from the environment, or of the running ``macao up``."""

import os
from collections.abc import Mapping
from pathlib import Path

from services.cli.advice import Advice
from services.cli.embedded.home import Home
from services.cli.places import checkpoint_directory, default_home


def deployment(database: str | None) -> tuple[Mapping[str, str], Path | None, str]:
    """Return the settings as variables, and the home and the address of a running ``macao up``, if that is meant.

    Raises:
        Advice: neither is there.
    """
    given = dict(os.environ)
    if database:
        given["MACAO_DATABASE_URL"] = database
    if given.get("MACAO_DATABASE_URL"):
        return given, None, ""
    home = Home(default_home())
    running = home.running()
    if running is None:
        raise Advice(
            "say which deployment: set the variables that the services have; or start macao up first."
        )
    other = checkpoint_directory(home.directory, running.database_url)
    checkpoints = other if other.is_dir() else checkpoint_directory(home.directory, "")
    return (
        {
            **given, "MACAO_DATABASE_URL": running.database_url, "MACAO_REDIS_URL": running.redis_url,
            "MACAO_SECRET_KEY": running.secret_key, "MACAO_CHECKPOINT_DIRECTORY": str(checkpoints),
        },
        home.directory,
        running.url,
    )  # fmt: skip
