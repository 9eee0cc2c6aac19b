"""A player who was erased is named nowhere any more, and nothing of the log has changed."""

import asyncio
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from services.cli.commands import erase as command
from services.contracts.chain import GENESIS
from services.contracts.events.catalogue import decode, encode, fact_of
from services.contracts.ids import TABLE, make_id
from services.engine.disputes.words import ERASED
from services.lobby.tables.keeper import Keeper
from services.lobby.tables.seated import tables_of
from services.lobby.tables.streams import TableStreams
from services.runtime.clock import SystemClock
from services.runtime.database import Database
from services.runtime.erasing import ERASED_NAME
from services.runtime.log import EventLog
from services.runtime.logs.adding import Sites, add_log
from services.runtime.players import CACHE_SECONDS
from services.runtime.web.idempotency import Command
from tests.http.app import settings_of
from tests.logs.conftest import spread, stream_in, write
from tests.privacy.everywhere import log_of, places_of
from tests.privacy.house import PASSWORD, House, Person, apart, house_of, macao

NAME = "Theodora Quill"


async def lived(house: House, database: str) -> tuple[Person, Person, Person, str, str]:
    """Give a player a life: an account, a token, a match, and disputes in which everybody says the name."""
    theodora, bela, ruth = [await house.account(name) for name in (NAME, "Bela", "Ruth")]
    assert await macao("grant", ruth.id, "audit", "--database", database) == 0
    await theodora.done("POST", "/players/me/tokens", {"name": f"bot of {NAME}", "scopes": ["play"]})
    match = await house.started(theodora, bela)
    await house.played(match, theodora, bela)
    refreshed = await house.client.post("/v1/tokens/refresh", json={"refresh_token": ruth.refresh_token})
    ruth.token = refreshed.json()["token"]
    complaint = {"version": 3, "complaint": f"I, {NAME}, do not believe it."}
    dispute = (await theodora.done("POST", f"/matches/{match}/disputes", complaint))["id"]
    other = await bela.done(
        "POST", f"/matches/{match}/disputes", {"version": 4, "complaint": f"It was {NAME.upper()} who slept."}
    )
    assert NAME.upper() in other["complaint"]
    reasons = {"verdict": "dismissed", "match": "stands", "reasons": f"{NAME} rolled a four."}
    ruled = await ruth.done("POST", f"/disputes/{dispute}/ruling", reasons)
    assert (NAME in ruled["complaint"], NAME in ruled["ruling"]["reasons"]) == (True, True)
    await house.until(f"/leaderboards/dice-race/players/{theodora.id}", lambda found: found["player"])
    await house.until_ended(theodora, match)
    return theodora, bela, ruth, match, dispute


async def rebuilt(database: str) -> None:
    """Build every table anew; on a busy machine the command may ask to be run again."""
    for _ in range(5):
        if await apart("rebuild", "--all", "--database", database) == 0:
            return
    raise AssertionError("the projections could not be built anew")


def named(found: Any, player: str) -> list[str | None]:
    """Return what a player is called in a JSON document, wherever it stands."""
    if isinstance(found, list):
        return [name for each in found for name in named(each, player)]
    if not isinstance(found, dict):
        return []
    here = [found["name"]] if found.get("player") == player and "name" in found else []
    return here + [name for each in found.values() for name in named(each, player)]


async def shown(house: House, theodora: Person, match: str, dispute: str) -> dict[str, list[str | None]]:
    """Return what the player is called on every page that shows names."""
    pages = {
        "match": f"/matches/{match}",
        "leaderboard": "/leaderboards/dice-race",
        "standing": f"/leaderboards/dice-race/players/{theodora.id}",
        "history": f"/players/{theodora.id}/matches",
        "stats": f"/players/{theodora.id}/stats",
        "records": "/records/dice-race",
        "case": f"/disputes/{dispute}/case",
        "board": "/lobby",
        "tables": "/tables",
    }
    found = {}
    for page, path in pages.items():
        answer = await house.client.get(f"/v1{path}")
        assert answer.status_code == 200, (page, answer.text)
        assert NAME not in answer.text or page != "case"
        found[page] = named(answer.json(), theodora.id)
    return found


