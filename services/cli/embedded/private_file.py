"""Small files that only their owner may read: passwords and keys, made once and kept."""

import os
import secrets
from pathlib import Path


def kept_secret(path: Path) -> str:
    """Return the secret in ``path``; when there is none yet, draw 32 random bytes and keep them as base64url.

    The file appears whole or not at all: an interrupted start leaves no empty secret behind.
    """
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        write_private(path, secrets.token_urlsafe(32) + "\n")
        return path.read_text("ascii").strip()


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 in one step: readers see the old text or the new."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
