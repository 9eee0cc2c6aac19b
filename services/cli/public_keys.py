"""Public keys as people have them: a key set as the service publishes it, one key of it, PEM, or bare base64."""

import binascii
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from msgspec import Struct

KEY_BYTES: Final = 32


class UnusableKeyError(Exception):
    """What was given holds no Ed25519 public key."""


class WebKey(Struct):
    """A key of a JSON Web Key Set (RFC 8037)."""

    x: str
    kid: str = ""
    kty: str = "OKP"
    crv: str = "Ed25519"
    macao_purpose: str = "record"


class WebKeySet(Struct):
    """A JSON Web Key Set (RFC 7517)."""

    keys: list[WebKey]


def read_keys(given: str, key_id: str) -> Mapping[str, bytes]:
    """Return public keys by id, from the path of a file or from base64; a key without an id counts as ``key_id``.

    Raises:
        UnusableKeyError: neither holds an Ed25519 public key.
    """
    try:
        path = Path(given)
        content = path.read_bytes() if path.is_file() else given.encode()
    except (OSError, ValueError) as error:
        raise UnusableKeyError(f"the key cannot be read: {error}") from error
    return keys_in(content, key_id)


def keys_in(content: bytes, key_id: str) -> Mapping[str, bytes]:
    """Return the public keys that a file or an answer of the service holds; see ``read_keys``.

    Raises:
        UnusableKeyError: it holds none.
    """
    keys = _read(content.strip(), key_id)
    if not keys or any(len(key) != KEY_BYTES for key in keys.values()):
        raise UnusableKeyError(
            "the key is none: give a file with a JSON Web Key (Set) or PEM, or the 32 bytes of the key in base64url"
        )
    return keys


def _read(content: bytes, key_id: str) -> Mapping[str, bytes]:
    try:
        if content.startswith(b"-----BEGIN"):
            key = load_pem_public_key(content)
            return {key_id: key.public_bytes_raw()} if isinstance(key, Ed25519PublicKey) else {}
        if content.startswith(b"{"):
            wanted = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
            one = "x" in wanted
            web_keys = [msgspec.json.decode(content, type=WebKey)] if one else _key_set(content)
            return {
                key.kid or key_id: _from_base64(key.x)
                for key in web_keys
                if (key.kty, key.crv, key.macao_purpose) == ("OKP", "Ed25519", "record")
            }
        return {key_id: _from_base64(content.decode("ascii"))}
    except (ValueError, msgspec.MsgspecError, UnsupportedAlgorithm, RecursionError):
        return {}


def _key_set(content: bytes) -> list[WebKey]:
    return msgspec.json.decode(content, type=WebKeySet).keys


def _from_base64(text: str) -> bytes:
    """Read base64 in either alphabet, padded or not."""
    try:
        return urlsafe_b64decode(
            text.replace("+", "-").replace("/", "_").rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
        )
    except binascii.Error:
        return b""
