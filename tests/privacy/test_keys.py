"""Keys are replaced while services run: nothing stops, nothing is lost, and the old key may then go."""

import asyncio
import base64
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from services.cli.encrypted import ENCRYPTED
from services.engine.play.commitments import SEEDS
from services.runtime import rotating
from services.runtime.clock import system_entropy
from services.runtime.rotating import keys_in
from services.runtime.tokens import keyring
from services.runtime.vault import Vault
from tests.http.app import SECRET_KEY
from tests.privacy.house import ROOT, House, Person, house_of, macao

NEW_KEY = base64.urlsafe_b64encode(bytes(range(1, 33))).rstrip(b"=").decode()
OLD_ID, NEW_ID = (Vault(key, system_entropy).key_ids[0] for key in (SECRET_KEY, NEW_KEY))


async def needed(database: str) -> Counter[str]:
    """Return how many rows need which key."""
    connection = await asyncpg.connect(database)
    try:
        found = Counter[str]()
        for column in ENCRYPTED:
            found += await keys_in(connection, column)
        return found
    finally:
        await connection.close()


async def test_a_match_runs_across_a_rotation(
    database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(rotating, "STEP_ROWS", 2)
    monkeypatch.setenv("MACAO_DATABASE_URL", database)
    async with house_of(database) as before:
        anna, bela = await before.account("Anna"), await before.account("Bela")
        private = await anna.done(
            "POST", "/tables", {"game": "dice-race", "seats": 2, "visibility": "private"}
        )
        code = private["invite_code"]
        kept = {"Idempotency-Key": "a-key-that-is-kept-for-a-while"}
        session = {"refresh_token": anna.refresh_token}
        first = (await before.client.post("/v1/tokens/refresh", json=session, headers=kept)).json()
        match = await before.started(anna, bela)
        await before.played(match, anna, bela, moves=2)
        unused = [await before.table(await before.account(f"Host{at}a"), anna) for at in "bcde"]
    assert set(await needed(database)) == {OLD_ID}

    # First every process learns the new key, one after the other; then the new one goes first.
    async with (
        house_of(database, f"{SECRET_KEY},{NEW_KEY}") as one,
        house_of(database, f"{NEW_KEY},{SECRET_KEY}") as other,
    ):
        for house in (one, other, one):
            await house.played(match, anna.at(house.client), bela.at(house.client), moves=1)
        begun = await other.started(anna.at(other.client), bela.at(other.client))
        assert set(await needed(database)) == {OLD_ID, NEW_ID}
        # It can begin under the one process and go on under the other.
        await one.played(begun, anna.at(one.client), bela.at(one.client), moves=1)

    async with house_of(database, f"{NEW_KEY},{SECRET_KEY}") as during:
        anna, bela = anna.at(during.client), bela.at(during.client)
        monkeypatch.setenv("MACAO_SECRET_KEY", f"{NEW_KEY},{SECRET_KEY}")
        assert await macao("keys") == 0
        assert f"key {NEW_ID}: encrypts\nkey {OLD_ID}: still needed" in capsys.readouterr().out
        rotation = asyncio.create_task(macao("keys", "rotate"))
        moves = 0
        while not rotation.done():
            moves += await during.played(begun, anna, bela, moves=1)
        assert await rotation == 0
        assert (
            f"Everything is under the key {NEW_ID}. No row needs {OLD_ID} any more."
            in capsys.readouterr().out
        )
        assert set(await needed(database)) == {NEW_ID}
        assert await macao("keys") == 0
        assert f"key {OLD_ID}: needed by no row: take it out" in capsys.readouterr().out
        # Again: nothing is left to be done.
        assert await macao("keys", "rotate") == 0
        assert " 0 encrypted anew" in capsys.readouterr().out

    async with house_of(database, NEW_KEY) as after:
        anna, bela = anna.at(after.client), bela.at(after.client)
        for running in (match, begun):
            await after.played(running, anna, bela)
            assert (await after.client.get(f"/v1/matches/{running}/audit")).json()["sound"]
            (tmp_path / "record").write_bytes(
                (await after.client.get(f"/v1/matches/{running}/record")).content
            )
            assert await macao("verify", str(tmp_path / "record")) == 0
        again = await after.client.post("/v1/tokens/refresh", json=session, headers=kept)
        assert (again.json(), again.headers["idempotent-replayed"]) == (first, "true")
        other_body = await after.client.post(
            "/v1/tokens/refresh", json={"refresh_token": anna.refresh_token, "x": 1}, headers=kept
        )
        assert other_body.status_code in {400, 409}
        assert (await anna.ask("GET", f"/tables/{private['id']}")).json()["invite_code"] == code
        assert len(unused) == 4


async def test_a_service_that_has_not_heard_of_the_new_key_is_told_of(
    house: House, database: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MACAO_DATABASE_URL", database)
    monkeypatch.setenv("MACAO_SECRET_KEY", f"{NEW_KEY},{SECRET_KEY}")
    monkeypatch.setattr(rotating, "PASSES_MAX", 1)
    anna = await house.account("Anna")
    await house.table(anna)
    page, loop = rotating._page, asyncio.get_running_loop()
    meanwhile: list[str] = []

    async def last_page(connection: Any, column: rotating.Encrypted, after: str) -> list[Any]:
        # A process with the old key first writes when everything has been looked at.
        rows = await page(connection, column, after)
        if column == SEEDS and not rows:
            opened = asyncio.run_coroutine_threadsafe(house.table(anna), loop)
            meanwhile.append((await asyncio.wrap_future(opened))["id"])
        return rows

    monkeypatch.setattr(rotating, "_page", last_page)
    assert await macao("keys", "rotate") == 1
    assert f"Services still run that do not have the key {NEW_ID} first" in capsys.readouterr().out
    assert len(meanwhile) == 1


async def served(database: str, secret_key: str) -> tuple[int, str]:
    """Start the services as an operator would, and return how they ended and the last that they said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "services.cli", "serve", "all", "--port", "0", cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MACAO_DATABASE_URL": database, "MACAO_SECRET_KEY": secret_key},
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        async with asyncio.timeout(60):
            _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode or 0, said.decode().splitlines()[-1]


async def test_a_missing_key_ends_the_start_and_says_what_to_do(database: str) -> None:
    async with house_of(database) as house:
        anna: Person = await house.account("Anna")
        await house.table(anna)
    code, said = await served(database, NEW_KEY)
    assert code == 1
    assert said.startswith("macao: a signing key in the database was encrypted with the key ")
    assert f"the key {OLD_ID}, which is not in MACAO_SECRET_KEY: that has {NEW_ID}." in said
    assert said.endswith("macao keys rotate before it is taken out again.")
    # Some of it was encrypted anew, and some not.
    connection = await asyncpg.connect(database)
    ring = Vault(f"{NEW_KEY},{SECRET_KEY}", system_entropy)
    for columns, told in (
        (
            (rotating.SIGNING_KEYS, rotating.SECRETS),
            "a match seed in the database was encrypted with the key",
        ),
        ((SEEDS,), "a stored answer in the database was encrypted with the key"),
    ):
        for column in columns:
            await rotating.rotate(connection, ring, column)
        code, said = await served(database, NEW_KEY)
        assert (code, told in said, OLD_ID in said) == (1, True, True), said
    await connection.close()


async def test_the_key_that_signs_records_is_renewed_and_old_records_verify(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(keyring, "LEAD_SECONDS", 1.0)
    monkeypatch.setattr(keyring, "LOOK_SECONDS", 0.1)
    monkeypatch.setenv("MACAO_DATABASE_URL", database)
    monkeypatch.setenv("MACAO_SECRET_KEY", SECRET_KEY)
    async with house_of(database) as house:
        anna, bela = await house.account("Anna"), await house.account("Bela")
        match = await house.started(anna, bela)
        await house.played(match, anna, bela)
        old, new = tmp_path / "old.ndjson", tmp_path / "new.ndjson"
        old.write_bytes((await house.client.get(f"/v1/matches/{match}/record")).content)
        before = json.loads(old.read_bytes().splitlines()[0])["key_id"]

        assert await macao("keys", "renew", "record") == 0
        made = capsys.readouterr().out.split()[0]
        async with asyncio.timeout(20):
            while True:
                new.write_bytes((await house.client.get(f"/v1/matches/{match}/record")).content)
                if json.loads(new.read_bytes().splitlines()[0])["key_id"] == made:
                    break
                await asyncio.sleep(0.1)
        keys = (await house.client.get("/.well-known/jwks.json")).json()["keys"]
        spans = {key["kid"]: (key["macao_since_ms"], key["macao_until_ms"]) for key in keys}
        assert spans[before][1] == spans[made][0] > spans[before][0]
        assert spans[made][1] is None
        (tmp_path / "keys.json").write_text(json.dumps({"keys": keys}))
        for record in (old, new):
            assert await macao("verify", str(record), "--key", str(tmp_path / "keys.json")) == 0
        # What is signed of the log goes on, and everything that was signed before holds.
        second = await house.started(anna, bela)
        await house.played(second, anna, bela)
        await house.until("/log/checkpoint", lambda found: found["key_id"] == made)
        assert await macao("audit", "--all", "--key", str(tmp_path / "keys.json")) == 0


async def test_wrong_calls_are_answered_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await macao("keys", "renew") == 1
    assert await macao("keys", "make") == 0
    made = capsys.readouterr().out.strip()
    monkeypatch.setenv("MACAO_DATABASE_URL", "postgresql://localhost:1/none")
    for value, told in {
        "abc": "macao keys make makes a good one", made: "the database cannot be reached",
    }.items():  # fmt: skip
        monkeypatch.setenv("MACAO_SECRET_KEY", value)
        assert await macao("keys") == 1
        assert told in capsys.readouterr().err
