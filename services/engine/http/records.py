"""What remains of a match: its record, and the verdict of an audit."""

from __future__ import annotations

import asyncio

from litestar import Response, get
from litestar.params import FromPath

from services.engine.audit import Verdict, audit
from services.engine.http.playing import NDJSON, watched
from services.engine.play.live import Live
from services.engine.play.pulse import Pulse
from services.engine.play.records import Records
from services.engine.rules.catalogue import Catalogue
from services.runtime.web.operations import ANSWER_HEADERS, Conditional
from services.runtime.web.problems import Problem
from services.runtime.web.reading import FOREVER, PRIVATE, answer, bytes_answer
from services.runtime.web.request import Request
from services.runtime.web.schema import OPTIONAL_TOKEN, refusals


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
    ``/receipt``.
    """
    live = await _finished(request, match_id)
    written = await request.the(Records).write(live)
    headers = {"Content-Disposition": f'attachment; filename="{match_id}.ndjson"'}
    kept = FOREVER if written.final else "no-cache"
    return bytes_answer(request, b"".join(written.lines), kept, media_type=NDJSON, headers=headers)


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
    live = await _finished(request, match_id)
    record = await request.the(Records).record(live)
    keys = {key.id: key.raw for key in request.platform.tokens.public_keys() if key.purpose == "record"}
    times = [event.at_ms for event in record.events]
    outages = await request.the(Pulse).outages(times[0], times[-1])
    # A long match takes a while; meanwhile other requests go on.
    verdict = await asyncio.to_thread(audit, record, request.the(Catalogue), keys, outages)
    return answer(request, verdict, PRIVATE)


async def _finished(request: Request, match_id: str) -> Live:
    live, _ = await watched(request, match_id)
    if not live.match.over:
        raise Problem("match-not-over")
    return live
