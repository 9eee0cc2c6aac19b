"""Records of ended matches in a directory and in a bucket: each once, whole, and checked without the service."""

import gzip
import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from services.cli.archiving.place import Place, PlaceError
from services.contracts.ids import MATCH, make_id
from tests.disputes.hall import AUDITOR
from tests.http.app import SECRET_KEY
from tests.privacy.house import House, Person, house_of, macao
from tests.privacy.small_s3 import ACCESS_KEY, SmallS3, small_s3
from tests.privacy.test_keys import NEW_KEY
from tests.support.databases import Databases

REAL_S3: Final = os.environ.get("MACAO_TEST_S3", "")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallS3]:
    with small_s3() as server:
        for name, value in {
            "AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-north-1",
            "AWS_ENDPOINT_URL": server.url,
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        yield server


async def ended(house: House, *players: Person) -> str:
    """Play a match to its end, and wait for its receipt."""
    match = await house.started(*players)
    await house.played(match, *players)
    await house.until(f"/matches/{match}/receipt", lambda _: True)
    return match


@pytest.fixture
def deployed(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("MACAO_DATABASE_URL", database)
    monkeypatch.setenv("MACAO_SECRET_KEY", SECRET_KEY)
    return database


async def test_ended_matches_are_kept_once_and_checked_without_the_service(
    deployed: str, bucket: SmallS3, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    directory, keys = str(tmp_path / "archive"), tmp_path / "keys.json"
    async with house_of(deployed) as house:
        anna, bela = await house.account("Anna"), await house.account("Bela")
        first, second = await ended(house, anna, bela), await ended(house, anna, bela)
        running = await house.started(anna, bela)
        keys.write_bytes((await house.client.get("/.well-known/jwks.json")).content)
        record = (await house.client.get(f"/v1/matches/{first}/record")).content

        # None is thirty days old.
        assert await macao("archive", directory) == 0
        assert capsysbinary.readouterr().out.startswith(b"0 matches written")
        assert await macao("archive", directory, "--older-than", "0", "--limit", "1") == 0
        assert await macao("archive", directory, "--older-than", "0") == 0
        assert await macao("archive", directory, "--older-than", "0") == 0
        said = capsysbinary.readouterr().out.decode().splitlines()
        assert [line.split()[0] for line in said] == ["1", "1", "0"]
        assert sorted(Place.at(directory).matches()) == sorted([first, second])
        assert running not in set(Place.at(directory).matches())

        assert await macao("archive", directory, "get", first) == 0
        assert capsysbinary.readouterr().out == record
        assert json.loads(record.splitlines()[-1])["receipt"] is not None
        assert await macao("archive", directory, "verify", "--key", str(keys)) == 0
        assert b"Sound: 2 records" in capsysbinary.readouterr().out

        # A ruling that voids a match adds to its record: it is archived anew.
        await house.platform.database.pool.execute(
            "INSERT INTO macao_runtime.players (id, name, kind) VALUES ($1, 'Ruth', 'guest')", AUDITOR
        )
        said_so = await anna.done("POST", f"/matches/{first}/disputes", {"version": 3, "complaint": "No!"})
        token = house.platform.tokens.access_token(AUDITOR, frozenset({"play", "audit"}))
        ruth = anna.at(house.client)
        ruth.token = token
        ruling = {"verdict": "upheld", "match": "void", "reasons": "Yes."}
        await ruth.done("POST", f"/disputes/{said_so['id']}/ruling", ruling)
        await house.until(
            f"/matches/{first}/receipt", lambda found: found["version"] > len(record.splitlines()) - 2
        )
        assert await macao("archive", directory, "--older-than", "0") == 0
        assert capsysbinary.readouterr().out.startswith(b"1 matches written")
        assert b"match-voided" in (Place.at(directory).get(first) or b"")

    # The service is gone; the archive is enough to replay and to audit, and what is wrong in it is named.
    assert await macao("archive", directory, "verify", "--offline", "--key", str(keys)) == 0
    (tmp_path / "one.ndjson").write_bytes(Place.at(directory).get(second) or b"")
    assert await macao("verify", str(tmp_path / "one.ndjson"), "--key", str(keys)) == 0
    assert await macao("replay", str(tmp_path / "one.ndjson"), "--all") == 0
    path = Path(directory) / "matches" / second[-2:] / f"{second}.ndjson.gz"
    whole = path.read_bytes()
    for changed, told in (
        (gzip.compress(gzip.decompress(whole).replace(b'"rolled"', b'"busted"', 1)), second.encode()),
        (whole[:-9], b"damaged"),
        (whole + b"x", b"damaged"),
        (gzip.compress(record), b"it is the record of another match"),
    ):
        path.write_bytes(changed)
        capsysbinary.readouterr()
        assert await macao("archive", directory, "verify", "--offline") == 1
        assert told in capsysbinary.readouterr().out
    path.unlink()
    assert await macao("archive", directory, "verify") == 1
    assert b"it was archived, and is not there" in capsysbinary.readouterr().out


async def test_a_bucket_holds_the_same(
    deployed: str, bucket: SmallS3, capsys: pytest.CaptureFixture[str]
) -> None:
    async with house_of(deployed) as house:
        anna, bela = await house.account("Anna"), await house.account("Bela")
        match = await ended(house, anna, bela)
        bucket.failures = 2  # it is asked again
        assert await macao("archive", "s3://records/macao", "--older-than", "0") == 0
        record = (await house.client.get(f"/v1/matches/{match}/record")).content
    (path,) = bucket.files
    assert path == f"/records/macao/matches/{match[-2:]}/{match}.ndjson.gz"
    assert gzip.decompress(bucket.files[path]) == record
    assert await macao("archive", "s3://records/macao", "verify") == 0
    assert "Sound: 1 records" in capsys.readouterr().out
    bucket.refuses = True
    assert await macao("archive", "s3://records/macao", "verify") == 1
    assert "cannot be listed" in capsys.readouterr().err


async def test_a_new_database_serves_what_the_archive_holds(
    deployed: str, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    directory, keys = str(tmp_path / "archive"), tmp_path / "keys.json"
    async with house_of(deployed) as house:
        anna, bela = await house.account("Anna"), await house.account("Bela")
        first, second = await ended(house, anna, bela), await ended(house, anna, bela)
        records = {
            match: (await house.client.get(f"/v1/matches/{match}/record")).content
            for match in (first, second)
        }
        keys.write_bytes((await house.client.get("/.well-known/jwks.json")).content)
        history = f"/players/{anna.id}/matches"
        await house.until(history, lambda found: [one["status"] for one in found["items"]] == ["ended"] * 2)
        assert await macao("archive", directory, "--older-than", "0") == 0

    async with databases.fresh() as anew:
        # Nothing of the old database is left, and there is another secret key.
        monkeypatch.setenv("MACAO_DATABASE_URL", anew)
        monkeypatch.setenv("MACAO_SECRET_KEY", NEW_KEY)
        assert await macao("archive", directory, "restore", first, "--key", str(keys)) == 0
        assert await macao("archive", directory, "restore", "--key", str(keys)) == 0
        assert "1 matches are in the log again, 1 were there before." in capsys.readouterr().out
        async with house_of(anew, NEW_KEY) as house:
            for match, record in records.items():
                after = (await house.client.get(f"/v1/matches/{match}/record")).content
                # The same events, byte for byte; another key signs, and another log gives the receipt.
                assert after.splitlines()[1:-1] == record.splitlines()[1:-1]
                assert (await house.client.get(f"/v1/matches/{match}/audit")).json()["sound"]
                step = await house.client.get(f"/v1/matches/{match}/steps/3")
                assert step.status_code == 200, step.text
                await house.until(f"/matches/{match}/receipt", lambda _: True)
            await house.until(
                history, lambda found: [one["status"] for one in found["items"]] == ["ended"] * 2
            )
            # And it goes on.
            await ended(house, await house.account("Cora"), await house.account("Dora"))
        for match in records:
            assert await macao("audit", match) == 0
        capsys.readouterr()
        # Commitments whose matches are in no archive are gone, and an audit does not keep that to itself.
        assert await macao("audit", "--all") == 1
        (finding,) = [
            line for line in capsys.readouterr().out.splitlines() if line.startswith("- log, chance")
        ]
        assert "commitments that were published, 1 are gone" in finding

    # What is not sound is left alone and named.
    async with databases.fresh() as another:
        monkeypatch.setenv("MACAO_DATABASE_URL", another)
        Place.at(directory).put(second, records[second].replace(b'"rolled"', b'"busted"', 1))
        assert await macao("archive", directory, "restore") == 1
        assert (said := capsys.readouterr().out).startswith(f"{second}: ")
        assert "1 matches are in the log again, 0 were there before; 1 were left." in said


@pytest.fixture(params=["small", "real"])
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """Give an address: of the small server of these tests, and of a real one, where MACAO_TEST_S3 names a bucket."""
    if request.param == "small":
        request.getfixturevalue("bucket")
        yield "s3://records/macao"
        return
    if not REAL_S3:
        pytest.skip("MACAO_TEST_S3=s3://bucket with AWS_… variables names a real store")
    yield f"{REAL_S3}/{uuid4().hex}"


async def test_a_bucket_is_enough_for_a_new_database(
    deployed: str, databases: Databases, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    keys = tmp_path / "keys.json"
    async with house_of(deployed) as house:
        match = await ended(house, await house.account("Anna"), await house.account("Bela"))
        record = (await house.client.get(f"/v1/matches/{match}/record")).content
        keys.write_bytes((await house.client.get("/.well-known/jwks.json")).content)
    assert await macao("archive", store, "--older-than", "0") == 0
    assert await macao("archive", store, "--older-than", "0") == 0
    said = capsysbinary.readouterr().out.decode().splitlines()
    assert [line.split()[0] for line in said] == ["1", "0"]
    assert await macao("archive", store, "get", match) == 0
    assert capsysbinary.readouterr().out == record
    assert await macao("archive", store, "get", "m_01KB9YTEST0000000000000000") == 1
    assert b"is not in" in capsysbinary.readouterr().err
    # Nothing but the bucket is left.
    assert await macao("archive", store, "verify", "--offline", "--key", str(keys)) == 0
    async with databases.fresh() as anew:
        monkeypatch.setenv("MACAO_DATABASE_URL", anew)
        monkeypatch.setenv("MACAO_SECRET_KEY", NEW_KEY)
        assert await macao("archive", store, "restore", "--key", str(keys)) == 0
        assert await macao("audit", match) == 0
        async with house_of(anew, NEW_KEY) as house:
            after = (await house.client.get(f"/v1/matches/{match}/record")).content
            assert after.splitlines()[1:-1] == record.splitlines()[1:-1]
    if store.startswith(f"{REAL_S3}/"):
        # More than a store lists in one answer.
        place = Place.at(f"{store}/many")
        many = {make_id(MATCH, 1, number.to_bytes(10)) for number in range(1_001)}
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda one: place.put(one, b"{}"), many))
        assert set(place.matches()) == many


async def test_a_match_whose_chain_is_broken_is_not_archived(
    deployed: str, bucket: SmallS3, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with house_of(deployed) as house:
        match = await ended(house, await house.account("Anna"), await house.account("Bela"))
        pool = house.platform.database.pool
        async with pool.acquire() as connection:
            await connection.execute("RESET ROLE")
            await connection.execute("ALTER TABLE macao_log.events DISABLE TRIGGER append_only")
            await connection.execute(
                "UPDATE macao_log.events SET body = replace(encode(body, 'escape'), '1', '2')::bytea"
                " WHERE stream = $1 AND version = 5",
                match,
            )
            await connection.execute("ALTER TABLE macao_log.events ENABLE ALWAYS TRIGGER append_only")
            await connection.execute("SET ROLE macao_app")
    assert await macao("archive", str(tmp_path / "archive"), "--older-than", "0") == 1
    assert "1 matches were left for another time" in (said := capsys.readouterr().out)
    assert match in said
    assert list(Place.at(str(tmp_path / "archive")).matches()) == []


async def test_wrong_calls_are_answered_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for arguments, told in (
        ((str(tmp_path), "get"), "say which match"),
        ((str(tmp_path), "get", "x"), "is not the id of a match"),
        ((str(tmp_path), "get", "m_01KB9YTEST0000000000000000"), "is not in"),
        ((str(tmp_path), "keep", "--older-than", "-1"), "--older-than"),
        (("ftp://host/x", "keep"), "neither a directory nor s3://bucket/prefix"),
        (("s3:///x", "keep"), "names no bucket"),
        ((f"{file}/below", "keep"), "cannot be used"),
    ):
        assert await macao("archive", *arguments) == 1
        assert told in capsys.readouterr().err, arguments
    with pytest.raises(PlaceError):
        Place.at("s3://")
