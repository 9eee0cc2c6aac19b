"""Signing keys and the vault."""

import asyncio
import base64

import asyncpg
import pytest

from services.runtime.clock import SystemClock, system_entropy
from services.runtime.database import Database
from services.runtime.tokens.tokens import Tokens
from services.runtime.vault import Vault, VaultError
from tests.http.app import SECRET_KEY, settings_of


def vault(key=SECRET_KEY):
    return Vault(key, system_entropy)


async def tokens_of(url, key=SECRET_KEY):
    database = Database(settings_of(url))
    await database.open()
    tokens = Tokens(database, vault(key), SystemClock(), system_entropy)
    return database, tokens


async def test_many_processes_that_start_at_once_agree_on_one_key_each_for_tokens_and_records(database):
    opened = [await tokens_of(database) for _ in range(6)]
    try:
        await asyncio.gather(*(tokens.open() for _, tokens in opened))
        keys = [tokens.public_keys() for _, tokens in opened]
        assert all(one == keys[0] for one in keys)
        assert [key.purpose for key in keys[0]] == ["token", "record"]
        assert all(abs(key.since_ms - SystemClock().now_ms()) < 60_000 for key in keys[0])
        token = opened[0][1].access_token("p_1", frozenset({"play"}))
        assert (await opened[5][1].caller_of(token)).player == "p_1"
        key_id, signature = opened[1][1].sign(b"record")
        assert await opened[2][1].verify(key_id, b"record", signature)
        assert not await opened[2][1].verify(key_id, b"Record", signature)
    finally:
        for pool, _ in opened:
            await pool.close()


async def test_a_key_that_another_process_made_since_is_taken_when_it_is_met(database):
    first_pool, first = await tokens_of(database)
    second_pool, second = await tokens_of(database)
    try:
        await first.open()
        await second.open()
        await first_pool.pool.execute("SELECT 1")
        async with first_pool.pool.acquire() as connection:
            await first.keyring._create(connection, "token")
        token = first.access_token("p_2", frozenset())
        assert (await second.caller_of(token)).player == "p_2"
    finally:
        await first_pool.close()
        await second_pool.close()


async def test_another_secret_key_is_told_in_one_line(database):
    pool, tokens = await tokens_of(database)
    await tokens.open()
    await pool.close()
    pool, tokens = await tokens_of(database, base64.urlsafe_b64encode(bytes(32)).decode())
    try:
        with pytest.raises(VaultError, match="MACAO_SECRET_KEY is not the key"):
            await tokens.open()
    finally:
        await pool.close()


async def test_private_keys_lie_encrypted(database):
    pool, tokens = await tokens_of(database)
    await tokens.open()
    await pool.close()
    connection = await asyncpg.connect(database)
    rows = await connection.fetch("SELECT private_key FROM macao_runtime.signing_keys")
    await connection.close()
    raw = [tokens.keyring.signer(purpose)[1].private_bytes_raw() for purpose in ("token", "record")]
    assert len(rows) == 2
    assert not any(secret in row["private_key"] for row in rows for secret in raw)


def test_the_vault_gives_back_what_it_took():
    box = vault()
    sealed = box.encrypt("seed", b"secret", b"m_1")
    assert box.decrypt("seed", sealed, b"m_1") == b"secret"
    assert b"secret" not in sealed
    assert box.encrypt("seed", b"secret", b"m_1") != sealed


@pytest.mark.parametrize(
    ("purpose", "about", "cut"), [("key", b"m_1", 0), ("seed", b"m_2", 0), ("seed", b"m_1", 1)]
)
def test_the_vault_notices_another_purpose_row_or_byte(purpose, about, cut):
    box = vault()
    sealed = box.encrypt("seed", b"secret", b"m_1")
    with pytest.raises(VaultError):
        box.decrypt(purpose, sealed[: len(sealed) - cut], about)


@pytest.mark.parametrize(
    "key", ["", "abc", "!" * 43, base64.urlsafe_b64encode(bytes(range(31))).decode(), "é" * 43]
)
def test_a_malformed_secret_key_is_told(key):
    with pytest.raises(VaultError, match="MACAO_SECRET_KEY"):
        vault(key)
