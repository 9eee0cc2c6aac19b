"""Disputes: complaints about a match, their case files, and rulings."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from litestar import Response, get, post
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from services.contracts.ids import MATCH, is_id
from services.engine.disputes.case import CaseFile
from services.engine.disputes.cases import Cases
from services.engine.disputes.court import Court, Outcome
from services.engine.disputes.dispute import Dispute, State
from services.engine.disputes.report import markdown
from services.engine.http.playing import watched
from services.engine.play.live import Live
from services.engine.play.views import Watcher
from services.engine.rules.kernel import SPECTATOR
from services.runtime.web.authentication import needs
from services.runtime.web.bodies import Body
from services.runtime.web.idempotency import REPLAYED, command_id, key_of
from services.runtime.web.operations import ANSWER_HEADERS, Keyed
from services.runtime.web.problems import Problem
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals
from services.runtime.web.streams import VERSION_MAX

MARKDOWN: Final = "text/markdown"
MARKDOWN_UTF8: Final = "text/markdown; charset=utf-8"
PRIVATE: Final = {"Cache-Control": "private, no-cache", "Vary": "Accept, Authorization"}

_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")

REFUSED_KEY: Final = r'^("[A-Za-z0-9._:-]{1,128}"|[A-Za-z0-9._:-]{1,128})$'
"""An idempotency key, as it was sent."""

Text = Annotated[str, Meta(min_length=1, max_length=2000)]


class DisputeRequest(Body, frozen=True):
    """A complaint.

    Attributes:
        version: the event that it is about.
        complaint: what is wrong, in the player's own words. The log holds a seal over them: they can be erased.
        refused_key: the Idempotency-Key of an own command that was refused: then the complaint is about that refusal.
    """

    version: Annotated[int, Meta(ge=1, le=VERSION_MAX)]
    complaint: Text
    refused_key: Annotated[str, Meta(pattern=REFUSED_KEY)] | None = None


class RulingRequest(Body, frozen=True):
    """A ruling.

    Attributes:
        verdict: whether the complaint is right.
        match: whether the match still counts; ``void`` goes with an upheld complaint only.
        reasons: for everybody to read.
    """

    verdict: Literal["upheld", "dismissed"]
    match: Literal["stands", "void"]
    reasons: Text


class RulingView(Struct, frozen=True):
    """What an auditor decided.

    Attributes:
        auditor: who ruled, ``p_…``.
        at_ms: when, Unix time in milliseconds.
    """

    auditor: str
    at_ms: int
    verdict: Literal["upheld", "dismissed"]
    match: Literal["stands", "void"]
    reasons: str


class DisputeView(Struct, frozen=True):
    """A dispute.

    Attributes:
        version: the disputed event, or the one after which a command was refused.
        about: ``event``, or ``refusal`` where it is about a command that was refused.
        seat: where the player who complained sits.
        ruling: null until there is one.
    """

    id: str
    match_id: str
    version: int
    about: Literal["event", "refusal"]
    seat: int
    player: str
    complaint: str
    state: State
    opened_at_ms: int
    closed_at_ms: int | None
    ruling: RulingView | None


class DisputePage(Struct, frozen=True):
    """All disputes of a match that the caller may see; there is only one page."""

    items: tuple[DisputeView, ...]
    next: str | None = None


@post(
    "/matches/{match_id:str}/disputes",
    status_code=201,
    guards=[needs("play")],
    tags=["disputes"],
    operation_id="open_dispute",
    operation_class=Keyed,
    opt={ANSWER_HEADERS: ("Location",)},
    responses=refusals(
        "not-found", "not-a-player", "no-such-event", "no-such-refusal", "dispute-exists", "disputes-exhausted",
        "dispute-too-late", "match-void", "text-unusable", "idempotency-key-reused",
    ),
    summary="Dispute an event",
)  # fmt: skip
async def open_dispute(
    request: Request, match_id: FromPath[str], data: JSONBody[DisputeRequest]
) -> Response[DisputeView]:
    """Complain about an event, or about a refused command, while the match runs or up to a week after its end."""
    command = await request.command()
    live, _ = await watched(request, match_id)
    caller = await request.caller()
    seat = live.match.seat_of(caller.player)
    if seat is None:
        raise Problem("not-a-player", "Only who sits in a match can dispute it.")
    refused = None if data.refused_key is None else command_id(caller.player, key_of(data.refused_key) or "")
    done = await request.the(Court).open(
        live, seat, data.version, _clean(data.complaint, "complaint"), refused, command
    )
    return _done(done, 201, {"Location": f"/v1/disputes/{done.dispute.id}"})


@get(
    "/matches/{match_id:str}/disputes",
    tags=["disputes"],
    operation_id="list_disputes",
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found"),
    summary="The disputes of a match",
)
async def list_disputes(request: Request, match_id: FromPath[str]) -> Response[DisputePage]:
    """Return the disputes of a match, oldest first: while it runs your own, and after the end all of them."""
    live, watcher = await watched(request, match_id)
    auditor = "audit" in (await request.caller()).scopes
    found = await request.the(Court).of_match(match_id)
    items = tuple(_view(each) for each in found if _may_see(each, live, watcher, auditor=auditor))
    return Response(DisputePage(items), headers=PRIVATE)


@get(
    "/disputes/{dispute_id:str}",
    tags=["disputes"],
    operation_id="get_dispute",
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found"),
    summary="A dispute",
)
async def get_dispute(request: Request, dispute_id: FromPath[str]) -> Response[DisputeView]:
    """Return a dispute; while the match runs only to who complained, and to auditors who do not play."""
    dispute, _, _ = await _seen(request, dispute_id)
    return Response(_view(dispute), headers=PRIVATE)


@get(
    "/disputes/{dispute_id:str}/case",
    tags=["disputes"],
    operation_id="get_case",
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found"),
    summary="The case file",
)
async def get_case(request: Request, dispute_id: FromPath[str]) -> Response[CaseFile]:
    """Return everything that a ruling needs, as JSON, or with ``Accept: text/markdown`` as a report to be read."""
    dispute, live, watcher = await _seen(request, dispute_id)
    case = await request.the(Cases).case(dispute, live, watcher)
    if MARKDOWN in request.headers.get("accept", ""):
        report: Response[CaseFile] = Response(
            markdown(case),  # type: ignore[arg-type]
            media_type=MARKDOWN_UTF8,
            headers=PRIVATE,
        )
        return report
    return Response(case, headers=PRIVATE)


@post(
    "/disputes/{dispute_id:str}/withdraw",
    status_code=200,
    guards=[needs("play")],
    tags=["disputes"],
    operation_id="withdraw_dispute",
    operation_class=Keyed,
    responses=refusals("not-found", "not-your-dispute", "dispute-closed", "idempotency-key-reused"),
    summary="Withdraw a complaint",
)
async def withdraw_dispute(request: Request, dispute_id: FromPath[str]) -> Response[DisputeView]:
    """Take a complaint of your own back, before a ruling."""
    command = await request.command()
    dispute, _, _ = await _seen(request, dispute_id)
    player = (await request.caller()).player
    if dispute.opened.player != player:
        raise Problem("not-your-dispute")
    return _done(await request.the(Court).withdraw(dispute, player, command), 200)


@post(
    "/disputes/{dispute_id:str}/ruling",
    status_code=200,
    guards=[needs("audit")],
    tags=["disputes"],
    operation_id="rule_on_dispute",
    operation_class=Keyed,
    responses=refusals(
        "not-found",
        "auditor-seated",
        "dispute-closed",
        "ruling-contradictory",
        "text-unusable",
        "idempotency-key-reused",
    ),
    summary="Rule on a dispute",
)
async def rule_on_dispute(
    request: Request, dispute_id: FromPath[str], data: JSONBody[RulingRequest]
) -> Response[DisputeView]:
    """Uphold or dismiss a complaint, and say whether the match counts. Nobody rules on a match in which they sat."""
    command = await request.command()
    if (data.verdict, data.match) == ("dismissed", "void"):
        raise Problem("ruling-contradictory", params={"verdict": data.verdict, "match": data.match})
    auditor = (await request.caller()).player
    dispute, live = await _found(request, dispute_id)
    if live.match.seat_of(auditor) is not None:
        raise Problem("auditor-seated")
    done = await request.the(Court).rule(
        dispute, live, auditor, data.verdict, data.match, _clean(data.reasons, "reasons"), command
    )
    return _done(done, 200)


async def _found(request: Request, dispute_id: str) -> tuple[Dispute, Live]:
    dispute = await request.the(Court).find(dispute_id)
    if dispute is None or not is_id(MATCH, dispute.opened.match):
        raise _no_dispute()
    live, _ = await watched(request, dispute.opened.match)
    return dispute, live


async def _seen(request: Request, dispute_id: str) -> tuple[Dispute, Live, Watcher]:
    """Return a dispute that the caller may see, its match, and as whom the caller sees that.

    Raises:
        Problem: ``not-found``, also for a dispute of which the caller may not know yet.
    """
    dispute = await request.the(Court).find(dispute_id)
    if dispute is None:
        raise _no_dispute()
    live, watcher = await watched(request, dispute.opened.match)
    auditor = "audit" in (await request.caller()).scopes
    if not _may_see(dispute, live, watcher, auditor=auditor):
        raise _no_dispute()
    return dispute, live, watcher


def _may_see(dispute: Dispute, live: Live, watcher: Watcher, *, auditor: bool) -> bool:
    """Say whether a dispute is shown: while the match runs, a complaint could tell others of hidden cards."""
    if live.match.over:
        return True
    if watcher.seat is not None:
        return watcher.seat == dispute.opened.seat
    return auditor and watcher.viewer == SPECTATOR


def _view(dispute: Dispute) -> DisputeView:
    opened, ruled = dispute.opened, dispute.ruling
    ruling = (
        None
        if ruled is None
        else RulingView(ruled.auditor, ruled.at_ms, ruled.verdict, ruled.match, ruled.reasons)
    )
    return DisputeView(
        id=dispute.id, match_id=opened.match, version=opened.version,
        about="event" if opened.refused is None else "refusal", seat=opened.seat, player=opened.player,
        complaint=dispute.complaint, state=dispute.state, opened_at_ms=dispute.opened_at_ms,
        closed_at_ms=dispute.closed_at_ms, ruling=ruling,
    )  # fmt: skip


def _done(done: Outcome, status: int, headers: dict[str, str] | None = None) -> Response[DisputeView]:
    replayed = {REPLAYED: "true"} if done.replayed else {}
    return Response(_view(done.dispute), status_code=status, headers={**(headers or {}), **replayed})


def _clean(text: str, at: str) -> str:
    """Return a text as it is kept.

    Raises:
        Problem: it says nothing, or holds characters that would not show.
    """
    stripped = text.replace("\r\n", "\n").strip()
    if not stripped:
        raise Problem("text-unusable", f"The {at} says nothing.", params={"at": f"$.{at}"})
    if _UNPRINTABLE.search(stripped):
        raise Problem(
            "text-unusable", f"The {at} holds characters that do not show.", params={"at": f"$.{at}"}
        )
    return stripped


def _no_dispute() -> Problem:
    return Problem("not-found", "There is no such dispute, or you may not see it yet.")