@pytest.mark.usefixtures("names_are_asked_for")
async def test_an_operator_erases_a_player_and_every_chain_holds(
    house: House, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theodora, bela, _, match, dispute = await lived(house, database)
    events, before = await log_of(database)
    record = (await house.client.get(f"/v1/matches/{match}/record")).content
    assert {
        "macao_runtime.players.name",
        "macao_runtime.named_tokens.name",
        "macao_engine.dispute_words.words",
    } == set(await places_of(database, NAME))

    # Only told, not done.
    assert await macao("erase", NAME, "--database", database) == 1
    told = capsys.readouterr().out
    assert "to be freed.\nNothing was erased. Add --yes" in told
    assert await log_of(database) == (events, before)
    assert len(await places_of(database, NAME)) == 3

    assert await macao("erase", NAME, "--yes", "--database", database) == 0
    assert (
        f"{theodora.id} is erased: the name, 1 sessions, 1 named tokens, 3 texts" in capsys.readouterr().out
    )
    assert await places_of(database, NAME) == []
    for word in (*NAME.split(), "theodoraquill"):
        assert await places_of(database, word) == [], word
    # What was in the log is as it was; what is new are the seats that became free.
    assert await log_of(database, events) == (events, before)

    # Nobody comes in as this player any more.
    await house.until("/lobby", lambda _: theodora.id in house.platform.tokens.revocations, 5.0)
    assert (await theodora.ask("GET", "/players/me")).json()["code"] == "unauthenticated"
    refused = await house.client.post("/v1/tokens/refresh", json={"refresh_token": theodora.refresh_token})
    assert refused.json()["code"] == "refresh-token-invalid"
    refused = await house.client.post("/v1/tokens", json={"name": NAME, "password": PASSWORD})
    assert refused.json()["code"] == "credentials-wrong"

    # Everywhere a neutral name, the same after all tables were built anew.
    for is_new in (False, True):
        if is_new:
            await rebuilt(database)
        found = await shown(house, theodora, match, dispute)
        assert {name for names in found.values() for name in names} == {ERASED_NAME}
        assert all(
            found[page]
            for page in ("match", "leaderboard", "standing", "history", "stats", "records", "case")
        )
    assert await places_of(database, NAME) == []
    told = (await house.client.get(f"/v1/disputes/{dispute}")).json()
    assert (told["complaint"], told["ruling"]["reasons"], told["ruling"]["verdict"]) == (
        ERASED,
        ERASED,
        "dismissed",
    )

    # The record is the same, byte for byte, and still true.
    after = (await house.client.get(f"/v1/matches/{match}/record")).content
    assert after == record
    (tmp_path / "match.ndjson").write_bytes(after)
    assert await macao("verify", str(tmp_path / "match.ndjson")) == 0
    assert await macao("audit", match, "--database", database) == 0

    # It can be asked for again, and the name is free again.
    assert await macao("erase", theodora.id, "--yes", "--database", database) == 0
    assert "was erased before" in capsys.readouterr().out
    assert await macao("erase", NAME, "--yes", "--database", database) == 1
    again = await house.account(NAME)
    assert again.id not in {theodora.id, bela.id}


async def seats_of(house: House, table: str) -> list[str | None]:
    found = (await house.client.get(f"/v1/tables/{table}")).json()
    return [seat["player"] for seat in found["seats"]]


async def test_an_operator_frees_the_seats_while_no_service_runs(
    database: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with house_of(database) as house:
        theodora, bela = await house.account(NAME), await house.account("Bela")
        hosted = (await house.table(theodora, bela))["id"]
        joined = (await house.table(bela, theodora))["id"]
        alone = (await house.table(theodora))["id"]
        stood_up = (await house.table(bela, theodora))["id"]
        await theodora.done("POST", f"/tables/{stood_up}/leave")
        match = await house.started(theodora, bela)
        await house.until("/tables?state=playing", lambda found: found["items"])
    connection = await asyncpg.connect(database)
    # The board has seen some of this and not all: it was stopped in between.
    behind = await connection.fetchval(
        "SELECT position FROM macao_log.events WHERE stream = $1 AND version = 1", joined
    )
    await connection.execute(
        "UPDATE macao_log.subscriptions SET position = $1, event_hash = (SELECT hash FROM macao_log.events"
        " WHERE position = $1) WHERE name = 'lobby-tables'",
        behind - 1,
    )
    await connection.execute("DELETE FROM macao_lobby.tables WHERE id >= $1", joined)

    assert await macao("erase", NAME, "--yes", "--database", database) == 0
    told = capsys.readouterr().out
    for table in (hosted, joined, alone):
        assert f"The seat at the table {table} is freed." in told
    assert stood_up not in told
    assert f"sits in the match {match}, which is running" in told
    rows = await connection.fetch(
        "SELECT stream, type FROM macao_log.events WHERE actor = 'operator' ORDER BY position"
    )
    left = {table: [row[1] for row in rows if row[0] == table] for table in (hosted, joined, alone)}
    assert left == {
        hosted: ["player-left", "host-passed"],
        joined: ["player-left"],
        alone: ["player-left", "table-closed"],
    }
    assert len(rows) == 5
    # Run again, it finds what is left to do, which is nothing but to wait.
    assert await macao("erase", theodora.id, "--yes", "--database", database) == 0
    told = capsys.readouterr().out
    assert "was erased before" in told
    assert "freed.\n" not in told.replace("then the seat is freed.\n", "")
    assert await connection.fetchval("SELECT count(*) FROM macao_log.events WHERE actor = 'operator'") == 5
    await connection.close()

    async with house_of(database) as house:
        bela = bela.at(house.client)
        assert await seats_of(house, hosted) == [None, bela.id]
        assert (await house.client.get(f"/v1/tables/{hosted}")).json()["host"] == bela.id
        assert await seats_of(house, joined) == [bela.id, None]
        assert (await house.client.get(f"/v1/tables/{alone}")).json()["state"] == "closed"
        # The match goes on under a neutral name; when it is over, nobody is kept waiting for somebody who is gone.
        view = (await house.client.get(f"/v1/matches/{match}")).json()
        assert (view["status"], view["seats"][0]["name"]) == ("running", ERASED_NAME)
        await bela.done("POST", f"/matches/{match}/moves", {"move": {"type": "leave"}})
        table = view["table"]
        await house.until(f"/tables/{table}", lambda found: found["state"] == "closed")
        for stream in (match, hosted, joined, alone, table):
            assert await _chained(database, stream)
    assert await macao("audit", "--all", "--database", database) == 0


async def _chained(database: str, stream: str) -> bool:
    """Say whether each event of a stream follows from the one before."""
    async with Database(settings_of(database)) as opened, EventLog(opened) as log:
        events = [recorded.event for recorded in await log.read_stream(stream)]
    hashes = [GENESIS, *(event.hash for event in events)]
    return bool(events) and all(
        (event.previous, event.recomputed_hash()) == (hashes[at], hashes[at + 1])
        for at, event in enumerate(events)
    )


async def test_where_there_are_several_logs_the_board_is_behind_by_the_reading_order(database: str) -> None:
    async with house_of(database) as house:
        theodora = await house.account(NAME)
        first = (await house.table(theodora))["id"]
        await house.until("/tables", lambda found: len(found["items"]) == 1)
    await add_log(Sites(database, {}), "north", "main")
    async with spread(database) as log:
        for _ in range(3):
            await write(log, stream_in("north"), b"{}")
        async with asyncio.timeout(10):
            while len(await log.read_all(0)) < await log.head_position():
                await asyncio.sleep(0.02)
        # The board has come to here, a position of the order and further than any of the main log.
        end = (await log.read_all(0))[-1]
        await log.database.pool.execute(
            "UPDATE macao_log.subscriptions SET position = $1, event_hash = $2 WHERE name = 'lobby-tables'",
            end.position,
            end.event.hash,
        )
        streams = TableStreams(log, SystemClock())
        assert [one.id for one in await tables_of(log.database.pool, streams, theodora.id)] == [first]
        # What comes now it has not worked off.
        opened = [fact_of(recorded.event) for recorded in await log.read_stream(first)]
        command = Command("c_later", b"0" * 32)
        second = make_id(TABLE, 1, b"0123456789")
        await streams.append(second, None, opened, actor=theodora.id, command=command, cause=None)
        found = await tables_of(log.database.pool, streams, theodora.id)
        assert {one.id for one in found} == {first, second}
        assert await tables_of(log.database.pool, streams, "p_01KB9YTEST0000000000000000") == []


@pytest.mark.usefixtures("names_are_asked_for")
async def test_players_erase_themselves(house: House, database: str) -> None:
    theodora, bela, _, match, _ = await lived(house, database)
    open_table = await house.table(bela, theodora)
    second = await house.started(theodora, bela)
    refused = await theodora.ask("DELETE", "/players/me")
    assert (refused.status_code, refused.json()["code"]) == (409, "match-running")
    assert refused.json()["params"]["match_id"] == second
    assert (await theodora.ask("GET", "/players/me")).json()["name"] == NAME
    await theodora.done("POST", f"/matches/{second}/moves", {"move": {"type": "leave"}})
    answer = await theodora.ask("DELETE", "/players/me")  # the table is still on its way to hear of the end
    assert answer.status_code == 204, answer.text
    assert await places_of(database, NAME) == []
    assert (await theodora.ask("GET", "/players/me")).status_code == 401
    seats = (await house.client.get(f"/v1/tables/{open_table['id']}")).json()["seats"]
    assert [seat["player"] for seat in seats] == [bela.id, None]
    assert (await house.client.get(f"/v1/matches/{match}/audit")).json()["sound"]


async def test_whose_match_is_over_in_the_log_is_free_at_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: Any) -> None:
        """Be a keeper that is late for good."""

    monkeypatch.setattr(Keeper, "_settle", deaf)
    theodora, bela = [await house.account(name) for name in (NAME, "Bela")]
    table = (await house.table(theodora, bela))["id"]
    match = (await theodora.done("POST", f"/tables/{table}/start"))["match_id"]
    await house.played(match, theodora, bela)
    assert (await bela.done("GET", f"/tables/{table}"))["state"] == "playing"
    answer = await theodora.ask("DELETE", "/players/me")
    assert answer.status_code == 204, answer.text
    after = await bela.done("GET", f"/tables/{table}")
    assert (after["state"], [seat["player"] for seat in after["seats"]]) == ("open", [None, bela.id])
    assert after["host"] == bela.id


async def test_a_program_does_not_erase_its_owner(house: House) -> None:
    bela = await house.account("Bela")
    named_token = await bela.done("POST", "/players/me/tokens", {"name": "bot", "scopes": ["play"]})
    bela.token = named_token["token"]
    assert (await bela.ask("DELETE", "/players/me")).json()["code"] == "sign-in-needed"


async def test_a_stranger_of_the_same_name_keeps_what_others_wrote(house: House, database: str) -> None:
    theodora, bela = await house.account("Theodora"), await house.account("Bela")
    cora, stranger = (
        await house.account("Cora"),
        await house.client.post("/v1/players", json={"name": "Theodora"}),
    )
    match = await house.started(bela, cora)
    await house.played(match, bela, cora)
    said = await bela.done(
        "POST", f"/matches/{match}/disputes", {"version": 3, "complaint": "Theodora told me."}
    )
    assert await macao("erase", theodora.id, "--yes", "--database", database) == 0
    kept = await house.client.get(f"/v1/disputes/{said['id']}")
    assert kept.json()["complaint"] == "Theodora told me."
    assert stranger.json()["player"]["id"] != theodora.id
    assert (
        await places_of(database, "Theodora")
        == ["macao_runtime.players.name", "macao_engine.dispute_words.words"][::-1]
    )
    # What a third person is called in a dispute is erased by itself.
    assert await macao("erase", said["id"], "--database", database) == 1
    assert await macao("erase", said["id"], "--yes", "--database", database) == 0
    assert (await house.client.get(f"/v1/disputes/{said['id']}")).json()["complaint"] == ERASED
    assert await macao("erase", said["id"], "--yes", "--database", database) == 0


async def test_a_seed_does_not_name_its_player(house: House) -> None:
    theodora = await house.account(NAME)
    table = await house.table(theodora)
    for seed, told in {
        "theodora": "name", "luck-of-Quill": "name", "xXTheod0raQuillXx": "name",
        "my-own-luck": None, "quilled": None, "q-l": None,
    }.items():  # fmt: skip
        answer = await theodora.ask("PUT", f"/tables/{table['id']}/seed", {"seed": seed})
        assert answer.json().get("params", {}).get("rule") == told, seed
        assert answer.status_code == (200 if told is None else 422), seed


async def test_options_and_moves_hold_no_free_text(house: House, database: str) -> None:
    bela, cora = await house.account("Bela"), await house.account("Cora")
    for options in ({"note": NAME}, {"chips_to_win": NAME}, {"first": NAME}):
        answer = await bela.ask("POST", "/tables", {"game": "dice-race", "seats": 2, "options": options})
        assert answer.status_code in {400, 422}, answer.text
    match = await house.started(bela, cora)
    for move in ({"type": "roll", "note": NAME}, {"type": NAME}, {"type": "play", "cards": [NAME]}):
        answer = await bela.ask("POST", f"/matches/{match}/moves", {"move": move}, **{"If-Match": '"1"'})
        assert answer.status_code in {400, 409, 422}, answer.text
    assert await places_of(database, NAME) == []


def test_disputes_from_before_still_say_what_they_say() -> None:
    old = b'{"type":"dispute-ruled","verdict":"dismissed","match":"stands","reasons":"No."}'
    assert b'"reasons":{"seal":"","text":"No."}' in encode(decode("dispute-ruled", 1, old))


def test_the_command_says_how_long_names_are_remembered() -> None:
    assert command.NAMES_SECONDS == CACHE_SECONDS
