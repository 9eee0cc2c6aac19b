"""History rewritten with everything that the operator has: found by whoever kept a receipt, and by the file outside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import msgspec
import pytest

from services.cli.auditing import LogFinding, Report, audit_log, audit_match
from services.cli.auditing.kept_receipt import contradictions, published_keys, read_kept
from services.cli.commands import audit as command
from services.cli.main import main
from services.contracts.merkle import GrowingTree
from services.engine.app import service
from services.engine.audit import audit_lines
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.tree.store import TreeStore
from tests.http.serving import served
from tests.tree.rewriting import forget_what_was_signed, operator, rewrite, with_another_loser

ITS = "WHERE stream = $1 AND"
OTHER_END = "replace(convert_from(body, 'UTF8'), '[2,1]', '[1,2]')::bytea"

CHANGES = [
    (f"UPDATE macao_log.events SET body = {OTHER_END} {ITS} type = 'match-ended'", "chain", "was changed"),
    (f"UPDATE macao_log.events SET at_ms = at_ms + 1 {ITS} version = 1", "chain", "was changed"),
    (f"UPDATE macao_log.events SET actor = 'p_9' {ITS} cause IS NOT NULL", "chain", "was changed"),
    (f"UPDATE macao_log.events SET hash = sha256(hash) {ITS} version = 3", "checkpoint", "rewritten"),
    (f"UPDATE macao_log.events SET position = position + 1000 {ITS} true", "tree", "is missing here"),
    (f"DELETE FROM macao_log.events {ITS} version = 2", "tree", "an event is missing here"),
    ("DELETE FROM macao_log.streams WHERE id = $1", "order", "does not know"),
    ("UPDATE macao_log.streams SET version = version - 1 WHERE id = $1", "order", "knows nothing after"),
    ("UPDATE macao_log.streams SET hash = sha256(hash) WHERE id = $1", "chain", "ends in another hash"),
    (
        "UPDATE macao_engine.commitments SET commitment = repeat('0', 64) WHERE match = $1",
        "chance",
        "another",
    ),
    ("DELETE FROM macao_engine.commitments WHERE match = $1", "chance", "not in the public count"),
    ("UPDATE macao_tree.checkpoints SET root = sha256(root) WHERE $1 <> ''", "checkpoint", "not signed by"),
]
"""What is done to one match of three, which check finds it, and a part of what that says."""


class Service:
    """An engine behind a real server, that keeps checkpoints in a directory."""

    def __init__(self, url: str, platform: Any) -> None:
        self.url = url
        self._platform = platform

    async def ask(self, player: str | None, method: str, path: str, body: Any = None) -> httpx.Response:
        headers = {} if method == "GET" else {"Idempotency-Key": uuid4().hex}
        if player is not None:
            scopes = frozenset({"service"} if player == "lobby" else {"play"})
            headers["Authorization"] = f"Bearer {self._platform.tokens.access_token(player, scopes)}"
        async with httpx.AsyncClient(base_url=self.url, timeout=30) as client:
            answer = await client.request(method, path, json=body, headers=headers)
        assert answer.status_code in {200, 201}, answer.text
        return answer

    async def match(self) -> str:
        """A match of two, of which the first leaves at once; the other has won."""
        asked = {"game": "dice-race", "seats": 2, "options": {"first": 0}}
        committed = (await self.ask("lobby", "POST", "/v1/commitments", asked)).json()
        body = {
            "match_id": committed["match_id"], "table_id": "t_1", "game": "dice-race", "options": committed["options"],
            "seats": [{"player": "p_0"}, {"player": "p_1"}], "rated": True,
        }  # fmt: skip
        await self.ask("lobby", "POST", "/v1/matches", body)
        match: str = committed["match_id"]
        await self.ask("p_0", "POST", f"/v1/matches/{match}/moves", {"move": {"type": "leave"}})
        return match

    async def record(self, match: str) -> bytes:
        return (await self.ask(None, "GET", f"/v1/matches/{match}/record")).content


@asynccontextmanager
async def running(database: str, redis_url: str, directory: Path) -> AsyncIterator[Service]:
    settings = {"checkpoint_directory": str(directory), "checkpoint_seconds": 0, "bots": False}
    async with served(database, [service], redis_url, **settings) as app:
        yield Service(app.url, app.platform)


async def findings_of(database: str, outside: Path | None) -> list[LogFinding]:
    found: list[LogFinding] = []
    connection = await asyncpg.connect(database)
    try:
        report = Report(found.append)
        await audit_log(connection, CATALOGUE, report, outside=outside)
        assert report.tally.findings == len(found)
    finally:
        await connection.close()
    return found


async def against_today(file: Path, url: str) -> list[str]:
    def ask() -> list[str]:
        return contradictions(read_kept(file), url, published_keys(url))

    return await asyncio.to_thread(ask)


async def test_who_kept_a_receipt_catches_an_operator_who_rewrote_everything(
    database: str, redis_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {name: tmp_path / name for name in ("record", "receipt", "checkpoint")}
    async with running(database, redis_url, tmp_path / "outside") as macao:
        match, other = await macao.match(), await macao.match()
        old = await macao.record(match)
        await macao.record(other)
        files["record"].write_bytes(old)
        files["receipt"].write_bytes((await macao.ask(None, "GET", f"/v1/matches/{match}/receipt")).content)
        files["checkpoint"].write_bytes((await macao.ask(None, "GET", "/v1/log/checkpoint")).content)
        await macao.match()
        for file in files.values():
            assert await against_today(file, macao.url) == []
    assert await findings_of(database, tmp_path / "outside") == []

    async with operator(database) as owner:
        await rewrite(owner, with_another_loser(read_record(old.splitlines(keepends=True)).events, 1))
        await forget_what_was_signed(owner)

    # Everything that the service has and shows is right again, signed with its own key; a new directory outside, too.
    async with running(database, redis_url, tmp_path / "another") as macao:
        new = await macao.record(match)
        keys = await asyncio.to_thread(published_keys, macao.url)
        verdict = audit_lines(new.splitlines(keepends=True), CATALOGUE, keys)
        assert verdict.sound
        assert verdict.receipt_size
        assert await findings_of(database, tmp_path / "another") == []
        assert b'"places":[2,1]' in old.replace(b"\\", b"")
        assert b'"places":[1,2]' in new.replace(b"\\", b"")
        # And everybody who kept something from before knows, and can prove it.
        for file in files.values():
            assert "has signed two histories" in (await against_today(file, macao.url))[0]
        arguments = ["audit", "--receipt", str(files["record"]), "--server", macao.url]
        assert await asyncio.to_thread(main, arguments) == command.NOT_SOUND
        assert "has signed two histories" in capsys.readouterr().out
    # So does the file that was kept outside.
    found = await findings_of(database, tmp_path / "outside")
    assert {finding.check for finding in found} == {"checkpoint"}
    assert "outside the database" in found[0].text
    assert "history was rewritten" in found[0].text


async def test_a_service_that_says_it_never_signed_is_caught(
    database: str, redis_url: str, databases: Any, tmp_path: Path
) -> None:
    file = tmp_path / "record"
    async with running(database, redis_url, tmp_path / "outside") as macao:
        for _ in range(2):
            file.write_bytes(await macao.record(await macao.match()))
        keys = await asyncio.to_thread(published_keys, macao.url)
    async with databases.fresh() as fresh, running(fresh, redis_url, tmp_path / "another") as macao:
        found = await asyncio.to_thread(contradictions, read_kept(file), macao.url, keys)
        assert "says that none ever was" in found[0]
        await macao.record(await macao.match())
        assert (
            "is not among the keys"
            in (await asyncio.to_thread(contradictions, read_kept(file), macao.url, keys))[0]
        )


class TestInTheDatabase:
    """What somebody with the owner's rights does to the log, and what the audit of the whole log says of it."""

    @pytest.fixture
    async def log(self, database: str, redis_url: str, tmp_path: Path) -> list[str]:
        async with running(database, redis_url, tmp_path) as macao:
            played = [await macao.match() for _ in range(3)]
            await macao.record(played[-1])
        return played

    async def test_every_change_is_found(self, log: list[str], database: str, tmp_path: Path) -> None:
        async with operator(database) as owner:
            for change, check, says in CHANGES:
                changing = owner.transaction()
                await changing.start()
                assert not (await owner.execute(change, log[1])).endswith(" 0")
                found: list[LogFinding] = []
                await audit_log(owner, CATALOGUE, Report(found.append), outside=tmp_path)
                await changing.rollback()
                assert any(each.check == check and says in each.text for each in found), [*map(str, found)]
                named = {each.stream for each in found if each.stream is not None}
                assert named <= {log[1]}, "no other match is suspected"
        assert await findings_of(database, tmp_path) == [], "and nothing is left of it"

    async def test_tiles_that_are_not_those_of_the_events_are_found(
        self, database: str, tmp_path: Path
    ) -> None:
        connection = await asyncpg.connect(database)
        store, tree = TreeStore("main", "macao_log"), GrowingTree()
        try:
            await connection.execute(
                "INSERT INTO macao_log.events (position, version, at_ms, recorded_at, schema, stream, type, actor,"
                " command, previous, hash, body) SELECT n, n, 0, now(), 1, 't_x', 'x', 'a', 'c', sha256(''),"
                " sha256(n::text::bytea), '{}' FROM generate_series(1, 300) AS n"
            )
            for leaf in await store.leaves(connection, 0, 300):
                tree.append(leaf.hash)
            await connection.execute(
                "INSERT INTO macao_tree.tiles VALUES (0, 0, sha256(''), (SELECT string_agg(sha256(''), '')"
                " FROM generate_series(1, 256)))"
            )
        finally:
            await connection.close()
        found = await findings_of(database, tmp_path)
        assert any(each.check == "tree" and "up to position 256" in each.text for each in found)

    async def test_one_match_can_be_looked_at_alone(self, log: list[str], database: str) -> None:
        async with operator(database) as owner:
            await owner.execute(
                "UPDATE macao_log.events SET at_ms = 0 WHERE stream = $1 AND version = 2", log[1]
            )
        connection = await asyncpg.connect(database)
        try:
            found: list[LogFinding] = []
            assert await audit_match(connection, CATALOGUE, log[0], Report(found.append))
            assert found == []
            assert await audit_match(connection, CATALOGUE, log[1], Report(found.append))
            assert (found[0].stream, found[0].version, found[0].check) == (log[1], 2, "chain")
            assert not await audit_match(connection, CATALOGUE, "m_none", Report(found.append))
        finally:
            await connection.close()

    async def test_the_command_tells_and_its_exit_code_too(
        self, log: list[str], database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        where = ["--database", database]
        everything = ["audit", "--all", *where, "--checkpoints", str(tmp_path)]
        assert await asyncio.to_thread(main, everything) == command.SOUND
        said = capsys.readouterr().out
        assert said.startswith("Sound: the log is what was signed, and true.")
        assert "3 finished matches audited in full" in said
        assert await asyncio.to_thread(main, ["audit", log[1], *where]) == command.SOUND
        assert f"Sound: {log[1]} is whole and true" in capsys.readouterr().out
        async with operator(database) as owner:
            await owner.execute(
                "UPDATE macao_log.events SET at_ms = 0 WHERE stream = $1 AND version = 2", log[1]
            )
        assert await asyncio.to_thread(main, [*everything, "--json"]) == command.NOT_SOUND
        lines = [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()]
        assert (lines[0]["stream"], lines[0]["version"], lines[0]["check"]) == (log[1], 2, "chain")
        assert lines[-1]["findings"] == len(lines) - 1
        assert await asyncio.to_thread(main, ["audit", log[1], *where]) == command.NOT_SOUND
        assert await asyncio.to_thread(main, ["audit", "m_none", *where]) == command.IMPOSSIBLE
        assert (
            await asyncio.to_thread(main, ["audit", "--all", "--database", "postgresql://127.0.0.1:1/x"]) == 2
        )
        for given in (str(tmp_path / "none"), __file__):
            assert await asyncio.to_thread(main, ["audit", "--receipt", given]) == command.IMPOSSIBLE
