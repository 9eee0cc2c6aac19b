"""The log over HTTP: checkpoints, proofs and receipts that hold, whatever the size of the tree."""

import asyncio
from typing import Any

import msgspec

from services.contracts.checkpoint import Checkpoint, MatchReceipt, Receipt, proves
from services.contracts.merkle import consistent, included
from services.engine.audit import audit_lines
from services.engine.audit.receipt import why_unsigned
from services.engine.rules.catalogue import CATALOGUE
from tests.engine.conftest import Engine


async def get(engine: Engine, path: str) -> Any:
    answer = await engine.as_(None, "GET", path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def finish(engine: Engine) -> str:
    """A match that is over at once: one of the two leaves."""
    match = await engine.start()
    left = await engine.as_("p_1", "POST", f"/v1/matches/{match}/moves", {"move": {"type": "leave"}})
    assert left.status_code == 200, left.text
    return match


async def keys_of(engine: Engine) -> dict[str, bytes]:
    return {key.id: key.raw for key in engine.platform.tokens.public_keys() if key.purpose == "record"}


async def test_a_record_has_its_receipt(engine: Engine) -> None:
    match = await finish(engine)
    first = await engine.as_(None, "GET", f"/v1/matches/{match}/record")
    verdict = audit_lines(first.content.splitlines(keepends=True), CATALOGUE, await keys_of(engine))
    assert verdict.sound, verdict
    assert verdict.receipt_size
    assert "ETag" in first.headers, "it is final"
    await finish(engine)
    again = await engine.as_(None, "GET", f"/v1/matches/{match}/record")
    assert again.content == first.content, "what came later in the log changes nothing"
    kept = msgspec.convert(await get(engine, f"/v1/matches/{match}/receipt"), MatchReceipt)
    assert proves(kept.receipt, match, kept.version, bytes.fromhex(kept.hash))
    closing = msgspec.json.decode(first.content.splitlines()[-1])
    assert msgspec.convert(closing["receipt"], Receipt) == kept.receipt


async def test_checkpoints_are_signed_and_consistent(engine: Engine) -> None:
    for _ in range(3):
        await engine.as_(None, "GET", f"/v1/matches/{await finish(engine)}/record")
    page = await get(engine, "/v1/log/checkpoints?limit=1000")
    checkpoints = [msgspec.convert(item, Checkpoint) for item in page["items"]]
    assert len(checkpoints) >= 3
    assert page["next"] is None
    assert await get(engine, "/v1/log/checkpoint") == page["items"][-1]
    keys = await keys_of(engine)
    assert [why_unsigned(checkpoint, keys) for checkpoint in checkpoints] == [None] * len(checkpoints)
    sizes = [checkpoint.size for checkpoint in checkpoints]
    assert sizes == sorted(set(sizes))
    for first in checkpoints:
        for second in checkpoints:
            if first.size <= second.size:
                path = f"/v1/log/proofs/consistency?first={first.size}&second={second.size}"
                proof = [bytes.fromhex(part) for part in (await get(engine, path))["proof"]]
                roots = bytes.fromhex(first.root), bytes.fromhex(second.root)
                assert consistent(first.size, roots[0], second.size, roots[1], proof)
    one = await get(engine, "/v1/log/checkpoints?limit=1")
    assert one["next"] == sizes[0]
    assert (await get(engine, f"/v1/log/checkpoints?after={sizes[0]}&limit=1"))["items"] == [page["items"][1]]


async def test_every_event_is_proven_by_position_and_by_match(engine: Engine) -> None:
    match = await finish(engine)
    await engine.as_(None, "GET", f"/v1/matches/{match}/record")
    newest = msgspec.convert(await get(engine, "/v1/log/checkpoint"), Checkpoint)
    by_position = {}
    for position in range(1, newest.size + 1):
        said = await get(engine, f"/v1/log/proofs/inclusion?position={position}&size={newest.size}")
        proof = [bytes.fromhex(part) for part in said["proof"]]
        leaf, root = bytes.fromhex(said["leaf"]), bytes.fromhex(newest.root)
        assert included(leaf, position - 1, newest.size, proof, root)
        by_position[position] = said
    versions = (await engine.view(match))["version"]
    for version in range(1, versions + 1):
        said = await get(engine, f"/v1/log/proofs/inclusion?match={match}&version={version}")
        assert said == by_position[said["position"]]


async def test_questions_that_cannot_be_answered_say_what_to_do(engine: Engine) -> None:
    nothing = await engine.as_(None, "GET", "/v1/log/checkpoint")
    assert (nothing.status_code, nothing.json()["code"]) == (409, "not-sealed")
    match = await finish(engine)
    await engine.as_(None, "GET", f"/v1/matches/{match}/record")
    size = (await get(engine, "/v1/log/checkpoint"))["size"]
    for path, status, code in (
        (f"inclusion?position={size + 1}", 409, "not-sealed"),
        (f"inclusion?position=1&size={size + 1}", 409, "not-sealed"),
        (f"inclusion?position={size}&size={size - 1}", 400, "malformed-request"),
        ("inclusion", 400, "malformed-request"),
        ("inclusion?position=0", 400, "malformed-request"),
        (f"inclusion?position=1&match={match}", 400, "malformed-request"),
        (f"inclusion?match={match}", 400, "malformed-request"),
        (f"inclusion?match={match}&version=99", 404, "not-found"),
        ("inclusion?match=m_none&version=1", 404, "not-found"),
        (f"consistency?first=1&second={size + 1}", 409, "not-sealed"),
        ("consistency?first=2&second=1", 400, "malformed-request"),
        ("consistency?first=0&second=1", 400, "malformed-request"),
        ("consistency?first=1", 400, "malformed-request"),
    ):
        answer = await engine.as_(None, "GET", f"/v1/log/proofs/{path}")
        assert (answer.status_code, answer.json()["code"]) == (status, code), (path, answer.text)
    running = await engine.start()
    early = await engine.as_(None, "GET", f"/v1/matches/{running}/receipt")
    assert (early.status_code, early.json()["code"]) == (409, "match-not-over")


async def test_a_running_private_match_tells_strangers_nothing(engine: Engine) -> None:
    match = await engine.start(visibility="private")
    for _ in range(100):
        if (await engine.as_(None, "GET", "/v1/log/checkpoint")).status_code == 200:
            break
        await asyncio.sleep(0.02)
    asked = f"/v1/log/proofs/inclusion?match={match}&version=1"
    assert (await engine.as_(None, "GET", asked)).status_code == 404
    assert (await engine.as_("p_0", "GET", asked)).status_code == 200
