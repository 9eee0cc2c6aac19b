"""Redis as this process reaches it, however it is run: what the doorbell and the limits need of it, and no more.

Who is the primary, and which node has a channel, is found out at each connection anew: from Sentinel, or from the
cluster. So after a failover it is enough to connect again, and that is left to whoever knows how long to wait.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from redis.asyncio import Redis, RedisCluster, Sentinel
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException, RedisError

from services.runtime.redis_url import Topology, parse_redis_url

Client: TypeAlias = "Redis | RedisCluster"

UNREACHABLE: Final = (
    RedisError,
    RedisClusterException,  # of a cluster none of whose nodes answers; no RedisError in this library
    OSError,
)
"""What it looks like when Redis is away, or does not do what it is asked."""


class RedisSite:
    """A client for commands, and connections that listen.

    Args:
        url: see ``redis_url``.
        patience_seconds: how long connecting, and each answer, may take.

    Raises:
        SettingsError: the URL cannot be used.
    """

    def __init__(self, url: str, patience_seconds: float) -> None:
        self._at: Final = parse_redis_url(url)
        self._patience: Final[dict[str, Any]] = {
            "socket_connect_timeout": patience_seconds,
            "socket_timeout": patience_seconds,
        }
        self._sentinel: Sentinel | None = None
        self._client: Client | None = None
        self._ears: set[Redis] = set()

    @property
    def client(self) -> Client:
        """The client for commands. It tries nothing twice: who asks wants to know of every break."""
        if self._client is None:
            self._client = self._make_client()
        return self._client

    async def publish(self, channel: str, message: bytes) -> None:
        """Publish on a channel: of a cluster, to the shard that has it alone.

        Raises:
            UNREACHABLE
        """
        client: Any = self.client
        if self._at.topology is Topology.CLUSTER:
            await client.spublish(channel, message)
        else:
            await client.publish(channel, message)

    async def listen(self, channel: str) -> PubSub:
        """Return a subscription to a channel, on a connection of its own; ``hang_up`` ends it.

        Raises:
            UNREACHABLE: nobody who has the channel can be reached.
        """
        if self._at.topology is not Topology.CLUSTER:
            client: Any = self.client
            pubsub: PubSub = client.pubsub()
            await pubsub.subscribe(channel)
            return pubsub
        cluster: Any = self.client
        await cluster.initialize()
        await cluster.nodes_manager.initialize()  # who has the channel now, not when it was asked first
        node: ClusterNode | None = cluster.get_node_from_key(channel)
        if node is None:
            raise RedisError(f"no node of the cluster has the channel {channel}")
        ear = Redis(host=node.host, port=int(node.port), retry=_once(), **self._patience, **self._login())
        self._ears.add(ear)
        pubsub = ear.pubsub()
        try:
            await pubsub.ssubscribe(channel)
        except BaseException:
            await self.hang_up(pubsub)
            raise
        return pubsub

    async def hang_up(self, pubsub: PubSub) -> None:
        """End a subscription, in good manners if that is possible.

        Raises:
            UNREACHABLE
        """
        await pubsub.aclose()  # type: ignore[no-untyped-call]
        for ear in [one for one in self._ears if one.connection_pool is pubsub.connection_pool]:
            self._ears.discard(ear)
            await ear.aclose()

    async def close(self) -> None:
        """Close all connections.

        Raises:
            UNREACHABLE
        """
        client, self._client = self._client, None
        sentinel, self._sentinel = self._sentinel, None
        ears, self._ears = self._ears, set()
        for one in (client, sentinel, *ears):
            if one is not None:
                await one.aclose()

    def _make_client(self) -> Client:
        at = self._at
        if at.topology is Topology.SINGLE:
            return Redis.from_url(at.url, retry=_once(), **self._patience)
        if at.topology is Topology.CLUSTER:
            nodes = [ClusterNode(host, port) for host, port in at.hosts]
            # One more attempt: a node that hands a slot over answers with where it is now.
            retry = Retry(NoBackoff(), 1)
            return RedisCluster(
                startup_nodes=nodes,
                require_full_coverage=False,
                retry=retry,
                **self._patience,
                **self._login(),
            )
        self._sentinel = Sentinel(  # type: ignore[no-untyped-call]
            at.hosts,
            sentinel_kwargs={
                **self._patience,
                **self._tls(),
                "username": at.options.get("sentinel_username"),
                "password": at.options.get("sentinel_password"),
                "retry": _once(),
            },
        )
        primary: Redis = self._sentinel.master_for(
            at.service, db=at.database, retry=_once(), **self._patience, **self._login()
        )
        return primary

    def _login(self) -> dict[str, Any]:
        return {"username": self._at.username, "password": self._at.password, **self._tls()}

    def _tls(self) -> dict[str, Any]:
        if not self._at.tls:
            return {}
        return {"ssl": True, "ssl_ca_certs": self._at.options.get("ssl_ca_certs")}


def _once() -> Retry:
    return Retry(NoBackoff(), 0)
