"""Scopes beyond play: granted and withdrawn on the command line, by the owner of the schema only."""

import asyncio

import asyncpg
import pytest

from services.cli.main import main
from tests.players.conftest import PASSWORD, Person, site_of


async def macao(*arguments):
    """Run the command line beside the loop; returns the exit code."""
    return await asyncio.to_thread(main, list(arguments))


async def scopes_of(site, token):
    return (await site.whoami(token)).json().get("scopes")


async def test_a_guest_plays_and_nothing_else(site):
    ana = await site.guest()
    assert await scopes_of(site, ana.token) == ["play"]


async def test_a_grant_holds_from_the_next_refresh_and_at_every_sign_in(site, database, capsys):
    ana = await site.account("Ana")
    assert await macao("grant", "ANA", "audit", "--database", database) == 0
    assert capsys.readouterr().out.startswith(f"{ana.id} may audit, play; audit is in the tokens")
    assert await scopes_of(site, ana.token) == ["play"]
    await ana.refresh()
    assert await scopes_of(site, ana.token) == ["audit", "play"]
    back = Person(site.client, (await site.sign_in("Ana", PASSWORD)).json())
    assert await scopes_of(site, back.token) == ["audit", "play"]
    assert await macao("grant", ana.id, "operate", "--database", database) == 0
    assert await macao("grant", ana.id, "operate", "--database", database) == 0
    await ana.refresh()
    assert await scopes_of(site, ana.token) == ["audit", "operate", "play"]
    capsys.readouterr()
    assert await macao("grant", ana.id, "--database", database) == 0
    assert capsys.readouterr().out == f"{ana.id} may audit, operate, play\n"


async def test_what_is_withdrawn_is_gone_within_seconds_and_nobody_is_logged_out(database):
    async with site_of(database, poll_seconds=60.0) as site:
        ana = await site.guest()
        for scope in ("audit", "operate"):
            assert await macao("grant", ana.id, scope, "--database", database) == 0
        await ana.refresh()
        named = {}
        for scope in ("play", "audit", "operate"):
            answer = await ana.ask("POST", "/players/me/tokens", {"name": scope, "scopes": [scope]})
            named[scope] = answer.json()["token"]
        assert await macao("grant", ana.id, "operate", "--withdraw", "--database", database) == 0
        async with asyncio.timeout(5):
            while await scopes_of(site, ana.token) or await scopes_of(site, named["operate"]):
                await asyncio.sleep(0.05)
        assert (await ana.refresh()).status_code == 200
        assert await scopes_of(site, ana.token) == ["audit", "play"]
        assert await scopes_of(site, named["play"]) == ["play"]
        assert await scopes_of(site, named["audit"]) == ["audit"]
        refused = await ana.ask("POST", "/players/me/tokens", {"name": "again", "scopes": ["operate"]})
        assert refused.json()["code"] == "forbidden"


async def test_no_named_token_is_made_of_a_scope_that_is_withdrawn_at_this_moment(database):
    async with site_of(database, poll_seconds=60.0) as site:
        ana = await site.guest()
        assert await macao("grant", ana.id, "audit", "--database", database) == 0
        await ana.refresh()
        connection = await asyncpg.connect(database)
        await connection.execute("DELETE FROM macao_runtime.grants")
        await connection.close()
        answer = await ana.ask("POST", "/players/me/tokens", {"name": "late", "scopes": ["audit"]})
        assert (answer.status_code, answer.json()["params"]) == (403, {"scope": "audit"})


async def test_the_service_cannot_grant(site):
    ana = await site.guest()
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await site.platform.database.pool.execute(
            "INSERT INTO macao_runtime.grants (player, scope) VALUES ($1, 'operate')", ana.id
        )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nobody at all", "audit"], "there is no player nobody at all"),
        (["p_00000000000000000000000000", "audit"], "there is no player p_0000"),
        (["Ana", "--withdraw"], "say which scope"),
    ],
)
async def test_what_cannot_be_granted_is_told_in_one_line(database, capsys, arguments, told):
    assert await macao("grant", *arguments, "--database", database) == 1
    errors = capsys.readouterr().err
    assert told in errors
    assert errors.count("\n") == 1
