"""What every event struct is."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct


class Fact(Struct, frozen=True, tag_field="type", omit_defaults=False):
    """Something that happened. Subclasses set ``tag`` to the event's type, past tense, in kebab case.

    ``SCHEMA`` is the version of the shape, stored beside each event.
    """

    SCHEMA: ClassVar[int] = 1
