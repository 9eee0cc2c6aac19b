"""The database that an operator's command works on."""

import os

from services.cli.advice import Advice
from services.cli.embedded.home import Home
from services.cli.places import default_home


def secret_key() -> str:
    """Return the key that encrypts seeds and signing keys: by the environment, or of the running ``macao up``.

    Raises:
        Advice: there is none to be found.
    """
    key = os.environ.get("MACAO_SECRET_KEY")
    if key:
        return key
    running = Home(default_home()).running()
    if running is None:
        raise Advice("MACAO_SECRET_KEY is not set: it is needed to sign")
    return running.secret_key


def database_of(given: str | None) -> str:
    """Return the database's URL: as given, by the environment, or of the running ``macao up``.

    Where the services go through a pooler, it is that which leads past it.

    Raises:
        Advice: there is none to be found.
    """
    url = given or os.environ.get("MACAO_DATABASE_DIRECT_URL") or os.environ.get("MACAO_DATABASE_URL")
    if url:
        return url
    running = Home(default_home()).running()
    if running is None:
        raise Advice("say which database: --database URL, or MACAO_DATABASE_URL; or start macao up first")
    return running.database_url
