"""As much of S3 as an archive needs, on a port of its own: put, get, list, and signatures that are looked at."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

ACCESS_KEY: Final = "a-key-for-tests"


class SmallS3(ThreadingHTTPServer):
    """Holds files by path; ``refuses`` answers every request with 403, ``failures`` so many with 503."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files: dict[str, bytes] = {}
        self.refuses = False
        self.failures = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: SmallS3
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._may(body):
            self.server.files[unquote(urlsplit(self.path).path)] = body
            self._answer(200, b"", ETag=f'"{sha256(body).hexdigest()[:32]}"')

    def do_GET(self) -> None:
        if not self._may(b""):
            return
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        if "list-type" in query:
            self._list(parts.path.rstrip("/"), query.get("prefix", [""])[0])
            return
        found = self.server.files.get(unquote(parts.path))
        if found is None:
            self._answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            self._answer(200, found, ETag='"x"', **{"Last-Modified": "Mon, 30 Nov 2026 12:00:00 GMT"})

    def _list(self, bucket: str, prefix: str) -> None:
        names = sorted(path.removeprefix(f"{bucket}/") for path in self.server.files)
        items = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>2026-11-30T12:00:00.000Z</LastModified>"
            f'<ETag>"x"</ETag><Size>1</Size></Contents>'
            for name in names
            if name.startswith(prefix)
        )
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>"
        self._answer(200, text.encode())

    def _may(self, body: bytes) -> bool:
        if self.server.failures:
            self.server.failures -= 1
            self._answer(503, b"<Error><Code>SlowDown</Code></Error>")
            return False
        signed = self.headers.get("x-amz-content-sha256", "")
        whole = signed in {"UNSIGNED-PAYLOAD", sha256(body).hexdigest()}
        named = re.match(rf"AWS4-HMAC-SHA256 Credential={ACCESS_KEY}/", self.headers.get("Authorization", ""))
        if self.server.refuses or not named or not whole:
            self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
            return False
        return True

    def _answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def small_s3() -> Iterator[SmallS3]:
    """Serve until the end of the block."""
    server = SmallS3()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
