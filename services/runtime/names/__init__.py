"""What players may be called, and when two names are the same name. Pure.

``letters.py`` the letters that a name may have; ``rules.py`` the rules; ``lookalikes.py`` the form in which
names that look alike are equal.
"""

from services.runtime.names.lookalikes import canonical
from services.runtime.names.rules import LENGTH_MAX, LENGTH_MIN, RULES, fault_of, made_fit, tidied

__all__ = ["LENGTH_MAX", "LENGTH_MIN", "RULES", "canonical", "fault_of", "made_fit", "tidied"]
