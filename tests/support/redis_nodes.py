"""Several Valkey on loopback: a primary under Sentinel, and a cluster of three primaries with a replica each."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import RedisError

from services.cli.embedded import process
from services.cli.embedded.account import bare_environment
from services.cli.embedded.ports import LOOPBACK, free_port
from services.cli.embedded.programs import find_valkey

PASSWORD: Final = "a:b/c@d"
"""One that has to be escaped in a URL."""
ESCAPED: Final = "a%3Ab%2Fc%40d"
SERVICE: Final = "macao-test"
PATIENCE_SECONDS: Final = 30.0
SLOTS: Final = 16_384


class Node:
    """One server with a configuration of its own, in a directory of its own."""

    def __init__(self, directory: Path, name: str, *lines: str, sentinel: bool = False) -> None:
        self.port = free_port()
        self.bus_port = free_port()
        self._home = directory / name
        self._home.mkdir()
        self._file = self._home / "valkey.conf"
        self._sentinel = sentinel
        if "cluster-enabled yes" in lines:
            lines = (*lines, f"cluster-port {self.bus_port}")
        common = [f"port {self.port}", f"bind {LOOPBACK}", f"dir {self._home}", "daemonize no"]
        self._file.write_text("\n".join([*common, *lines]) + "\n")
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def at(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def client(self) -> Redis:
        return Redis(host=LOOPBACK, port=self.port, password=None if self._sentinel else PASSWORD)

    async def start(self) -> None:
        command = [
            str(find_valkey().executable),
            str(self._file),
            *(["--sentinel"] if self._sentinel else []),
        ]
        with (self._home / "log").open("ab") as output:
            self._child = process.spawn(
                command,
                output=output,
                environment=bare_environment(),
                parting_signal=signal.SIGTERM,
            )
        client = self.client()
        await until(client.ping)
        await client.aclose()

    def kill(self) -> None:
        """End it as a machine that loses its power does."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()
            self._child = None

    async def ask(self, *words: str | int) -> Any:
        client = self.client()
        try:
            return await client.execute_command(*words)
        finally:
            await client.aclose()


DATA: Final = (
    'save ""', "appendonly no", f'requirepass "{PASSWORD}"', f'masterauth "{PASSWORD}"', "repl-diskless-sync-delay 0",
)  # fmt: skip


@asynccontextmanager
async def sentinel_site(directory: Path) -> AsyncIterator[tuple[str, list[Node]]]:
    """A primary with a replica, watched by three Sentinels; gives the URL and the two servers, the primary first."""
    primary = Node(directory, "one", *DATA)
    replica = Node(directory, "other", *DATA, f"replicaof {LOOPBACK} {primary.port}")
    sentinels = [
        Node(
            directory,
            f"sentinel{number}",
            f"sentinel monitor {SERVICE} {LOOPBACK} {primary.port} 2",
            f'sentinel auth-pass {SERVICE} "{PASSWORD}"',
            f"sentinel down-after-milliseconds {SERVICE} 500",
            f"sentinel failover-timeout {SERVICE} 3000",
            sentinel=True,
        )
        for number in range(3)
    ]
    async with running([primary, replica, *sentinels], directory):

        async def everybody_knows() -> bool:
            for one in sentinels:
                words = await one.ask("SENTINEL", "MASTER", SERVICE)
                found = words if isinstance(words, dict) else dict(zip(words[::2], words[1::2], strict=True))
                known = {_text(key): _text(value) for key, value in found.items()}
                if (known["num-other-sentinels"], known["num-slaves"]) != ("2", "1"):
                    return False
            return True

        await until(everybody_knows)
        places = ",".join(one.at for one in sentinels)
        yield f"redis+sentinel://:{ESCAPED}@{places}/{SERVICE}", [primary, replica]


@asynccontextmanager
async def cluster_site(directory: Path) -> AsyncIterator[tuple[str, list[Node]]]:
    """Three primaries, each with a replica; gives the URL, by two of them, and all six nodes, the primaries first."""
    nodes = [
        Node(
            directory,
            f"node{number}",
            *DATA,
            "cluster-enabled yes",
            "cluster-node-timeout 1000",
            "cluster-require-full-coverage no",
            "cluster-allow-replica-migration no",
        )
        for number in range(6)
    ]
    async with running(nodes, directory):
        third = SLOTS // 3
        ranges = [(0, third), (third, 2 * third), (2 * third, SLOTS)]
        for number, (node, (first, end)) in enumerate(zip(nodes, ranges, strict=False), 1):
            await node.ask("CLUSTER", "SET-CONFIG-EPOCH", number)
            await node.ask("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
        for node in nodes[1:]:
            await node.ask("CLUSTER", "MEET", LOOPBACK, nodes[0].port, nodes[0].bus_port)

        async def all_met() -> bool:
            known = [len((await _answer(node, "CLUSTER", "NODES")).splitlines()) for node in nodes]
            return min(known) == len(nodes)

        await until(all_met)
        for primary, replica in zip(nodes[:3], nodes[3:], strict=True):
            await replica.ask("CLUSTER", "REPLICATE", await _answer(primary, "CLUSTER", "MYID"))

        async def is_whole() -> bool:
            for node in nodes:
                lines = (await _answer(node, "CLUSTER", "NODES")).splitlines()
                if sum("slave" in line and " connected" in line for line in lines) != 3:
                    return False
                if "cluster_state:ok" not in await _answer(node, "CLUSTER", "INFO"):
                    return False
                if node in nodes[3:] and "master_link_status:up" not in await _answer(node, "INFO"):
                    return False
            return True

        await until(is_whole)
        yield f"redis+cluster://:{ESCAPED}@{nodes[0].at},{nodes[1].at}", nodes


async def owner_of(nodes: list[Node], channel: str) -> Node:
    """Return the primary that has the slot of a channel, as the first living node knows it."""
    slot = await nodes[-1].ask("CLUSTER", "KEYSLOT", channel)
    slots = await nodes[-1].ask("CLUSTER", "SLOTS")
    if isinstance(slots, dict):  # the client reads it so
        ports = {span: entry["primary"][1] for span, entry in slots.items()}
        port = next(port for (first, last), port in ports.items() if first <= slot <= last)
    else:
        port = next(entry[2][1] for entry in slots if entry[0] <= slot <= entry[1])
    return next(node for node in nodes if node.port == port)


@asynccontextmanager
async def running(nodes: list[Node], directory: Path) -> AsyncIterator[None]:
    try:
        for node in nodes:
            await node.start()
        yield
    finally:
        for node in nodes:
            node.kill()
        shutil.rmtree(directory, ignore_errors=True)


async def until(condition: Callable[[], Awaitable[Any]]) -> None:
    """Ask until the answer is yes; a server that does not answer has not said so."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                if await condition():
                    return
            except (RedisError, OSError):
                pass
            await asyncio.sleep(0.05)


async def _answer(node: Node, *words: str) -> str:
    found = await node.ask(*words)
    if isinstance(found, dict):
        return "\r\n".join(f"{key}:{value}" for key, value in found.items())
    return _text(found)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
