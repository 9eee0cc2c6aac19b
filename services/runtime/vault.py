"""Encryption at rest under the one secret key of the installation (``MACAO_SECRET_KEY``).

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
_FORMAT: Final = b"\x01"


class VaultError(SettingsError):
    """The secret key is malformed, or is not the one that the data were encrypted with."""


class Vault:
    """Encrypts and decrypts small secrets with AES-256-GCM."""

    def __init__(self, secret_key: str, entropy: Entropy) -> None:
        """Take the key in base64url, with or without padding.

        Raises:
            VaultError: it is not 32 bytes in base64url.
        """
        try:
            root = base64.b64decode(
                secret_key.rstrip("=") + "=" * (-len(secret_key.rstrip("=")) % 4), b"-_", validate=True
            )
        except (binascii.Error, ValueError) as error:
            raise VaultError("MACAO_SECRET_KEY is not base64url") from error
        if len(root) != KEY_BYTES:
            raise VaultError(f"MACAO_SECRET_KEY holds {len(root)} bytes, {KEY_BYTES} are needed")
        self._root = root
        self._entropy = entropy
        self._ciphers: dict[str, AESGCM] = {}

    def encrypt(self, purpose: str, data: bytes, associated: bytes) -> bytes:
        """Return format byte, nonce and ciphertext."""
        nonce = self._entropy(NONCE_BYTES)
        return _FORMAT + nonce + self._cipher(purpose).encrypt(nonce, data, associated)

    def decrypt(self, purpose: str, encrypted: bytes, associated: bytes) -> bytes:
        """Return what was encrypted.

        Raises:
            VaultError: another key, another purpose, other associated data, or damaged bytes.
        """
        if encrypted[:1] != _FORMAT:
            raise VaultError(f"a {purpose} in the database has an unknown encryption format")
        nonce, sealed = encrypted[1 : 1 + NONCE_BYTES], encrypted[1 + NONCE_BYTES :]
        try:
            return self._cipher(purpose).decrypt(nonce, sealed, associated)
        except (InvalidTag, ValueError) as error:
            raise VaultError(
                f"a {purpose} in the database cannot be decrypted: MACAO_SECRET_KEY is not the key it was written with"
            ) from error

    def derive(self, purpose: str, about: str) -> bytes:
        """Return 32 bytes that only the holder of the key can compute, always the same for purpose and subject."""
        return hmac.digest(self._root, f"macao-derive/1\n{purpose}\n{about}".encode(), sha256)

    def _cipher(self, purpose: str) -> AESGCM:
        cipher = self._ciphers.get(purpose)
        if cipher is None:
            cipher = self._ciphers[purpose] = AESGCM(self.derive("encrypt", purpose))
        return cipher
