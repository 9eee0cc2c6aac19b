"""kill -9 of the service, of PostgreSQL and of Valkey in the middle of a load of moves, ten times each.

Afterwards every acknowledged move is in the log, every chain verifies, positions are gapless, the log is the one whose
checkpoints were signed, and a client that retries with its key gets its first answer.
"""

import asyncio
import json
import random
import signal
import threading
from typing import Any, Final

import asyncpg
import httpx
import psutil
import pytest
from msgspec import Struct

from services.cli.auditing import LogFinding, Report, audit_log
from services.cli.embedded.process import lives
from services.contracts.chain import GENESIS
from services.contracts.envelope import Event
from services.engine.rules.catalogue import CATALOGUE
from services.runtime.web.idempotency import command_id
from tests.support.players import Player, Table
from tests.support.up import Up, open_directory, wait_for

pytestmark = pytest.mark.slow

KILLS: Final = 10
LOADERS: Final = 6

COLUMNS: Final = (
    "stream, version, type, schema, actor, command, at_ms, cause, body, seal, salt, sealed, previous, hash"
)


class Acknowledged(Struct, frozen=True):
    """A move that the service said was done."""

    player: Player
    match: str
    key: str
    version: int
    move: dict[str, Any]
    answer: bytes


class Load(threading.Thread):
    """One table after another, played by random legal moves, until told to stop."""

    def __init__(self, url: str, seed: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.done: list[Acknowledged] = []
        self.error: BaseException | None = None
        self._client = httpx.Client(base_url=url, timeout=10)
        self._chance = random.Random(seed)
        self._halt = stop

    def run(self) -> None:
        with self._client:
            self._work()

    def _work(self) -> None:
        try:
            while not self._halt.is_set():
                self._play(Table.seat(self._client, 2))
        except BaseException as error:  # noqa: BLE001 - shown by the test, whatever it is
            self.error = error

    def _play(self, table: Table) -> None:
        while not self._halt.is_set():
            view = table.players[0].read(f"/v1/matches/{table.match}")
            if view["turn"] is None:
                return
            player = table.players[view["turn"]]
            own = player.read(f"/v1/matches/{table.match}")
            move = self._chance.choice(own["legal"])
            key = f"key-{self._chance.getrandbits(64)}"
            answer = player.move(table.match, own["version"], move, key)
            assert answer.is_success, answer.text
            self.done.append(Acknowledged(player, table.match, key, own["version"], move, answer.content))


def part_of(up: Up, part: str) -> psutil.Process | None:
    """Find a part of the installation among the children of ``macao up``."""
    words = {"service": "services.cli", "postgres": "postgres", "valkey": "valkey-server"}
    for child in psutil.Process(up.process.pid).children():
        try:
            if any(words[part] in word for word in child.cmdline()[:4]) and lives(child):
                return child
        except psutil.Error:
            continue
    return None


@pytest.mark.parametrize("part", ["service", "postgres", "valkey"])
async def test_nothing_acknowledged_is_lost(part: str) -> None:
    chance = random.Random(part)
    with open_directory() as directory, Up(directory / "home") as up:
        up.wait_ready()
        stop = threading.Event()
        loads = [Load(up.url, seed, stop) for seed in range(LOADERS)]
        for load in loads:
            load.start()
        wait_for(lambda: all(load.done for load in loads))
        between: list[int] = []
        for _ in range(KILLS):
            before = sum(len(load.done) for load in loads)
            victim = part_of(up, part)
            assert victim, f"{part} does not run"
            victim.send_signal(signal.SIGKILL)
            wait_for(lambda killed=victim: not lives(killed))
            wait_for(lambda: part_of(up, part), tell=lambda: up.output)
            # Moves go on: every player gets through again, before the next kill comes at some moment of it.
            wait_for(
                lambda start=before: sum(len(load.done) for load in loads) >= start + LOADERS,
                tell=lambda: f"{[load.error for load in loads]} {up.output}",
            )
            between.append(sum(len(load.done) for load in loads) - before)
            await asyncio.sleep(chance.uniform(0.05, 0.5))
        stop.set()
        for load in loads:
            load.join(60)
            assert load.error is None, repr(load.error)
        done = [one for load in loads for one in load.done]
        assert len(done) >= KILLS * LOADERS

        events = await log_of(up.state["database_url"])
        check_log(events)
        check_acknowledged(events, done)
        with httpx.Client(base_url=up.url, timeout=10) as client:
            check_retries(chance, done, client)
        await check_sealed(up)


async def log_of(url: str) -> list[tuple[int, Event]]:
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch(f"select position, {COLUMNS} from macao_log.events order by position")
    finally:
        await connection.close()
    return [(row[0], Event(*tuple(row)[1:])) for row in rows]


ALL_SEALED: Final = """
    SELECT (SELECT max(position) FROM macao_log.events) = (SELECT max(size) FROM macao_tree.checkpoints)
"""


async def check_sealed(up: Up) -> None:
    """The tree over the log, its tiles and every checkpoint inside and outside the database are those of the events."""
    found: list[LogFinding] = []
    connection = await asyncpg.connect(up.state["database_url"])
    try:
        # What is signed while the audit reads would be counted in the database and not outside of it.
        async with asyncio.timeout(60):
            while not await connection.fetchval(ALL_SEALED):
                await asyncio.sleep(0.1)
        report = Report(found.append)
        await audit_log(connection, CATALOGUE, report, outside=up.home / "checkpoints")
    finally:
        await connection.close()
    # How late a move may come says nothing where everything was being killed.
    assert [str(one) for one in found if one.check != "time"] == []
    assert report.tally.outside >= report.tally.checkpoints > 0
    assert "nothing is sealed any more" not in up.output


def check_log(events: list[tuple[int, Event]]) -> None:
    """Positions are gapless, and every stream is a chain from its first event on."""
    assert [position for position, _ in events] == list(range(1, len(events) + 1))
    heads: dict[str, tuple[int, bytes]] = {}
    for _, event in events:
        version, digest = heads.get(event.stream, (0, GENESIS))
        assert (event.version, event.previous) == (version + 1, digest)
        assert event.recomputed_hash() == event.hash
        heads[event.stream] = (event.version, event.hash)


def check_acknowledged(events: list[tuple[int, Event]], done: list[Acknowledged]) -> None:
    """Each acknowledged move stands in the log once, with the outcome that its player was told."""
    by_command: dict[str, list[Event]] = {}
    for _, event in events:
        by_command.setdefault(event.command, []).append(event)
    for one in done:
        written = by_command[command_id(one.player.id, one.key)]
        told = json.loads(one.answer)
        assert [event.stream for event in written] == [one.match] * len(written)
        assert [event.hash.hex() for event in written] == [event["hash"] for event in told["events"]]
        assert written[-1].version == told["version"]
        assert json.loads(written[0].cause or b"null")["move"] == one.move


def check_retries(chance: random.Random, done: list[Acknowledged], client: httpx.Client) -> None:
    """A client that did not hear the answer asks again and gets it, to the byte."""
    for one in chance.sample(done, min(200, len(done))):
        one.player.client = client
        again = one.player.move(one.match, one.version, one.move, one.key)
        assert again.content == one.answer
        assert again.headers["Idempotent-Replayed"] == "true"
