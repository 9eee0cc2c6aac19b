"""What remains of a match: its record, and the verdict of an audit."""

from __future__ import annotations

import asyncio
from typing import Final

from litestar import Response, get
from litestar.params import FromPath

from services.engine.audit import Verdict, audit_sheet
from services.engine.http.playing import NDJSON, watched
from services.engine.play.live import DamagedMatchError
from services.engine.play.pulse import Pulse
from services.engine.play.records import Records
from services.engine.rules.catalogue import Catalogue
from services.runtime.web.operations import ANSWER_HEADERS, Conditional
from services.runtime.web.problems import Problem
from services.runtime.web.reading import PRIVATE, answer, bytes_answer
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals

ASK_AGAIN: Final = "public, no-cache"
"""A ruling may void a match after its end, and then its record has one event more."""


@get(
    "/matches/{match_id:str}/record",
    media_type=NDJSON,
    tags=["records"],
    operation_id="get_record",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    opt={ANSWER_HEADERS: ("Content-Disposition",)},
    responses=refusals("not-found", "match-not-over"),
    summary="The whole signed record of a finished match",
)
async def get_record(request: Request, match_id: FromPath[str]) -> Response[bytes]:
    """Return everything that happened, secrets opened, as NDJSON: header, a line an event, signed closing line.

    Just after the end it may wait up to three seconds for the receipt. If that is null all the same, get it later from
    ``/receipt``. Of a match that was changed in the database it shows what is there, and a verifier says what is wrong.
    """
    await _require_over(request, match_id)
    written = await request.the(Records).write(match_id)
    headers = {"Content-Disposition": f'attachment; filename="{match_id}.ndjson"'}
    return bytes_answer(request, b"".join(written.lines), ASK_AGAIN, media_type=NDJSON, headers=headers)


@get(
    "/matches/{match_id:str}/audit",
    tags=["records"],
    operation_id="audit_match",
    operation_class=Conditional,
    security=OPTIONAL_TOKEN,
    responses=refusals("not-found", "match-not-over"),
    summary="A full audit",
)
async def audit_match(request: Request, match_id: FromPath[str]) -> Response[Verdict]:
    """Check chain, signature, receipt and seals, draw all chance and decide every move again, and keep the clock again.

    The service's outages are known here, so that a move which came late is a finding where nothing accounts for it.
    """
    await _require_over(request, match_id)
    sheet = await request.the(Records).sheet(match_id)
    keys = {key.id: key.raw for key in request.platform.tokens.public_keys() if key.purpose == "record"}
    times = [entry.event.at_ms for entry in sheet.entries if entry.event is not None]
    outages = await request.the(Pulse).outages(min(times, default=0), max(times, default=0))
    # A long match takes a while; meanwhile other requests go on.
    verdict = await asyncio.to_thread(audit_sheet, sheet, request.the(Catalogue), keys, outages)
    return answer(request, verdict, PRIVATE)


async def _require_over(request: Request, match_id: str) -> None:
    """Refuse as long as anything of the match is secret; a log that was changed is no reason to."""
    try:
        live, _ = await watched(request, match_id)
        over = live.match.over
    except DamagedMatchError:
        over = False
    if not over and not await request.the(Records).is_revealed(match_id):
        raise Problem("match-not-over")
