"""Every column that holds ciphertexts, of all services."""

from __future__ import annotations

from typing import Final

from services.engine.play.commitments import SEEDS
from services.runtime.rotating import RUNTIME_COLUMNS, Encrypted

ENCRYPTED: Final[tuple[Encrypted, ...]] = (*RUNTIME_COLUMNS, SEEDS)
