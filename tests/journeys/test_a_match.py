"""A whole match through everything: lobby, engine, log, streams, record, audit, leaderboard."""

import random
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from tests.support.players import Player, Table
from tests.support.up import ROOT, Up

pytestmark = pytest.mark.slow


def test_from_three_guests_to_a_verified_record_and_a_rank(
    own: Up | None, server_url: str, client: httpx.Client, tmp_path: Path
) -> None:
    table = Table.seat(client, 3, {"stakes": "dangerous", "max_rounds": 3, "starting_chips": 10})
    match = table.match
    view = table.play(random.Random(3))
    assert min(view["places"]) == 1

    record = tmp_path / "match.ndjson"
    record.write_bytes(client.get(f"/v1/matches/{match}/record").content)
    verified = subprocess.run(
        [sys.executable, "-P", "-m", "services.cli", "verify", str(record)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    verdict = client.get(f"/v1/matches/{match}/audit").json()
    assert verdict["sound"], verdict
    assert verdict["key_known"]

    the_log_is_sealed(own, server_url, record)
    every_version(client, match, view)
    the_table_can_play_again(table)
    the_players_are_ranked(client, table, view)
    the_commitment_is_opened(client, match)


def the_log_is_sealed(own: Up | None, server_url: str, record: Path) -> None:
    """The record has its receipt, the log is the one that was signed, and our own home has the checkpoints."""
    assert b'"receipt":{"position":' in record.read_bytes().splitlines()[-1]
    audits = [["--receipt", str(record)]]
    if own is not None:
        assert len(list(own.home.glob("checkpoints*/main.checkpoints.ndjson"))) == 1
        audits.append(["--all"])
    where = {"MACAO_SERVER": server_url} if own is None else {"MACAO_HOME": str(own.home)}
    for arguments in audits:
        audited = subprocess.run(
            [sys.executable, "-P", "-m", "services.cli", "audit", *arguments],
            env={"PYTHONPATH": str(ROOT), **where},
            capture_output=True,
            text=True,
            check=False,
        )
        assert audited.returncode == 0, audited.stdout + audited.stderr
        assert audited.stdout.startswith("Sound: the log")


def every_version(client: httpx.Client, match: str, last: dict[str, object]) -> None:
    """Replay over HTTP: a position for each version, the last of them the one that the match shows."""
    for version in range(1, int(str(last["version"])) + 1, 7):
        assert client.get(f"/v1/matches/{match}/state", params={"at": version}).json()["version"] == version
    assert (
        client.get(f"/v1/matches/{match}/state", params={"at": last["version"]}).json()["view"]
        == last["view"]
    )


def the_table_can_play_again(table: Table) -> None:
    """When the match is over the table is open again, under a fresh commitment, and a rematch starts."""
    host = table.players[0]
    found = until(lambda: host.read(f"/v1/tables/{table.table}"), lambda view: view["state"] == "open")
    assert found["match_id"] == table.match
    rematch = host.write(f"/v1/tables/{table.table}/start", {})["match_id"]
    assert rematch != table.match
    assert host.read(f"/v1/matches/{rematch}")["status"] == "running"


def the_players_are_ranked(client: httpx.Client, table: Table, view: dict[str, list[int]]) -> None:
    """The leaderboard knows the players, the winner above the others."""
    items = until(
        lambda: client.get("/v1/leaderboards/dice-race").json()["items"],
        lambda items: {player.id for player in table.players} <= {item["player"] for item in items},
    )
    ratings = {item["player"]: item["rating"] for item in items}
    by_seat = [ratings[player.id] for player in table.players]
    assert by_seat.index(max(by_seat)) == view["places"].index(1)


def the_commitment_is_opened(client: httpx.Client, match: str) -> None:
    """The public list of commitments shows the seed, and its numbers have no gap."""
    items = until(
        lambda: client.get("/v1/commitments").json()["items"],
        lambda items: any(item["match_id"] == match and item["state"] == "played" for item in items),
    )
    assert [item["number"] for item in items] == list(range(1, len(items) + 1))
    assert all((item["seed"] is None) == (item["state"] == "open") for item in items)


def test_a_retry_is_harmless_and_another_body_is_refused(client: httpx.Client) -> None:
    table = Table.seat(client, 2, {"first": 0})
    player = table.players[0]
    version = player.read(f"/v1/matches/{table.match}")["version"]
    first = player.move(table.match, version, {"type": "roll"}, key="one-key")
    again = player.move(table.match, version, {"type": "roll"}, key="one-key")
    assert first.content == again.content
    assert again.headers["Idempotent-Replayed"] == "true"
    other = player.move(table.match, version, {"type": "stand"}, key="one-key")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    stale = player.move(table.match, version, {"type": "roll"}, key="another-key")
    assert (stale.status_code, stale.json()["code"]) == (412, "stale-version")
    refused = table.players[1].move(table.match, first.json()["version"], {"type": "roll"})
    body = refused.json()
    assert (refused.status_code, body["code"], body["clause"]) == (409, "not-your-turn", "DR-2.1")
    stranger = Player(client, "Stranger")
    assert stranger.move(table.match, version, {"type": "roll"}).json()["code"] == "not-a-player"


def until(read, holds):
    """Read until it holds: projections and the lobby follow a moment later."""
    deadline = time.monotonic() + 15
    while not holds(found := read()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found
