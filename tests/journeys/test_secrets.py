"""Nobody can read the service's seed before the end: every response, stream, log line and Redis message is searched."""

import asyncio
import base64
import random
import threading
from typing import Any

import asyncpg
import httpx
import pytest
import redis

from tests.support.players import Table
from tests.support.up import Up, wait_for

pytestmark = pytest.mark.slow


class Eavesdropper(httpx.HTTPTransport):
    """Remembers every byte of every response, headers included."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[bytes] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        self.heard.append(repr(response.headers.raw).encode() + response.content)
        return response


def listen_to_stream(url: str, token: str | None, heard: list[bytes], stop: threading.Event) -> None:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with httpx.stream("GET", url, headers=headers, timeout=httpx.Timeout(5, read=2)) as response:
            for chunk in response.iter_raw():
                heard.append(chunk)
                if stop.is_set():
                    return
    except httpx.TransportError:
        return


def listen_to_redis(url: str, heard: list[bytes], stop: threading.Event) -> None:
    client = redis.Redis.from_url(url)
    with client.monitor() as monitor:
        while not stop.is_set():
            heard.append(repr(monitor.next_command()).encode())


def forms_of(seed: bytes) -> list[bytes]:
    """The ways in which bytes could be written by mistake."""
    return [
        seed,
        seed.hex().encode(),
        seed.hex().upper().encode(),
        base64.b64encode(seed).rstrip(b"="),
        base64.urlsafe_b64encode(seed).rstrip(b"="),
        str(list(seed)).encode(),
        repr(seed)[2:-1].encode(),
    ]


def test_no_reader_of_any_kind_sees_the_seed_before_the_end(up: Up) -> None:
    heard: list[bytes] = []
    stop = threading.Event()
    transport = Eavesdropper()
    with httpx.Client(base_url=up.url, transport=transport, timeout=30) as client:
        table = Table.seat(client, 3, {"chips_to_win": 3})
        match = table.match
        streams = [
            (f"/v1/matches/{match}/stream", None),
            (f"/v1/matches/{match}/stream", table.players[1].token),
            (f"/v1/tables/{table.table}/stream", None),
            ("/v1/lobby/stream", None),
        ]
        on_redis: list[bytes] = []
        listeners = [
            threading.Thread(
                target=listen_to_redis, args=(up.state["redis_url"], on_redis, stop), daemon=True
            ),
            *(
                threading.Thread(
                    target=listen_to_stream, args=(up.url + path, token, heard, stop), daemon=True
                )
                for path, token in streams
            ),
        ]
        for listener in listeners:
            listener.start()
        read_everything(client, table)
        responses = 0

        def acknowledged(_key: str, answer: dict[str, Any]) -> None:
            nonlocal responses
            if answer["status"] == "running":
                read_everything(client, table)
                responses = len(transport.heard)

        view = table.play(random.Random(7), acknowledged)
        assert view["status"] == "ended"
        record = client.get(f"/v1/matches/{match}/record").text
        # Something has to happen on the streams after the end, so that listeners notice that they may stop.
        wait_for(lambda: b"event: match-ended" in b"".join(heard))
        stop.set()
        wait_for(lambda: table.players[0].read(f"/v1/tables/{table.table}")["state"] == "open")
        table.players[0].write(f"/v1/tables/{table.table}/seed", {"seed": "goodbye"}, method="PUT")
    seed = asyncio.run(seed_in_the_log(up.state["database_url"], match))

    # It is found where it belongs, so the search below would have found it elsewhere.
    assert seed.hex() in record
    searched = {
        "responses before the end": b"\n".join(transport.heard[:responses]),
        "streams before the end": b"".join(heard).partition(b"event: match-ended")[0],
        "Redis": b"\n".join(on_redis),
        "the logs": b"\n".join(path.read_bytes() for path in (up.home / "logs").rglob("*") if path.is_file()),
    }
    for where, text in searched.items():
        assert len(text) > 1000, f"next to nothing was heard in {where}"
        for form in forms_of(seed):
            assert form not in text, f"the seed stands in {where}"
        assert seed.hex() not in up.output


def read_everything(client: httpx.Client, table: Table) -> None:
    """Ask every readable endpoint that could say too much, as a stranger and as each player."""
    match = table.match
    paths = [
        f"/v1/matches/{match}", f"/v1/matches/{match}/events", f"/v1/matches/{match}/state?at=1",
        f"/v1/matches/{match}/steps/1", f"/v1/matches/{match}/disputes",
        f"/v1/matches/{match}/record", f"/v1/matches/{match}/audit", f"/v1/tables/{table.table}", "/v1/tables",
        "/v1/commitments", "/v1/lobby", "/v1/projections", "/metrics", "/health/ready", "/.well-known/jwks.json",
    ]  # fmt: skip
    for path in paths:
        client.get(path)
        for player in table.players:
            player.request("GET", path)


async def seed_in_the_log(database_url: str, match: str) -> bytes:
    connection = await asyncpg.connect(database_url)
    try:
        body = await connection.fetchval(
            "select convert_from(body, 'UTF8')::jsonb ->> 'seed' from macao_log.events"
            " where stream = $1 and type = 'seed-revealed'",
            match,
        )
    finally:
        await connection.close()
    return bytes.fromhex(body)
