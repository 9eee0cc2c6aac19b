"""Base64url without padding, in the one form that records and checkpoints are written in."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode


def base64url(data: bytes) -> str:
    """Return bytes in base64url without padding."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64url(text: str) -> bytes:
    """Return the bytes of a base64url text without padding.

    Raises:
        ValueError: it is none, or one that other bits would spell as well.
    """
    data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if base64url(data) != text:
        raise ValueError("not base64url in its one form")
    return data
