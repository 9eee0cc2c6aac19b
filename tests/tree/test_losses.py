"""An end of the log that was signed and is lost: a person gives it up, and it leaves a trace that nobody can miss."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec.structs import replace

from services.cli.auditing import LogFinding, Report, audit_log
from services.cli.commands import audit as audit_command
from services.cli.main import main
from services.contracts.base64url import base64url
from services.contracts.checkpoint import Checkpoint
from services.contracts.loss import Loss, loss_text
from services.contracts.merkle import included, root_of
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.clock import SystemClock
from services.runtime.tree.losing import EMPTY_ROOT, Losing, LossError
from services.runtime.tree.sealer import State
from services.runtime.tree.signing import is_signed
from tests.http.app import SECRET_KEY
from tests.support.databases import Databases
from tests.tree.rewriting import operator
from tests.tree.test_rewritten import against_today, running
from tests.tree.test_sealer import MANY, Process, owner_of

KEPT, SIGNED = 300, 310


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.runtime.tree.sealer.STANDBY_SECONDS", 0.05)
    monkeypatch.setenv("MACAO_SECRET_KEY", SECRET_KEY)
    monkeypatch.delenv("MACAO_DATABASE_DIRECT_URL", raising=False)


async def lost(database: str, directory: Path, kept: int = KEPT, signed: int = SIGNED) -> None:
    """Seal a log, and have it lose its end."""
    async with Process(database, directory).open() as process, process.sealing():
        await process.write(kept)
        await process.sealed(kept)
        await process.write(signed - kept)
        await process.sealed(signed)
    async with owner_of(database) as owner:
        await owner.execute("DELETE FROM macao_log.events WHERE position > $1", kept + 3)


async def accept(database: str, process: Process, reason: str = "the disk died") -> Loss:
    owner = await asyncpg.connect(database)
    try:
        losing = Losing(owner, "main", "macao_log", process.outside)
        await losing.hold()
        return await losing.accept(await losing.look(), reason, process.keyring, SystemClock())
    finally:
        await owner.close()


async def stopped(process: Process) -> str:
    """Return why it stops."""
    async with process.sealing() as task, asyncio.timeout(20):
        await asyncio.wait([task])
    assert process.sealer.status.state is State.CONTRADICTION
    return process.sealer.status.last_error or ""


async def tree_findings(database: str, directory: Path) -> tuple[list[LogFinding], list[Loss]]:
    """What the audit says of the tree; the streams of these tests are no matches."""
    found: list[LogFinding] = []
    connection = await asyncpg.connect(database)
    try:
        report = Report(found.append)
        await audit_log(connection, CATALOGUE, report, outside=directory)
    finally:
        await connection.close()
    return [one for one in found if one.check in {"tree", "checkpoint"}], report.tally.losses


async def test_behind_a_loss_the_log_is_sealed_again(database: str, tmp_path: Path) -> None:
    await lost(database, tmp_path)
    async with Process(database, tmp_path).open() as process:
        assert f"a checkpoint of {SIGNED} events was signed" in await stopped(process)
        assert process.registry.get_sample_value("macao_log_lost_tail", {"log": "main"}) == 1
        loss = await accept(database, process)
        assert (loss.kept, loss.lost, loss.reason) == (KEPT, SIGNED, "the disk died")
        assert is_signed(loss)
        assert loss.root == root_of((await process.leaves())[:KEPT]).hex()
    async with Process(database, tmp_path).open() as process:
        async with process.sealing():
            await process.sealed(KEPT + 3)
            # Through the sizes that were signed before, and beyond.
            await process.write(SIGNED - KEPT - 3)
            again = await process.sealed(SIGNED)
            await process.write(MANY)
            newest = await process.sealed(SIGNED + MANY)
        leaves = await process.leaves()
        for checkpoint in (again, newest):
            assert checkpoint.root == root_of(leaves[: checkpoint.size]).hex()
            assert checkpoint.at_ms > loss.at_ms
        leaf, proof = await process.proofs.inclusion(SIGNED - 1, newest.size)
        assert included(leaf, SIGNED - 2, newest.size, proof, bytes.fromhex(newest.root))
        published = await process.proofs.checkpoints(0, 100)
        assert [one.size for one in published] == [KEPT, KEPT + 3, SIGNED, SIGNED + MANY]
        assert await process.proofs.losses() == [loss]
    lines = list(process.outside.read())
    kept = [line for line in lines if isinstance(line, Checkpoint)]
    assert lines[2] == loss
    assert [one.size for one in kept] == [KEPT, SIGNED, KEPT + 3, SIGNED, SIGNED + MANY]
    assert await tree_findings(database, tmp_path) == ([], [loss])


async def test_everything_may_be_lost(database: str, databases: Databases, tmp_path: Path) -> None:
    await lost(database, tmp_path)
    async with databases.fresh() as empty, Process(empty, tmp_path).open() as process:
        loss = await accept(empty, process)
        assert (loss.kept, loss.root) == (0, EMPTY_ROOT)
        assert root_of([]).hex() == EMPTY_ROOT
        async with process.sealing():
            await process.write(7)
            await process.sealed(7)
        # The old database's key has signed what is lost; it is not among those of this one.
        findings, losses = await tree_findings(empty, tmp_path)
        assert (findings, losses) == ([], [loss])


async def test_a_loss_is_known_again_after_another_restore(database: str, tmp_path: Path) -> None:
    await lost(database, tmp_path)
    async with Process(database, tmp_path).open() as process:
        loss = await accept(database, process)
        async with owner_of(database) as owner:
            await owner.execute("ALTER TABLE macao_tree.losses DISABLE TRIGGER ALL")
            await owner.execute("DELETE FROM macao_tree.losses")
            await owner.execute("ALTER TABLE macao_tree.losses ENABLE ALWAYS TRIGGER append_only")
            losing = Losing(owner, "main", "macao_log", process.outside)
            assert await losing.take_over() == 1
            assert await losing.take_over() == 0
        assert await process.proofs.losses() == [loss]


async def test_nobody_can_use_a_loss_to_rewrite_what_it_kept(database: str, tmp_path: Path) -> None:
    await lost(database, tmp_path)
    async with Process(database, tmp_path).open() as process:
        await accept(database, process)
    async with owner_of(database) as owner:
        await owner.execute("UPDATE macao_log.events SET hash = sha256(hash) WHERE position = 17")
        await owner.execute("DELETE FROM macao_tree.tiles")
        await owner.execute("DELETE FROM macao_tree.checkpoints")
    async with Process(database, tmp_path).open() as process:
        assert f"of the first {KEPT} events one at least" in await stopped(process)
        assert process.registry.get_sample_value("macao_log_lost_tail", {"log": "main"}) == 0
    findings, _ = await tree_findings(database, tmp_path)
    assert any("the loss that was declared kept" in each.text for each in findings)


async def test_a_loss_that_the_service_did_not_sign_is_none(database: str, tmp_path: Path) -> None:
    await lost(database, tmp_path)
    async with Process(database, tmp_path).open() as process:
        loss = await accept(database, process)
        path = process.outside.path
        path.write_bytes(path.read_bytes().replace(b"the disk died", b"of no matter!"))
        assert "its signature is not right" in await stopped(process)
        with pytest.raises(LossError, match="its signature is not right"):
            await accept(database, process)
    findings, losses = await tree_findings(database, tmp_path)
    assert losses == []
    assert any("is not signed by a key of the service" in each.text for each in findings)
    assert b"\nthe disk died\n" in loss_text(loss)


async def test_nobody_else_can_declare_one(database: str, tmp_path: Path) -> None:
    await lost(database, tmp_path)
    async with Process(database, tmp_path).open() as process:
        owner = await asyncpg.connect(database)
        found = await Losing(owner, "main", "macao_log", process.outside).look()
        await owner.close()
        key = Ed25519PrivateKey.generate()
        forged = Loss(
            log="main", kept=KEPT, root=found.kept.root if found.kept else "", lost=SIGNED, lost_root=found.lost.root,
            at_ms=found.lost.at_ms, reason="trust me", key_id="k_forged",
            public_key=base64url(key.public_key().public_bytes_raw()), signature="",
        )  # fmt: skip
        forged = replace(forged, signature=base64url(key.sign(loss_text(forged))))
        assert is_signed(forged)
        process.outside.append(forged)
        assert "is not signed by a key of this service" in await stopped(process)


async def test_a_second_directory_hears_of_a_loss_that_was_declared_at_the_first(
    database: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    await lost(database, first)
    shutil.copytree(first, second)
    async with Process(database, first).open() as process:
        loss = await accept(database, process)
    async with Process(database, second).open() as process, process.sealing():
        await process.sealed(KEPT + 3)
        lines = list(process.outside.read())
        assert lines[2] == loss
    assert await tree_findings(database, second) == ([], [loss])


async def test_there_has_to_be_a_loss_and_nobody_who_seals(database: str, tmp_path: Path) -> None:
    async with Process(database, tmp_path).open() as process:
        async with process.sealing():
            await process.write(10)
            await process.sealed(10)
            with pytest.raises(LossError, match="a process seals this log"):
                await accept(database, process)
        with pytest.raises(LossError, match="nothing is lost"):
            await accept(database, process)
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await process.database.pool.execute("DELETE FROM macao_tree.losses")


class TestTheCommand:
    """``macao accept-loss``, and what everybody is told afterwards, over real matches."""

    async def test_it_asks_before_it_declares_and_everybody_hears_of_it(
        self, database: str, redis_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        outside = tmp_path / "outside"
        kept = {name: tmp_path / name for name in ("early", "late")}
        async with running(database, redis_url, outside) as macao:
            for file in kept.values():
                match = await macao.match()
                file.write_bytes(await macao.record(match))
        async with operator(database) as owner:
            for table, column in (("events", "stream"), ("commands", "stream"), ("streams", "id")):
                await owner.execute(f"DELETE FROM macao_log.{table} WHERE {column} = $1", match)
        where = ["--database", database, "--checkpoints", str(outside)]

        async def said(*more: str) -> tuple[int, str]:
            code = await asyncio.to_thread(main, ["accept-loss", *where, *more])
            told = capsys.readouterr()
            return code, told.out + told.err

        code, told = await said()
        assert code == 1
        events = int(told.partition("--events ")[2].split()[0])
        assert f"So {events} signed events are lost at most" in told
        code, told = await said("--events", str(events + 1), "--reason", "x")
        assert (code, "nothing was declared" in told) == (1, True)
        assert (await said("--events", "1"))[0] == 1
        assert (await said("--events", str(events), "--reason", "two\nlines"))[0] == 1
        code, told = await said("--events", str(events), "--reason", "Restored from the backup of the night.")
        assert (code, "Declared, signed with k_" in told) == (0, True), told

        async with running(database, redis_url, outside) as macao:
            again = await macao.record(await macao.match())
            async with httpx.AsyncClient(base_url=macao.url) as client:
                listed = (await client.get("/v1/log/losses")).json()["items"]
            assert [(one["lost"] - one["kept"], one["reason"]) for one in listed] == [
                (events, "Restored from the backup of the night.")
            ]
            assert b'"receipt":{' in again
            assert await against_today(kept["early"], macao.url) == []
            (told,) = await against_today(kept["late"], macao.url)
            assert "are lost, as the service has declared: Restored from the backup" in told
        code = await asyncio.to_thread(main, ["audit", "--all", *where])
        told = capsys.readouterr().out
        assert "is lost, as the service declared" in told
        # The commitment to the match that is lost was published, and its number stands.
        assert code == audit_command.SOUND, told

    async def test_who_may_not_is_told_so(self, database: str, tmp_path: Path, monkeypatch: Any) -> None:
        await lost(database, tmp_path)
        async with Process(database, tmp_path).open() as process:
            connection = await process.database.connect("test")
            losing = Losing(connection, "main", "macao_log", process.outside)
            found = await losing.look()
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await losing.accept(found, "x", process.keyring, SystemClock())
            await connection.close()
            assert not any(isinstance(line, Loss) for line in process.outside.read())
        monkeypatch.delenv("MACAO_SECRET_KEY")
        monkeypatch.setenv("MACAO_HOME", str(tmp_path / "none"))
        arguments = ["accept-loss", "--database", database, "--checkpoints", str(tmp_path)]
        assert await asyncio.to_thread(main, arguments) == 1


def test_what_is_signed_is_told_apart_from_everything_else() -> None:
    assert not issubclass(Loss, Checkpoint)
    fields = msgspec.structs.fields(Loss)
    assert [field.name for field in fields][:7] == [
        "log",
        "kept",
        "root",
        "lost",
        "lost_root",
        "at_ms",
        "reason",
    ]
