"""The type of a connection, whether it is on loan from the pool or somebody's own."""

from __future__ import annotations

from typing import Any, TypeAlias

from asyncpg import Connection
from asyncpg.pool import PoolConnectionProxy

# In quotes: only the type stubs know these classes as generic.
AnyConnection: TypeAlias = "Connection[Any] | PoolConnectionProxy[Any]"
