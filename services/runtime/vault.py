"""Encryption at rest under the secret keys of the installation (``MACAO_SECRET_KEY``).

The first key encrypts, all of them decrypt: that is how a key is replaced while services run (``rotating.py``). Each
ciphertext names its key, by an id that follows from the key, so a missing one is told at once and by name.

Every use has a purpose, and a key of its own derived for it, so that what was encrypted for one use can
neither be read nor replayed in another. The associated data ties a ciphertext to its row.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from services.runtime.clock import Entropy
from services.runtime.settings import SettingsError

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
ID_BYTES: Final = 4
PREFIX_BYTES: Final = 1 + ID_BYTES
"""Format and key id: so many first bytes of a ciphertext say which key it needs."""

_NAMELESS: Final = b"\x01"
"""The format from before there were several keys: nonce and ciphertext, without the key's id."""
_FORMAT: Final = b"\x02"


class VaultError(SettingsError):
    """A secret key is malformed, or the one that data were encrypted with is not there; the message says what to do."""


class _Key:
    """One secret key, and what was derived from it so far."""

    def __init__(self, root: bytes) -> None:
        self.root: Final = root
        self.id: Final = hmac.digest(root, b"macao-key-id/1", sha256)[:ID_BYTES]
        self._ciphers: dict[str, AESGCM] = {}

    def cipher(self, purpose: str) -> AESGCM:
        cipher = self._ciphers.get(purpose)
        if cipher is None:
            cipher = self._ciphers[purpose] = AESGCM(_derived(self.root, "encrypt", purpose))
        return cipher


class Vault:
    """Encrypts and decrypts small secrets with AES-256-GCM."""

    def __init__(self, secret_keys: str, entropy: Entropy) -> None:
        """Take one key or several, with commas, each in base64url with or without padding; the first one encrypts.

        Raises:
            VaultError: one of them is not 32 bytes in base64url, or stands there twice.
        """
        given = [part.strip() for part in secret_keys.split(",")]
        keys = [_Key(_decoded(text, at if len(given) > 1 else 0)) for at, text in enumerate(given, 1)]
        self._keys = {key.id: key for key in keys}
        if len(self._keys) < len(keys):
            raise VaultError("MACAO_SECRET_KEY holds the same key twice")
        self._first = keys[0]
        self._lasting = keys[0].root
        self._entropy = entropy

    @property
    def key_ids(self) -> tuple[str, ...]:
        """The ids of the keys, in hex, the one that encrypts first. They tell nothing of the keys."""
        return tuple(key.hex() for key in self._keys)

    @property
    def oldest_root(self) -> bytes:
        """The last of the keys: what a secret followed from before there were several."""
        return list(self._keys.values())[-1].root

    def encrypt(self, purpose: str, data: bytes, associated: bytes) -> bytes:
        """Return format byte, key id, nonce and ciphertext."""
        nonce = self._entropy(NONCE_BYTES)
        return _FORMAT + self._first.id + nonce + self._first.cipher(purpose).encrypt(nonce, data, associated)

    def decrypt(self, purpose: str, encrypted: bytes, associated: bytes) -> bytes:
        """Return what was encrypted.

        Raises:
            VaultError: a key that is not here, another purpose, other associated data, or damaged bytes.
        """
        if encrypted[:1] == _NAMELESS:
            for key in self._keys.values():
                found = _opened(key, purpose, encrypted[1:], associated)
                if found is not None:
                    return found
            raise VaultError(
                f"a {purpose} in the database cannot be decrypted: the key it was written with is not in"
                f" MACAO_SECRET_KEY, which has {self._named()}. {_ADVICE}"
            )
        if encrypted[:1] != _FORMAT:
            raise VaultError(f"a {purpose} in the database has an unknown encryption format")
        self.check(encrypted, purpose)
        found = _opened(self._keys[encrypted[1:PREFIX_BYTES]], purpose, encrypted[PREFIX_BYTES:], associated)
        if found is None:
            raise VaultError(
                f"a {purpose} in the database cannot be decrypted: its bytes were changed or moved"
            )
        return found

    def check(self, encrypted: bytes, purpose: str) -> None:
        """See to it that the key that a ciphertext names is here; its first ``PREFIX_BYTES`` are enough.

        Raises:
            VaultError: it is not.
        """
        if encrypted[:1] == _FORMAT and encrypted[1:PREFIX_BYTES] not in self._keys:
            raise VaultError(
                f"a {purpose} in the database was encrypted with the key {encrypted[1:PREFIX_BYTES].hex()}, which is"
                f" not in MACAO_SECRET_KEY: that has {self._named()}. {_ADVICE}"
            )

    def is_current(self, encrypted: bytes) -> bool:
        """Say whether a ciphertext is one of the key that encrypts now."""
        return encrypted[:PREFIX_BYTES] == _FORMAT + self._first.id

    def lasting(self, root: bytes) -> None:
        """Derive from this secret from now on, which stays the same when keys are replaced."""
        self._lasting = root

    def derive(self, purpose: str, about: str) -> bytes:
        """Return 32 bytes that only the installation can compute, always the same for purpose and subject."""
        return _derived(self._lasting, purpose, about)

    def _named(self) -> str:
        return ", ".join(self.key_ids)


_ADVICE: Final = (
    "Put that key back, behind the first and a comma, and run macao keys rotate before it is taken out again"
)


def key_of(encrypted: bytes) -> str:
    """Return the id of the key that a ciphertext needs, in hex; empty where it does not name it."""
    return encrypted[1:PREFIX_BYTES].hex() if encrypted[:1] == _FORMAT else ""


def _decoded(text: str, number: int) -> bytes:
    which = f"the key number {number} in MACAO_SECRET_KEY" if number else "MACAO_SECRET_KEY"
    bare = text.rstrip("=")
    try:
        root = base64.b64decode(bare + "=" * (-len(bare) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise VaultError(f"{which} is not base64url: macao keys make makes a good one") from error
    if len(root) != KEY_BYTES:
        raise VaultError(
            f"{which} holds {len(root)} bytes, {KEY_BYTES} are needed: macao keys make makes a good one"
        )
    return root


def _opened(key: _Key, purpose: str, sealed: bytes, associated: bytes) -> bytes | None:
    try:
        return key.cipher(purpose).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
    except (InvalidTag, ValueError):
        return None


def _derived(root: bytes, purpose: str, about: str) -> bytes:
    return hmac.digest(root, f"macao-derive/1\n{purpose}\n{about}".encode(), sha256)
