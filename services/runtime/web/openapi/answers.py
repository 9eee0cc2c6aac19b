"""What every answer may carry: headers, and problems with an example of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from services.contracts.problems import PROBLEMS, RULE_PROBLEMS
from services.runtime.web.problems import MEDIA_TYPE, TYPE_PREFIX, ProblemDocument

PROBLEM: Final = {"$ref": "#/components/schemas/Problem"}

SHARED: Final[Mapping[int, tuple[str, tuple[str, ...]]]] = {
    429: ("RateLimited", ("rate-limited",)),
    500: ("InternalError", ("internal-error",)),
    503: ("Unavailable", ("unavailable",)),
}
"""Answers that any operation may give, by status: their name among the components, and their codes."""

HEADERS: Final[Mapping[str, dict[str, Any]]] = {
    "X-Request-Id": {
        "description": "Names the request in the service's logs: the client's own id where it sent a sane one.",
        "schema": {"type": "string", "minLength": 8, "maxLength": 64},
        "example": "r_01KB9YQ3V7T2M4N5P6R7S8T9VW-42",
    },
    "ETag": {
        "description": "The version, in quotes; of a list or a page a hash of it.",
        "schema": {"type": "string", "pattern": '^"[0-9a-f]+"$'},
        "example": '"12"',
    },
    "Cache-Control": {
        "description": "Who may keep the answer, and how long.",
        "schema": {"type": "string"},
        "example": "private, no-cache",
    },
    "Location": {
        "description": "The path of what was made.",
        "schema": {"type": "string"},
        "example": "/v1/tables/t_01KB9YQ3V7T2M4N5P6R7S8T9VW",
    },
    "Idempotent-Replayed": {
        "description": "`true` where this repeats the first answer to a retried request; absent otherwise.",
        "schema": {"type": "string", "const": "true"},
    },
    "RateLimit-Policy": {
        "description": "Each limit that holds: its name, its quota `q`, and its window `w` in seconds.",
        "schema": {"type": "string"},
        "example": '"requests";q=6000;w=60',
    },
    "RateLimit": {
        "description": "What is left: `r` requests now, the whole quota again in `t` seconds.",
        "schema": {"type": "string"},
        "example": '"requests";r=5999;t=1',
    },
    "Retry-After": {
        "description": "Seconds to wait.",
        "schema": {"type": "string", "pattern": "^[0-9]+$"},
        "example": "1",
    },
    "WWW-Authenticate": {
        "description": "How to authenticate.",
        "schema": {"type": "string"},
        "example": 'Bearer realm="macao"',
    },
    "Allow": {
        "description": "The methods that are offered here.",
        "schema": {"type": "string"},
        "example": "GET",
    },
    "Content-Disposition": {
        "description": "A name to save it under.",
        "schema": {"type": "string"},
        "example": 'attachment; filename="m_01KB9YQ3V7T2M4N5P6R7S8T9VW.ndjson"',
    },
}

_TURN: Final = [{"type": "roll"}, {"type": "stand"}]
_PARTICULARS: Final[Mapping[str, dict[str, Any]]] = {
    "malformed-request": {"detail": "Expected `int`, got `str` (at $.seats)", "params": {"at": "$.seats"}},
    "match-over": {"clause": "G9", "legal": []},
    "already-out": {"clause": "G14", "params": {"place": 3}, "legal": []},
    "not-your-turn": {"clause": "DR-2.1", "params": {"turn": 1}, "legal": []},
    "must-roll-first": {"clause": "DR-2.2", "legal": [{"type": "roll"}]},
    "move-not-offered": {"clause": "DB-2.1", "legal": _TURN},
    "stake-out-of-range": {
        "clause": "DB-2.2", "params": {"amount": 9, "min": 1, "max": 5},
        "legal": [{"type": "stake", "min": 1, "max": 5}],
    },
    "card-not-in-hand": {"clause": "CP-2.1", "params": {"card": "KH"}},
    "card-does-not-fit": {"clause": "CP-2.1", "params": {"card": "KH", "on": "7C"}},
    "cards-not-together": {"clause": "CP-5.1", "params": {"card": "8C"}},
    "suit-missing": {"clause": "CP-2.5", "params": {"card": "AS"}},
    "suit-not-offered": {"clause": "CP-2.2", "params": {"card": "7C"}},
    "draw-not-offered": {"clause": "CP-4.1", "params": {"penalty": 2}, "legal": [{"type": "take"}]},
    "already-drew": {"clause": "PT-2.3", "legal": [{"type": "pass"}]},
    "must-draw-first": {"clause": "PT-2.4"},
    "nothing-to-take": {"clause": "CP-4.1"},
    "nothing-to-sit-out": {"clause": "CP-2.3"},
    "call-not-owed": {"clause": "CP-6.5", "params": {"cards_left": 4}},
    "not-catchable": {"clause": "CP-6.2", "params": {"seat": 2}},
    "stale-version": {"params": {"version": 14}},
    "rate-limited": {
        "detail": "No more than 6000 within 60 s; the next may come in 1 s.",
        "params": {"policy": "requests", "retry_seconds": 1},
    },
    "name-invalid": {"detail": "The name is too long.", "params": {"rule": "length"}},
    "password-invalid": {"detail": "The password is too short.", "params": {"rule": "length"}},
    "unknown-game": {"params": {"game": "dice-raze"}},
    "options-invalid": {"clause": "DR-1.3", "params": {"option": "chips_to_win", "reason": "Expected `int` <= 20"}},
    "unauthenticated": {"detail": "The token has expired."},
    "unavailable": {"detail": "Not everything that is needed answers."},
}  # fmt: skip
"""What stands in the example of a problem besides what the catalogue says."""


def header_refs(*names: str) -> dict[str, Any]:
    """Return headers of an answer, by reference."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def problem_headers(status: int) -> dict[str, Any]:
    """Return the headers that problems of a status come with."""
    more = {
        401: ("WWW-Authenticate",),
        405: ("Allow",),
        409: ("Retry-After",),
        412: ("ETag",),
        429: ("Retry-After",),
        503: ("Retry-After",),
    }
    return header_refs("X-Request-Id", "RateLimit", "RateLimit-Policy", *more.get(status, ()))


