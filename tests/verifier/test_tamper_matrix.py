"""Whatever is tampered with, in the file or in the database under the service, is found, and the first bad event named.

docs/tamper-matrix.md is the table of it. ``MACAO_WRITE_MATRIX=1 ./macao test tests/verifier/test_tamper_matrix.py``
writes it anew; read the difference.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest
import pytest_asyncio

from tests.audit.play import record
from tests.engine.conftest import Engine, TestClock, running
from tests.support.databases import Databases
from tests.support.javascript import JavaScript
from tests.verifier.matrix import FILE, NOTHING, Row, page
from tests.verifier.tampered_database import MATCH, Tamperer, audit_of, key_of, record_of
from tests.verifier.tampered_file import RAW_KEY, by_command, by_javascript, cell, named, tampered_lines
from tests.verifier.tampering import ALL, SOUND, Tampering, events
from tests.verifier.test_vectors import leaves_of, node_of, path

PATIENCE_SECONDS = 60.0
BEFORE, AFTER = 5, 7
"""How many other events stand in the log, in front of the end of the match and behind it."""


class Installation(NamedTuple):
    """An engine that knows the match from before, on a database in which somebody changes it."""

    database: str
    redis_url: str
    engine: Engine
    tamperer: Tamperer


def assert_named(
    tampering: Tampering, *, rules: dict[str, Any], chain: dict[str, Any], sealed: bool = False
) -> None:
    """Compare what was named with what has to be. What nothing else finds in a sealed log, the receipt does."""
    for verdict, with_rules in ((rules, True), (chain, False)):
        due = tampering.expected(rules=with_rules)
        if sealed and due == SOUND:
            assert [finding["check"] for finding in verdict["findings"]] == ["receipt"], tampering.name
        else:
            assert named(verdict) == due, (tampering.name, verdict["findings"])


def test_the_match_is_sound_before_it_is_tampered_with(javascript: JavaScript, tmp_path: Path):
    content = b"".join(record(list(events())))
    assert named(by_command(tmp_path / "match.ndjson", content, RAW_KEY)) == SOUND
    assert named(by_javascript(javascript, content, RAW_KEY)) == SOUND


@pytest.mark.parametrize("tampering", ALL, ids=lambda tampering: tampering.name)
def test_in_the_file(tampering: Tampering, javascript: JavaScript, tmp_path: Path):
    check_file(tampering, javascript, tmp_path, Row())


def check_file(tampering: Tampering, javascript: JavaScript, tmp_path: Path, row: Row) -> None:
    content = b"".join(tampered_lines(tampering))
    command = by_command(tmp_path / "match.ndjson", content, RAW_KEY)
    script = by_javascript(javascript, content, RAW_KEY)
    assert_named(tampering, rules=command, chain=script)
    row.file_command, row.file_javascript = cell(command), cell(script)


@pytest_asyncio.fixture(loop_scope="session")
async def installation(databases: Databases, redis_url: str) -> AsyncIterator[Installation]:
    async with databases.fresh() as database, running(database, redis_url, TestClock()) as engine:
        connection: asyncpg.Connection[Any] = await asyncpg.connect(database)
        try:
            tamperer = Tamperer(connection)
            await tamperer.put_match(engine)
            yield Installation(database, redis_url, engine, tamperer)
        finally:
            await connection.close()


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="session")
async def test_in_the_database_and_the_whole_table(
    installation: Installation, javascript: JavaScript, tmp_path: Path
):
    assert named(await sealed(installation.engine)) == SOUND
    rows = {tampering.name: Row() for tampering in ALL}
    for tampering in ALL:
        row = rows[tampering.name]
        check_file(tampering, javascript, tmp_path, row)
        if "database" in tampering.places:
            await check_database(tampering, installation, javascript, tmp_path, row)
        if tampering.end != "kept":
            row.receipt = NOTHING if fits_receipt(javascript, tampering) else "found"
    if os.environ.get("MACAO_WRITE_MATRIX"):
        FILE.write_text(page(rows))
    assert FILE.read_text() == page(rows), "MACAO_WRITE_MATRIX=1 writes it anew; read the difference"


async def sealed(engine: Engine) -> dict[str, Any]:
    """Return the audit of the match as soon as it has its receipt."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (verdict := await audit_of(engine))["receipt_size"] is None:
        assert time.monotonic() < deadline, verdict
        await asyncio.sleep(0.1)
    return verdict


async def check_database(
    tampering: Tampering, installation: Installation, javascript: JavaScript, tmp_path: Path, row: Row
) -> None:
    await installation.tamperer.tamper(tampering)
    knowing = await audit_of(installation.engine)
    async with running(installation.database, installation.redis_url, TestClock()) as fresh:
        audit, content, key = await audit_of(fresh), await record_of(fresh), key_of(fresh)
        await assert_nothing_breaks(fresh)
    assert knowing == audit, "the same, whether the engine had the match in memory or not"
    command = by_command(tmp_path / "match.ndjson", content, key)
    script = by_javascript(javascript, content, key)
    assert_named(tampering, rules=audit, chain=script, sealed=True)
    assert named(command) == named(audit)
    row.api, row.command, row.javascript = map(cell, (audit, command, script))


async def assert_nothing_breaks(engine: Engine) -> None:
    """What cannot be folded any more is told as such. (A position that was never played need not fit its schema.)"""
    answer = await engine.as_(None, "GET", f"/v1/matches/{MATCH}/events")
    assert answer.status_code in (200, 409), answer.text
    if answer.status_code == 409:
        assert answer.json()["code"] == "match-damaged"


def fits_receipt(javascript: JavaScript, tampering: Tampering) -> bool:
    """Say whether a proof that was given for the end of the match holds for the end as it is now."""
    told = tampering.change(list(events()))
    head, end = events()[-1].head, told[-1].head
    position = BEFORE + 1
    others = leaves_of(BEFORE + AFTER)
    leaf = f"macao-leaf/1\n{position}\n{MATCH}\n{head.version}\n{head.hash.hex()}".encode()
    leaves = [*others[:BEFORE], leaf, *others[BEFORE:]]
    proof, root = path(BEFORE, leaves), node_of(leaves).hex()

    def holds(version: int, digest: str) -> bool:
        own: str = javascript.call("leafHash", position, MATCH, version, digest)
        fits: bool = javascript.call("inclusionHolds", position, len(leaves), own, proof, root)
        return fits

    assert holds(head.version, head.hash.hex())
    return holds(end.version, end.hash.hex())
