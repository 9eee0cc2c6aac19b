"""The signing keys: Ed25519, one for tokens and one for records, private halves encrypted at rest.

The table is where the keys are published: every process reads the public halves from there, and takes a
key that appeared since (another process rotated) when it first meets its id.
"""

from __future__ import annotations

import asyncio
from typing import Final, Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from services.contracts.ids import ENTROPY_BYTES, make_id
from services.runtime.clock import Clock, Entropy
from services.runtime.connection import AnyConnection
from services.runtime.database import Database
from services.runtime.vault import Vault

Purpose = Literal["token", "record"]

PURPOSES: Final[tuple[Purpose, ...]] = ("token", "record")
RELOAD_SECONDS: Final = 5.0
"""How often at most an unknown key id sends us to the table; made-up ids must not cost a query each."""

_VAULT_PURPOSE: Final = "signing key"


class PublicKey(Struct, frozen=True):
    """The published half of a signing key.

    Attributes:
        id: names the key in tokens and records.
        purpose: what it may sign. A record's bytes are never taken for a token, nor the other way round.
        raw: the 32 bytes of the public key.
        since_ms: since when it signs, Unix time in milliseconds: until the next one of its purpose, or still.
    """

    id: str
    purpose: Purpose
    raw: bytes
    since_ms: int


class Keyring:
    """Signs with the newest key of each purpose, and knows the public half of every key there ever was."""

    def __init__(self, database: Database, vault: Vault, clock: Clock, entropy: Entropy) -> None:
        self._database = database
        self._vault = vault
        self._clock = clock
        self._entropy = entropy
        self._private: dict[Purpose, tuple[str, Ed25519PrivateKey]] = {}
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
            for purpose in PURPOSES:
                if purpose not in self._private:
                    await self._create(connection, purpose)

    def sign(self, purpose: Purpose, data: bytes) -> tuple[str, bytes]:
        """Return the id of the key that signed, and the signature of 64 bytes."""
        key_id, key = self._private[purpose]
        return key_id, key.sign(data)

    def signer(self, purpose: Purpose) -> tuple[str, Ed25519PrivateKey]:
        """Return the key that signs for a purpose, and its id."""
        return self._private[purpose]

    def public_keys(self) -> list[PublicKey]:
        """Return every published key, oldest first."""
        return list(self._public.values())

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

    async def _load(self, connection: AnyConnection) -> None:
        rows = await connection.fetch(
            "SELECT kid, purpose, private_key, extract(epoch FROM created_at) AS since_seconds"
            " FROM macao_runtime.signing_keys ORDER BY created_at, kid"
        )
        for row in rows:
            key_id, purpose = row["kid"], row["purpose"]
            if key_id not in self._public:
                raw = self._vault.decrypt(_VAULT_PURPOSE, row["private_key"], key_id.encode())
                key = Ed25519PrivateKey.from_private_bytes(raw)
                self._take(key_id, purpose, key, int(row["since_seconds"] * 1000))

    async def _create(self, connection: AnyConnection, purpose: Purpose) -> None:
        key_id = make_id("k", self._clock.now_ms(), self._entropy(ENTROPY_BYTES))
        key = Ed25519PrivateKey.from_private_bytes(self._entropy(32))
        since_seconds = await connection.fetchval(
            "INSERT INTO macao_runtime.signing_keys (kid, purpose, public_key, private_key) VALUES ($1, $2, $3, $4)"
            " RETURNING extract(epoch FROM created_at)",
            key_id,
            purpose,
            key.public_key().public_bytes_raw(),
            self._vault.encrypt(_VAULT_PURPOSE, key.private_bytes_raw(), key_id.encode()),
        )
        self._take(key_id, purpose, key, int(since_seconds * 1000))

    def _take(self, key_id: str, purpose: Purpose, key: Ed25519PrivateKey, since_ms: int) -> None:
        self._public[key_id] = PublicKey(key_id, purpose, key.public_key().public_bytes_raw(), since_ms)
        self._verifiers[key_id] = key.public_key()
        self._private[purpose] = (key_id, key)
