"""An OpenID Connect issuer on a port of its own: publishes keys, signs what it is told to, fails when told to."""

import asyncio
import json
import time
from typing import Any, Self

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

AUDIENCE = "macao-test"


def made(algorithm: str) -> Any:
    """Return a new private key for an algorithm."""
    if algorithm.startswith(("RS", "PS")):
        return rsa.generate_private_key(65537, 2048)
    if algorithm.startswith("ES"):
        curve = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1, "ES512": ec.SECP521R1}[algorithm]
        return ec.generate_private_key(curve())
    return ed25519.Ed25519PrivateKey.generate()


class FakeIssuer:
    """What it publishes and how it answers can be changed while it runs.

    Attributes:
        asked: the paths that were asked for.
        published: the keys as they are published.
        delay_seconds: before each answer.
        down: answer with 500.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.published: list[dict[str, Any]] = []
        self.delay_seconds = 0.0
        self.down = False
        self.named = ""
        self.url = ""
        self._private: dict[str, tuple[Any, str]] = {}
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/realm"
        self.named = self.url
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    def settings(self, **more: object) -> dict[str, object]:
        return {"oidc_issuer": self.url, "oidc_audience": AUDIENCE, **more}

    def add(self, kid: str, algorithm: str = "RS256", key: Any = None, **more: object) -> None:
        """Publish a key."""
        key = key or made(algorithm)
        self._private[kid] = key, algorithm
        public = get_default_algorithms()[algorithm].to_jwk(key.public_key(), as_dict=True)
        self.published.append({**public, "kid": kid, "alg": algorithm, "use": "sig", **more})

    def withdraw(self, kid: str) -> None:
        """Publish a key no more."""
        self.published = [key for key in self.published if key["kid"] != kid]

    def token(
        self, subject: str = "sub-1", kid: str | None = None, *, without: tuple[str, ...] = (), **claims: Any
    ) -> str:
        """Sign a token, by default a good one."""
        kid = kid or next(iter(self._private))
        key, algorithm = self._private[kid]
        now = int(time.time())
        said = {"iss": self.url, "aud": AUDIENCE, "sub": subject, "iat": now, "exp": now + 600, **claims}
        for name in without:
            del said[name]
        return jwt.encode(said, key, algorithm, headers={"kid": kid})

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        self.asked.append(path)
        await asyncio.sleep(self.delay_seconds)
        body: dict[str, Any] = {}
        if path.endswith("/.well-known/openid-configuration"):
            body = {"issuer": self.named, "jwks_uri": f"{self.url}/keys"}
        elif path.endswith("/keys"):
            body = {"keys": self.published}
        status = "500 Down" if self.down else "200 OK"
        data = json.dumps(body).encode()
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n"
            "Connection: close\r\n\r\n".encode()
            + data
        )
        await writer.drain()
        writer.close()
