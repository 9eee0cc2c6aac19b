"""The service that a command talks to, and what it downloads from there."""

import os
from http import HTTPStatus
from typing import Final

import httpx
import msgspec
from msgspec import Struct

from services.cli.advice import Advice
from services.cli.embedded.home import Home
from services.cli.places import default_home

DEFAULT_SERVER: Final = "http://127.0.0.1:8000"
PATIENCE_SECONDS: Final = 60.0


class Problem(Struct):
    """What the service says when it says no (RFC 9457)."""

    title: str = ""
    detail: str = ""


def server_of(given: str | None) -> str:
    """Return the service's address: as given, by the environment, of the running home, or the default."""
    named = given or os.environ.get("MACAO_SERVER")
    if named:
        return named.rstrip("/")
    running = Home(default_home()).running()
    return running.url.rstrip("/") if running else DEFAULT_SERVER


def download_record(server: str, match: str) -> bytes:
    """Return the record of a finished match.

    Raises:
        Advice: there is none, or no service.
    """
    return _get(server, f"/v1/matches/{match}/record", f"record of {match}").content


def download_case(server: str, dispute: str, accept: str, token: str | None) -> str:
    """Return the case file of a dispute, in the form that is asked for.

    Raises:
        Advice: there is none, or no service.
    """
    headers = {"Accept": accept, **({"Authorization": f"Bearer {token}"} if token else {})}
    return _get(server, f"/v1/disputes/{dispute}/case", f"case file of {dispute}", headers).text


def _get(server: str, path: str, what: str, headers: dict[str, str] | None = None) -> httpx.Response:
    try:
        answer = httpx.get(f"{server}{path}", headers=headers, timeout=PATIENCE_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise Advice(
            f"{server} does not answer ({error}): start it with `macao up`, or name another with --server."
        ) from error
    if answer.status_code != HTTPStatus.OK:
        raise Advice(f"{server} has no {what}: {_reason(answer)}")
    return answer


def _reason(answer: httpx.Response) -> str:
    try:
        problem = msgspec.json.decode(answer.content, type=Problem)
    except msgspec.MsgspecError:
        problem = Problem()
    told = ": ".join(part for part in (problem.title, problem.detail) if part)
    return f"{told or answer.reason_phrase} ({answer.status_code})"
