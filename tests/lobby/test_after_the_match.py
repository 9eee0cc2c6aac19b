"""A match is over as soon as the log has its end: whoever acts at the table then need not wait for it to hear."""

from __future__ import annotations

from typing import Any

import pytest

from services.lobby.tables.keeper import Keeper
from tests.privacy.house import House, Person, house_of


async def over(house: House, anna: Person, bela: Person) -> str:
    """Play a match to its end; returns the table, which does not know of it."""
    table = (await house.table(anna, bela))["id"]
    match = (await anna.done("POST", f"/tables/{table}/start"))["match_id"]
    for path, body in ((f"/tables/{table}/leave", None), (f"/tables/{table}/start", None)):
        assert (await anna.ask("POST", path, body)).json()["code"] == "match-running"
    await house.played(match, anna, bela)
    assert (await anna.done("GET", f"/tables/{table}"))["state"] == "playing"
    return table


async def test_who_acts_at_a_table_whose_match_is_over_is_not_told_to_wait(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def deaf(*_: Any) -> None:
        """Be a keeper that is late for good."""

    monkeypatch.setattr(Keeper, "_settle", deaf)
    async with house_of(database) as house:
        anna, bela, cleo = [await house.account(name) for name in ("Anna", "Bela", "Cleo")]
        left = await bela.done("POST", f"/tables/{await over(house, anna, bela)}/leave")
        assert (left["state"], left["seats"][1]["player"]) == ("open", None)
        table = await over(house, anna, bela)
        again = await anna.done("POST", f"/tables/{table}/start")
        assert (await anna.done("GET", f"/matches/{again['match_id']}"))["status"] == "running"
        table = await over(house, anna, bela)
        full = await cleo.ask("POST", f"/tables/{table}/join", {})
        assert full.json()["code"] == "table-full", "and not match-running"
        table = await over(house, anna, bela)
        assert (await anna.ask("PATCH", f"/tables/{table}", {"rated": False})).status_code == 200
        table = await over(house, anna, bela)
        assert (await anna.ask("PUT", f"/tables/{table}/seed", {"seed": "mine"})).status_code == 200
