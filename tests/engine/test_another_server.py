"""What a process remembers of a match is forgotten when another server answers that does not have all of it."""

import asyncio
from typing import Any

from tests.engine.conftest import Engine
from tests.tree.rewriting import operator


async def forget_since(database: str, match: str, version: int, head: str) -> None:
    """Have the database be as it was at a version of the match."""
    async with operator(database) as owner:
        await owner.execute(
            "DELETE FROM macao_log.commands WHERE id IN"
            " (SELECT command FROM macao_log.events WHERE stream = $1 AND version > $2)",
            match,
            version,
        )
        await owner.execute("DELETE FROM macao_log.events WHERE stream = $1 AND version > $2", match, version)
        await owner.execute(
            "UPDATE macao_log.streams SET version = $2, hash = decode($3, 'hex') WHERE id = $1",
            match,
            version,
            head,
        )


async def cut_off(engine: Engine, database: str, match: str) -> None:
    """Break every connection to the database, and wait until the service has noticed: until then it is unavailable."""
    async with operator(database) as owner:
        await owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    async with asyncio.timeout(10):
        while (answer := await engine.as_(None, "GET", f"/v1/matches/{match}")).status_code == 503:
            await asyncio.sleep(0.05)
    assert answer.status_code == 200


async def further_than_the_log(engine: Engine, database: str, match: str) -> tuple[dict[str, Any], int]:
    """Make a move, and have the log forget it; return how the match stands in the log, and the version that is gone."""
    then = await engine.view(match)
    head = (await engine.events(match))[-1]["hash"]
    assert (await engine.move(match, "p_0", {"type": "roll"})).status_code == 200
    gone = (await engine.view(match))["version"]
    assert gone > then["version"]
    await forget_since(database, match, then["version"], head)
    return then, gone


async def plays_on(engine: Engine, match: str) -> None:
    assert (await engine.move(match, "p_0", {"type": "roll"})).status_code == 200
    events = await engine.events(match)
    assert [event["version"] for event in events] == list(range(1, len(events) + 1))


async def test_after_a_reconnection_a_match_is_what_the_new_server_has(engine: Engine, database: str) -> None:
    match, other = await engine.start(), await engine.start()
    then, _ = await further_than_the_log(engine, database, match)
    await cut_off(engine, database, other)
    # Somebody finds the new server.
    assert (await engine.move(other, "p_0", {"type": "roll"})).status_code == 200
    view = await engine.view(match)
    assert (view["version"], view["view"]) == (then["version"], then["view"])
    await plays_on(engine, match)


async def test_who_moves_on_from_what_is_gone_is_told_to_look_again(engine: Engine, database: str) -> None:
    match = await engine.start()
    then, gone = await further_than_the_log(engine, database, match)
    key = {"If-Match": f'"{gone}"', "Idempotency-Key": "one-move"}
    first = await engine.move(match, "p_0", {"type": "roll"}, **key)
    again = await engine.move(match, "p_0", {"type": "roll"}, **key)
    assert (first.json()["code"], again.json()["code"]) == ("unavailable", "stale-version")
    assert (await engine.view(match))["version"] == then["version"]
    await plays_on(engine, match)
