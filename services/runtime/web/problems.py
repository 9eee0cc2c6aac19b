"""Problems (RFC 9457): every refusal of the API, whatever raised it, leaves in this one form."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from asyncpg import exceptions as postgres
from litestar import Response
from litestar.exceptions import HTTPException
from msgspec import Meta, Raw, Struct

from services.contracts.problems import PROBLEMS
from services.runtime.log.errors import AppendError, LogUnavailableError
from services.runtime.web.logs import TOLD

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "/problems/"
RETRY_SECONDS: Final = 1

_logger: Final = logging.getLogger("macao.web")
_encode: Final = msgspec.json.Encoder().encode


class ProblemDocument(Struct, frozen=True, omit_defaults=True):
    """The body of a refusal.

    Attributes:
        type: a URL reference that explains the code.
        title: the code in words, the same for every occurrence.
        status: the HTTP status.
        code: stable; clients may switch on it.
        detail: what was wrong this time.
        advice: what to do about it.
        instance: the path that was asked for.
        request_id: names the request in the service's logs.
        clause: the clause of the rules that forbids the move.
        params: values that belong to the refusal, for instance the range of a stake.
        legal: the moves that would have been legal.
    """

    type: str
    title: str
    status: int
    code: str
    detail: str
    advice: str
    instance: str
    request_id: str
    clause: str | None = None
    params: Mapping[str, Any] | None = None
    legal: Annotated[Any, Meta(extra_json_schema={"type": "array", "items": {}})] = None


class Problem(Exception):  # noqa: N818 - a refusal is the regular outcome of a request, not an error of ours
    """Raise it anywhere below a handler to refuse a request."""

    def __init__(
        self,
        code: str,
        detail: str = "",
        *,
        clause: str | None = None,
        params: Mapping[str, Any] | None = None,
        legal: Raw | list[Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.kind = PROBLEMS[code]
        self.detail = detail
        self.clause = clause
        self.params = params
        self.legal = legal
        self.headers = headers

    @property
    def code(self) -> str:
        """The code in the catalogue."""
        return self.kind.code


_BY_STATUS: Final[Mapping[int, str]] = {
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "body-too-large",
    415: "unsupported-media-type",
    429: "rate-limited",
    503: "unavailable",
}

_AWAY: Final = (
    LogUnavailableError,
    OSError,
    TimeoutError,
    postgres.PostgresConnectionError,
    postgres.OperatorInterventionError,
    postgres.InsufficientResourcesError,
    postgres.ReadOnlySQLTransactionError,
    postgres.InternalClientError,
    postgres.InterfaceError,
)
"""What it looks like when PostgreSQL or Redis is away, starting or stopping: a matter of trying again."""

_REFUSED_BY_LOG: Final = (
    "The log does not take this. Nothing was done, and nothing that was done before is lost;"
    " the operator has been told."
)


def response_of(problem: Problem, *, instance: str, request_id: str) -> Response[bytes]:
    """Return the response for a problem."""
    kind = problem.kind
    document = document_of_problem(problem, instance=instance, request_id=request_id)
    headers = dict(problem.headers or {})
    if kind.status == 401:  # noqa: PLR2004
        headers.setdefault("WWW-Authenticate", 'Bearer realm="macao"')
    elif kind.status in (429, 503):
        headers.setdefault("Retry-After", str(RETRY_SECONDS))
    headers.setdefault("Cache-Control", "no-store")
    return Response(_encode(document), status_code=kind.status, media_type=MEDIA_TYPE, headers=headers)


def document_of_problem(problem: Problem, *, instance: str, request_id: str) -> ProblemDocument:
    """Return what is told of a problem."""
    kind = problem.kind
    return ProblemDocument(
        type=TYPE_PREFIX + kind.code,
        title=kind.title,
        status=kind.status,
        code=kind.code,
        detail=problem.detail or kind.title,
        advice=kind.advice,
        instance=instance,
        request_id=request_id,
        clause=problem.clause,
        params=problem.params,
        legal=problem.legal,
    )


def problem_of(error: Exception, request_id: str) -> Problem:
    """Find the problem that an exception stands for; what is our own fault is logged, and its details stay here."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException) and error.status_code < 500:  # noqa: PLR2004
        return Problem(
            _BY_STATUS.get(error.status_code, "malformed-request"), _detail_of(error), headers=error.headers
        )
    if isinstance(error, postgres.DataError):
        # A number or a character that PostgreSQL cannot hold. The handler should have declared its bounds; but
        # it came from the client, and the client is to know.
        _logger.error(
            "a value reached the database unbounded", exc_info=error, extra={TOLD: {"request_id": request_id}}
        )
        return Problem("malformed-request", "A value is outside of what can be stored.")
    if isinstance(error, AppendError):
        # Mostly a partition that was taken out, or rights and triggers that somebody changed: for the operator to
        # mend (docs/operations.md#errorsanswered). The client's command is as good as before.
        _logger.error(
            "the log refuses to store what a request decided; run macao doctor",
            exc_info=error, extra={TOLD: {"request_id": request_id}},
        )  # fmt: skip
        return Problem("unavailable", _REFUSED_BY_LOG)
    if isinstance(error, _AWAY) or _BY_STATUS.get(getattr(error, "status_code", 0)) == "unavailable":
        _logger.warning(
            "something this request needs is away", exc_info=error, extra={TOLD: {"request_id": request_id}}
        )
        return Problem("unavailable")
    _logger.error(
        "a request failed by our own fault", exc_info=error, extra={TOLD: {"request_id": request_id}}
    )
    return Problem("internal-error")


def _detail_of(error: HTTPException) -> str:
    """Say in one line what Litestar found wrong with the parameters of a request."""
    found: list[str] = []
    for item in error.extra if isinstance(error.extra, list) else ():
        if not isinstance(item, dict):
            continue
        source, key, message = (
            getattr(item.get("source"), "value", item.get("source")),
            item.get("key"),
            item.get("message"),
        )
        if (source, key) == ("body", "data"):
            found.append("A JSON body is needed.")
        else:
            found.append(f"{source or 'parameter'} {key}: {message}" if key else str(message))
    return "; ".join(found) or (error.detail if error.status_code == 400 else "")  # noqa: PLR2004
