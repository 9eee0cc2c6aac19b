"""How many guests and sign-ins there may be, by whom."""

from __future__ import annotations

from hashlib import sha256
from typing import Self

from msgspec import Struct

from services.runtime.limits import Policy
from services.runtime.names import canonical
from services.runtime.settings import Settings


class PlayerLimits(Struct, frozen=True):
    """The policies of this installation.

    Attributes:
        guests: new guests of one address.
        logins: passwords tried by one address, or made into a hash for it: each costs us time and memory.
        names: passwords tried for one account. Signing in forgets what was counted: only failures add up.
    """

    guests: Policy
    logins: Policy
    names: Policy

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Read the settings."""
        return cls(
            Policy("guests", settings.guests_per_minute),
            Policy("logins", settings.logins_per_minute),
            Policy("names", settings.logins_per_name),
        )


def subject_of(name: str) -> str:
    """Return what attempts on a name are counted under: a hash, as people type passwords where names belong."""
    return sha256(canonical(name).encode("utf-8", "surrogatepass")).hexdigest()[:32]
