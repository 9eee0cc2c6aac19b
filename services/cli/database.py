"""The database that an operator's command works on."""

import os

from services.cli.advice import Advice
from services.cli.embedded.home import Home
from services.cli.places import default_home


def database_of(given: str | None) -> str:
    """Return the database's URL: as given, by the environment, or of the running ``macao up``.

    Raises:
        Advice: there is none to be found.
    """
    url = given or os.environ.get("MACAO_DATABASE_URL")
    if url:
        return url
    running = Home(default_home()).running()
    if running is None:
        raise Advice("say which database: --database URL, or MACAO_DATABASE_URL; or start macao up first")
    return running.database_url
