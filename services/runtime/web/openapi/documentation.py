"""What a service adds to the documentation of its endpoints, beyond what its handlers say themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Example:
    """A request and its answer, as they were or could have been sent.

    Attributes:
        operation: the operation id that it belongs to.
        name: a key, unique within the operation, in kebab case.
        summary: what it shows, in a few words.
        request: the body of the request, None without one.
        answer: the body of the first answer that is not a problem, None where it has none or is not told.
    """

    operation: str
    name: str
    summary: str
    request: Any = None
    answer: Any = None


@dataclass(frozen=True, slots=True)
class Media:
    """Another form in which an operation answers: lines of JSON, server-sent events.

    Attributes:
        operation: the operation id.
        media_type: the form.
        description: what stands in it.
        example: what it looks like.
    """

    operation: str
    media_type: str
    description: str
    example: str


@dataclass(frozen=True, slots=True)
class Documentation:
    """What one service adds.

    Attributes:
        description: what the service is there for, in Markdown.
        tags: a description for each tag of its operations.
        unions: types for which fields of the wire refer to ``#/components/schemas/NAME``, by that name.
        names: what schemas are called that would not be understood by the name of their class.
        enums: what sets of values are called, wherever they stand.
        parameters: a description for each parameter in a path, by its name.
        patterns: the form of parameters in paths, by name.
        samples: a value for each parameter, by name.
        examples: by operation and name.
        media: further forms of answers.
    """

    description: str
    tags: Mapping[str, str]
    unions: Mapping[str, Any] = field(default_factory=dict[str, Any])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    enums: Mapping[str, Sequence[str | int]] = field(default_factory=dict[str, Sequence[str | int]])
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    patterns: Mapping[str, str] = field(default_factory=dict[str, str])
    samples: Mapping[str, Any] = field(default_factory=dict[str, Any])
    examples: Sequence[Example] = ()
    media: Sequence[Media] = ()
