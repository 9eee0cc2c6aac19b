"""What the OpenAPI document says of every service alike, joined with what each service adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from services.contracts.problems import PROBLEMS
from services.runtime.service import Service
from services.runtime.web.openapi.documentation import Documentation, Example, Media

_CONVENTIONS: Final = """
**Conventions** (docs/api.md has them in full). JSON in snake_case; times are Unix milliseconds and end in `_ms`; ids
are opaque and begin with the letter of their kind (`p_`, `t_`, `m_`). Fields may be added to answers at any time:
ignore what you do not know. Requests are strict: an unknown field is refused.

**Refusals** are problems (RFC 9457) with a stable `code`; `type` leads to a page that explains it. **Writes** carry an
`Idempotency-Key`: repeat a request with the same key until it is answered. **Lists** answer `items` and `next`, the
cursor of the page behind. **Streams** are server-sent events that continue after `Last-Event-ID`.
"""

_READY: Final = {"status": "ready", "checks": {"database": "ok"}}
_KEY: Final = {
    "kid": "k1", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "macao_purpose": "record",
    "macao_since_ms": 1_764_495_000_000,
    "macao_until_ms": None,
    "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig",
}  # fmt: skip

_EXAMPLES: Final = (
    Example("health_live", "alive", "It answers", answer={"status": "alive", "checks": {}}),
    Example("health_ready", "ready", "All is well", answer=_READY),
    Example("list_problems", "some", "The first two", answer=list(PROBLEMS.values())[:2]),
    Example("get_problem", "stale", "A move that came late", answer=PROBLEMS["stale-version"]),
    Example("get_keys", "one", "The key of records", answer={"keys": [_KEY]}),
)

_PAGES: Final = (
    Media("list_problems", "text/html", "With `Accept: text/html`: a page.", "<!doctype html>…"),
    Media("get_problem", "text/html", "With `Accept: text/html`: a page.", "<!doctype html>…"),
)


def documentation_of(services: Sequence[Service]) -> Documentation:
    """Return the documentation of services together, and of what every one of them has."""
    told = [service.documentation() for service in services if service.documentation is not None]
    tags: dict[str, str] = {}
    unions: dict[str, Any] = {}
    names: dict[str, str] = {}
    enums: dict[str, Sequence[str | int]] = {}
    parameters: dict[str, str] = {"code": "The `code` of a problem."}
    patterns: dict[str, str] = {"code": "^[a-z][a-z-]*$"}
    samples: dict[str, Any] = {"code": "stale-version"}
    for one in told:
        tags.update(one.tags)
        unions.update(one.unions)
        names.update(one.names)
        enums.update(one.enums)
        parameters.update(one.parameters)
        patterns.update(one.patterns)
        samples.update(one.samples)
    tags["health"] = "Is it alive, is it ready?"
    tags["reference"] = "What problems mean, and the public keys."
    return Documentation(
        description="\n\n".join(one.description.strip() for one in told) + "\n" + _CONVENTIONS,
        tags=tags,
        unions=unions,
        names=names,
        enums=enums,
        parameters=parameters,
        patterns=patterns,
        samples=samples,
        examples=[*(example for one in told for example in one.examples), *_EXAMPLES],
        media=[*(media for one in told for media in one.media), *_PAGES],
    )
