"""Several PostgreSQL under Compose: the override comes up from nothing, and matches live in every log."""

import os
import random
from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from services.contracts.ids import log_of
from services.engine.audit import audit
from services.engine.record import read_record
from services.engine.rules.catalogue import CATALOGUE
from tests.deploy.installation import Installation
from tests.support.players import Table
from tests.support.up import wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("MACAO_COMPOSE_LOGS"), reason="takes two minutes: MACAO_COMPOSE_LOGS=1"
    ),
]

LOGS: Final = {"main": "postgres", "north": "postgres-b", "south": "postgres-c"}
MATCHES_MAX: Final = 40


@pytest.fixture(scope="module")
def spread(compose: list[str]) -> Iterator[Installation]:
    """Three PostgreSQL and a log on each."""
    with Installation(compose, "compose.logs.yaml") as installation:
        yield installation


def asked(installation: Installation, server: str, sql: str) -> list[str]:
    """Ask one of the servers, as its owner."""
    return installation.run(
        "exec", "-T", server, "psql", "-h", "/var/run/postgresql", "-U", "macao", "-Atc", sql
    ).splitlines()


def test_matches_live_in_every_log_and_are_played_through_the_proxy(spread: Installation) -> None:
    played: dict[str, Table] = {}
    with httpx.Client(base_url=spread.url, timeout=30) as client:
        for number in range(MATCHES_MAX):
            table = Table.seat(client, 2, {"chips_to_win": 1})
            table.play(random.Random(number))
            played.setdefault(log_of(table.match), table)
            if set(played) == set(LOGS):
                break
        assert set(played) == set(LOGS)
        for log, table in played.items():
            record = client.get(f"/v1/matches/{table.match}/record").raise_for_status().content
            verdict = audit(read_record(record.splitlines(keepends=True)), CATALOGUE)
            assert verdict.sound, verdict
            for other, server in LOGS.items():
                schema = "macao_log" if other == "main" else f"macao_log_{other}"
                found = asked(spread, server, f"SELECT id FROM {schema}.streams WHERE id = '{table.match}'")
                assert found == ([table.match] if other == log else [])

        # One history over all of them.
        def all_are_told() -> bool:
            return all(
                [(one["id"], one["status"]) for one in table.players[0].read(path)["items"]]
                == [(table.match, "ended")]
                for table in played.values()
                for path in [f"/v1/players/{table.players[0].id}/matches"]
            )

        wait_for(all_are_told)


def test_services_hold_the_rights_of_services_on_every_server(spread: Installation) -> None:
    who = "SELECT DISTINCT usename FROM pg_stat_activity WHERE application_name LIKE 'macao%'"
    for server in LOGS.values():
        assert asked(spread, server, who) == ["macao_service"]


def test_coming_up_again_changes_nothing(spread: Installation) -> None:
    before = asked(spread, "postgres", "SELECT * FROM macao_runtime.logs ORDER BY name")
    assert len(before) == len(LOGS)
    spread.run("up", "-d")
    spread.wait_healthy()
    assert "north is there already, on b" in spread.run("logs", "--no-color", "add-north")
    assert asked(spread, "postgres", "SELECT * FROM macao_runtime.logs ORDER BY name") == before