def refusal(status: int, codes: Iterable[str], instance: str) -> dict[str, Any]:
    """Return the documentation of one status of refusals."""
    codes = list(dict.fromkeys(codes))
    return {
        "description": "\n".join(
            f"- `{code}`: {PROBLEMS[code].title}. {PROBLEMS[code].advice}" for code in codes
        ),
        "headers": problem_headers(status),
        "content": {
            MEDIA_TYPE: {
                "schema": PROBLEM,
                "examples": {
                    code: {"summary": PROBLEMS[code].title, "value": example(code, instance)}
                    for code in codes
                },
            }
        },
    }


def example(code: str, instance: str) -> dict[str, Any]:
    """Return a problem as it could stand in an answer."""
    kind = PROBLEMS[code]
    given: dict[str, Any] = {"detail": kind.title, **_PARTICULARS.get(code, {})}
    if code in RULE_PROBLEMS:
        given.setdefault("legal", [{"type": "draw"}])
    document = ProblemDocument(
        type=TYPE_PREFIX + code, title=kind.title, status=kind.status, code=code, advice=kind.advice,
        instance=instance, request_id="r_01KB9YQ3V7T2M4N5P6R7S8T9VW-42", **given,
    )  # fmt: skip
    built: dict[str, Any] = msgspec.to_builtins(document)
    return built


def shared_responses() -> dict[str, Any]:
    """Return the answers that any operation may give, for the document's components."""
    return {name: refusal(status, codes, "/v1/games") for status, (name, codes) in SHARED.items()}
