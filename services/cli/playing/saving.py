"""A match as a file: a record like any other, signed with a key that nobody keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from services.cli.advice import Advice
from services.cli.playing.table import Table
from services.engine.record import header_of, write_record

KEY_ID: Final = "thrown-away"


def check_free(path: Path) -> None:
    """See before the match that a file can be written after it, and would replace none.

    Raises:
        Advice: it cannot, or would.
    """
    if path.exists():
        raise Advice(f"{path} is there already: name another file with --save.")
    if not path.absolute().parent.is_dir():
        raise Advice(f"There is no directory {path.parent}: make it, or name another file with --save.")


def save(table: Table, path: Path) -> None:
    """Write the record of a match that is over.

    Raises:
        Advice: the file cannot be written.
    """
    key = Ed25519PrivateKey.generate()
    header = header_of(table.events[0], key_id=KEY_ID, public_key=key.public_key().public_bytes_raw())
    lines = write_record(header, table.events, lambda message: (KEY_ID, key.sign(message)))
    try:
        with path.open("xb") as file:
            file.writelines(lines)
    except OSError as error:
        raise Advice(f"{path} cannot be written ({error.strerror}): the match is lost.") from error
