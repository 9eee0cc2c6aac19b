"""The signing keys: Ed25519, one for tokens and one for records, private halves encrypted at rest.

The table is where the keys are published: every process reads the public halves from there, again and again. A key that
is to follow appears a while before its time, so that all processes go over to it at the same moment, and whoever reads
the published keys has it before it signs anything. Keys that signed once stay, to verify with.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct
from msgspec.structs import replace

from services.contracts.ids import ENTROPY_BYTES, make_id
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.rotating import SECRETS, SIGNING_KEYS
from services.runtime.vault import Vault

Purpose = Literal["token", "record"]

PURPOSES: Final[tuple[Purpose, ...]] = ("token", "record")
RELOAD_SECONDS: Final = 5.0
"""How often at most an unknown key id sends us to the table; made-up ids must not cost a query each."""

LOOK_SECONDS: Final = 15.0
"""How often every process looks for keys that are to follow."""
LEAD_SECONDS: Final = 60.0
"""How long before its time a key is published: longer than a look takes to come round."""

LASTING_BYTES: Final = 64
LASTING: Final = "derivations"
"""The secret that everything derived follows from."""

_logger: Final = logging.getLogger(__name__)


class PublicKey(Struct, frozen=True):
    """The published half of a signing key.

    Attributes:
        id: names the key in tokens and records.
        purpose: what it may sign. A record's bytes are never taken for a token, nor the other way round.
        raw: the 32 bytes of the public key.
        since_ms: since when it signs, Unix time in milliseconds; perhaps still to come.
        until_ms: when the next one of its purpose takes over; None as long as there is none.
    """

    id: str
    purpose: Purpose
    raw: bytes
    since_ms: int
    until_ms: int | None = None


class Keyring:
    """Signs with the newest key of each purpose, and knows the public half of every key there ever was."""

    def __init__(self, database: Database, vault: Vault, clock: Clock, entropy: Entropy) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._entropy = entropy
        self._private: dict[Purpose, list[tuple[int, str, Ed25519PrivateKey]]] = {}
        self._public: dict[str, PublicKey] = {}
        self._verifiers: dict[str, Ed25519PublicKey] = {}
        self._reloaded_at = 0.0

    async def open(self) -> None:
        """Load the keys, and create those that are missing: once, however many processes start together.

        Raises:
            VaultError: the secret key is not the one that the keys were encrypted with.
        """
        async with self._database.pool.acquire() as connection, connection.transaction():
            await connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended('macao_runtime.signing_keys', 0))"
            )
            await self._load(connection)
            await self._open_lasting(connection)
            for purpose in PURPOSES:
                if purpose not in self._private:
                    await create_key(connection, self._vault, purpose, self._clock, self._entropy)
                    await self._load(connection)

    @contextlib.asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Learn of keys that are to follow, while open."""
        watcher = asyncio.create_task(self._watch(), name="keyring")
        try:
            yield
        finally:
            watcher.cancel()
            await asyncio.wait({watcher})

    def sign(self, purpose: Purpose, data: bytes) -> tuple[str, bytes]:
        """Return the id of the key that signed, and the signature of 64 bytes."""
        key_id, key = self.signer(purpose)
        return key_id, key.sign(data)

    def signer(self, purpose: Purpose) -> tuple[str, Ed25519PrivateKey]:
        """Return the key that signs for a purpose, and its id."""
        # Whatever the clocks of service and database make of it, somebody signs: the first key, if none has begun.
        now = self._clock.now_ms()
        known = self._private[purpose]
        _, key_id, key = next((one for one in reversed(known) if one[0] <= now), known[0])
        return key_id, key

    def public_keys(self) -> list[PublicKey]:
        """Return every published key, oldest first."""
        known = sorted(self._public.values(), key=lambda one: (one.since_ms, one.id))
        return [
            replace(
                one,
                until_ms=next(
                    (later.since_ms for later in known[at + 1 :] if later.purpose == one.purpose), None
                ),
            )
            for at, one in enumerate(known)
        ]

    async def verifier(self, purpose: Purpose, key_id: str) -> Ed25519PublicKey | None:
        """Return the public key of that id if it may sign for that purpose, else None."""
        if key_id not in self._public:
            await self._reload()
        known = self._public.get(key_id)
        if known is None or known.purpose != purpose:
            return None
        return self._verifiers[key_id]

    async def verify(self, purpose: Purpose, key_id: str, data: bytes, signature: bytes) -> bool:
        """Say whether the key of that id signed these bytes for that purpose."""
        key = await self.verifier(purpose, key_id)
        if key is None:
            return False
        try:
            key.verify(signature, data)
        except InvalidSignature:
            return False
        return True

    async def _reload(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._reloaded_at < RELOAD_SECONDS:
            return
        self._reloaded_at = now
        async with self._database.pool.acquire() as connection:
            await self._load(connection)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                async with self._database.pool.acquire() as connection:
                    await self._load(connection)
            except Exception as error:  # noqa: BLE001 - the database may be away for a while; looking goes on
                _logger.warning("the signing keys could not be looked at: %r", error)

    async def _open_lasting(self, connection: AnyConnection) -> None:
        """Give the vault the secret that everything derived follows from; draw it, the first time."""
        sealed = await connection.fetchval(
            "SELECT sealed FROM macao_runtime.secrets WHERE name = $1", LASTING
        )
        if sealed is None:
            # Where somebody was before there was such a secret, everything followed from the key itself.
            root = self._vault.oldest_root if self._private else self._entropy(LASTING_BYTES)
            sealed = self._vault.encrypt(SECRETS.purpose, root, LASTING.encode())
            await connection.execute(
                "INSERT INTO macao_runtime.secrets (name, sealed) VALUES ($1, $2)", LASTING, sealed
            )
        self._vault.lasting(self._vault.decrypt(SECRETS.purpose, sealed, LASTING.encode()))

    async def _load(self, connection: AnyConnection) -> None:
        rows = await connection.fetch(
            "SELECT kid, purpose, private_key, extract(epoch FROM created_at) AS since_seconds"
            " FROM macao_runtime.signing_keys ORDER BY created_at, kid"
        )
        for row in rows:
            key_id, purpose = row["kid"], row["purpose"]
            if key_id not in self._public:
                raw = self._vault.decrypt(SIGNING_KEYS.purpose, row["private_key"], key_id.encode())
                key = Ed25519PrivateKey.from_private_bytes(raw)
                self._take(key_id, purpose, key, int(row["since_seconds"] * 1000))

    def _take(self, key_id: str, purpose: Purpose, key: Ed25519PrivateKey, since_ms: int) -> None:
        self._public[key_id] = PublicKey(key_id, purpose, key.public_key().public_bytes_raw(), since_ms)
        self._verifiers[key_id] = key.public_key()
        known = self._private.setdefault(purpose, [])
        known.append((since_ms, key_id, key))
        known.sort(key=lambda one: one[:2])


async def create_key(
    connection: AnyConnection,
    vault: Vault,
    purpose: Purpose,
    clock: Clock,
    entropy: Entropy,
    lead_seconds: float = 0,
) -> str:
    """Make a key and publish it; it signs after so many seconds. Returns its id."""
    key_id = make_id("k", clock.now_ms(), entropy(ENTROPY_BYTES))
    key = Ed25519PrivateKey.from_private_bytes(entropy(32))
    await connection.execute(
        "INSERT INTO macao_runtime.signing_keys (kid, purpose, public_key, private_key, created_at)"
        " VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5))",
        key_id,
        purpose,
        key.public_key().public_bytes_raw(),
        vault.encrypt(SIGNING_KEYS.purpose, key.private_bytes_raw(), key_id.encode()),
        lead_seconds,
    )
    return key_id
