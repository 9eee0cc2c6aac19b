"""Signing keys and the vault."""

import asyncio
import base64
import hmac
from hashlib import sha256

import asyncpg
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from services.runtime.clock import SystemClock, system_entropy
from services.runtime.database import Database
from services.runtime.tokens.keyring import create_key
from services.runtime.tokens.tokens import Tokens
from services.runtime.vault import Vault, VaultError
from tests.http.app import SECRET_KEY, TurnableClock, settings_of


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
        assert sorted(key.purpose for key in keys[0]) == [
            "record",
            "token",
        ]  # both perhaps of one millisecond
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
            await create_key(connection, vault(), "token", SystemClock(), system_entropy)
            await first.keyring._load(connection)
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
        with pytest.raises(VaultError, match="is not in MACAO_SECRET_KEY"):
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


OTHER_KEY = base64.urlsafe_b64encode(bytes(range(1, 33))).decode()


def test_the_first_key_encrypts_and_all_of_them_decrypt():
    old, both, new = vault(), vault(f"{OTHER_KEY}, {SECRET_KEY}"), vault(OTHER_KEY)
    before, after = old.encrypt("seed", b"secret", b"m_1"), both.encrypt("seed", b"secret", b"m_1")
    assert both.decrypt("seed", before, b"m_1") == both.decrypt("seed", after, b"m_1") == b"secret"
    assert new.decrypt("seed", after, b"m_1") == b"secret"
    assert both.key_ids == (*new.key_ids, *old.key_ids)
    assert [box.is_current(after) for box in (old, both, new)] == [False, True, True]
    with pytest.raises(
        VaultError, match=f"with the key {old.key_ids[0]}, which is not .* that has {new.key_ids[0]}"
    ):
        new.decrypt("seed", before, b"m_1")
    assert not set(old.key_ids) & {SECRET_KEY[:8], bytes(range(4)).hex()}


def test_what_was_encrypted_before_keys_had_names_is_read():
    box = vault(f"{OTHER_KEY},{SECRET_KEY}")
    nameless = AESGCM(hmac.digest(bytes(range(32)), b"macao-derive/1\nencrypt\nseed", sha256))
    sealed = b"\x01" + bytes(12) + nameless.encrypt(bytes(12), b"secret", b"m_1")
    assert box.decrypt("seed", sealed, b"m_1") == b"secret"
    assert not box.is_current(sealed)
    with pytest.raises(VaultError, match="not in MACAO_SECRET_KEY"):
        vault(OTHER_KEY).decrypt("seed", sealed, b"m_1")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (f"{SECRET_KEY},", "number 2"), (f",{SECRET_KEY}", "number 1"), (f"{SECRET_KEY},{SECRET_KEY}", "twice"),
        (f"{SECRET_KEY},abc", "number 2 in MACAO_SECRET_KEY holds 2 bytes"),
    ],
)  # fmt: skip
def test_which_of_several_keys_is_malformed_is_told(keys, told):
    with pytest.raises(VaultError, match=told):
        vault(keys)


def test_what_is_derived_follows_from_the_lasting_secret():
    old, new = vault(), vault(f"{OTHER_KEY},{SECRET_KEY}")
    assert old.derive("invitation", "t_1") != new.derive("invitation", "t_1")
    new.lasting(new.oldest_root)
    assert old.derive("invitation", "t_1") == new.derive("invitation", "t_1")


async def test_a_key_that_is_to_follow_is_published_before_it_signs(database):
    clock = TurnableClock()
    pool, tokens = await tokens_of(database)
    tokens.keyring._clock = clock
    try:
        await tokens.open()
        async with pool.pool.acquire() as connection:
            await create_key(connection, vault(), "record", SystemClock(), system_entropy, 60)
            await tokens.keyring._load(connection)
        before, following = [key for key in tokens.public_keys() if key.purpose == "record"]
        assert (before.until_ms, following.until_ms) == (following.since_ms, None)
        first_id, signature = tokens.sign(b"record")
        assert first_id == before.id
        clock.forward_ms = 61_000
        assert tokens.sign(b"record")[0] == following.id
        assert await tokens.verify(first_id, b"record", signature)
    finally:
        await pool.close()


async def test_an_installation_from_before_goes_on_to_derive_from_its_key(database):
    pool, tokens = await tokens_of(database)
    await tokens.open()
    await pool.close()
    owner = await asyncpg.connect(database)
    await owner.execute("DELETE FROM macao_runtime.secrets")
    await owner.close()
    for keys in (SECRET_KEY, f"{OTHER_KEY},{SECRET_KEY}"):
        box, opened = vault(keys), Database(settings_of(database))
        await opened.open()
        await Tokens(opened, box, SystemClock(), system_entropy).open()
        assert box.derive("invitation", "t_1") == vault().derive("invitation", "t_1")
        await opened.close()
