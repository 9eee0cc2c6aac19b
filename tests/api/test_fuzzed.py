"""Schemathesis over all three documents: no error of ours, no undocumented status, no schema violation, stateful.

``MACAO_FUZZ_EXAMPLES`` says how many cases it makes up for each operation and phase; CI takes a few, always the same.
Streams are left out, as they do not end; tests/http and tests/engine read them.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path

import httpx
import pytest

from services.engine.app import service as engine
from services.lobby.app import service as lobby
from services.projections.app import service as projections
from tests.http.serving import served
from tests.support.up import ROOT

EXAMPLES = int(os.environ.get("MACAO_FUZZ_EXAMPLES", "1"))
SECONDS_MAX = 120 if EXAMPLES == 1 else 7200
SIZE = ["--workers", "2"]
if EXAMPLES == 1:
    # The coverage phase goes through every bound of every field: thousands of requests, left to larger runs.
    SIZE = ["--generation-deterministic", "--phases", "examples,fuzzing,stateful"]
UNLIMITED = {
    "guests_per_minute": 0, "logins_per_minute": 0, "logins_per_name": 0, "requests_per_caller": 0,
    "requests_per_address": 0,
}  # fmt: skip

REFUSED_BY_RULES = ["2xx", "304", "401", "403", "404", "409", "412", "422", "428"]
"""What a request that fits its schema may be answered with: rules of games and tables are more than a schema says."""
UNSAID = {
    "list_tables": "a cursor is opaque", "get_lobby": "a cursor is opaque", "get_leaderboard": "a cursor is opaque",
    "list_matches_of_player": "a cursor is opaque", "prove_inclusion": "either position, or match and version",
    "prove_consistency": "first is the smaller one", "make_move": "each game has some of the moves",
}  # fmt: skip
"""Operations for which 400 is right as well, for what a schema cannot say."""


async def finished_match(http: httpx.AsyncClient) -> tuple[dict[str, str], str]:
    """Play a short match with a bot's help; return the player's headers, the table and the match, running or over."""
    made = (await http.post("/v1/players", json={"name": "Fuzz"})).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    table = await http.post(
        "/v1/tables", json={"game": "dice-race", "seats": 2}, headers={**headers, "Idempotency-Key": "t"}
    )
    path = f"/v1/tables/{table.json()['id']}"
    seated = await http.post(
        f"{path}/bots", json={"level": "sharp"}, headers={**headers, "Idempotency-Key": "b"}
    )
    assert seated.is_success, seated.text
    started = await http.post(f"{path}/start", headers={**headers, "Idempotency-Key": "s"})
    match = started.json()["match_id"]
    left = await http.post(
        f"/v1/matches/{match}/moves",
        json={"move": {"type": "leave"}},
        headers={**headers, "Idempotency-Key": "l"},
    )
    assert left.is_success, left.text
    return {"player": made["player"]["id"], "table_id": table.json()["id"]}, match


def write_configuration(place: Path, known: dict[str, str], match: str) -> None:
    """Write down what is there to be found, and which refusals are right."""
    lines = [
        "[parameters]",
        f'"path.match_id" = {json.dumps(match)}',
        f'"path.player" = {json.dumps(known["player"])}',
        '"path.game" = "dice-race"',
        "[checks.positive_data_acceptance]",
        f"expected-statuses = {json.dumps(REFUSED_BY_RULES)}",
    ]
    for operation in UNSAID:
        lines += [
            "[[operations]]",
            f'include-operation-id = "{operation}"',
            f"checks.positive_data_acceptance.expected-statuses = {json.dumps([*REFUSED_BY_RULES, '400'])}",
        ]
    lines += [
        # A value that is given above also takes the place of one that was spoilt on purpose.
        "[[operations]]",
        'include-operation-id = "get_step"',
        'checks.negative_data_rejection.expected-statuses = ["200", "400", "404", "409", "422"]',
    ]
    (place / "schemathesis.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["engine", "lobby", "projections"])
async def test_nothing_that_is_sent_breaks_a_promise(database: str, redis_url: str, name: str) -> None:
    async with served(database, [engine, lobby, projections], redis_url, **UNLIMITED) as site:
        async with httpx.AsyncClient(base_url=site.url) as http:
            known, match = await finished_match(http)
        scopes = frozenset({"play", "audit", "operate", "service"})
        token = site.platform.tokens.access_token(known["player"], scopes)
        with tempfile.TemporaryDirectory() as place:
            write_configuration(Path(place), known, match)
            ran = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "schemathesis.cli", "run", ROOT / "openapi" / f"{name}.json",
                "--url", site.url, "--header", f"Authorization: Bearer {token}", "--checks", "all",
                "--exclude-path-regex", "/stream$", "--max-examples", str(EXAMPLES), "--continue-on-failure",
                "--no-color", "--request-timeout", "30",
                *SIZE,
                cwd=place, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            try:
                async with asyncio.timeout(SECONDS_MAX):
                    output, _ = await ran.communicate()
            except TimeoutError:
                ran.kill()
                raise
    text = output.decode(errors="replace")
    assert ran.returncode == 0, text
    found = re.search(r"(\d+) generated", text)
    assert found is not None, text
    assert int(found[1]) >= EXAMPLES * 10, text
