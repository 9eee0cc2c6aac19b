"""The static files, read once when the process starts: there are few of them and they are small.

Every file is served under the digest of all of them (``/assets/DIGEST/js/main.js``), and files name each other by
relative paths. So a browser may keep them for ever, and pages that stem from two versions never mix.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from msgspec import Struct

HERE: Final = Path(__file__).parent
ROOTS: Final = {"": HERE / "static", "verifier/": HERE / "verifier"}
"""Where files come from, by the path under which they are served."""

MEDIA_TYPES: Final = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
"""Files with other endings are not served."""

SHELL: Final = "index.html"
"""The one page; ``{assets}`` in it stands for where the files are."""

DIGEST_CHARACTERS: Final = 16
COMPRESSED_SIZE_MIN: Final = 512
"""Below so many bytes compression gains nothing."""


class File(Struct, frozen=True):
    """A file as it is served.

    Attributes:
        tag: the entity tag, quotes included.
        compressed: the same in gzip, None where that is not worth it.
    """

    body: bytes
    media_type: str
    tag: str
    compressed: bytes | None


class Files:
    """All files.

    Attributes:
        digest: over all of them; part of the addresses of the assets.
        shell: the page.
    """

    def __init__(self) -> None:
        """Read them."""
        bodies = dict(sorted(_bodies()))
        digest = sha256()
        for path, body in bodies.items():
            digest.update(b"%b\0%d\0%b" % (path.encode(), len(body), body))
        self.digest: Final = digest.hexdigest()[:DIGEST_CHARACTERS]
        shell = bodies.pop(SHELL).replace(b"{assets}", f"/assets/{self.digest}".encode())
        self.shell: Final = _file(SHELL, shell)
        self._assets: Final = {path: _file(path, body) for path, body in bodies.items()}

    @property
    def paths(self) -> Iterable[str]:
        """The paths of all assets."""
        return self._assets.keys()

    def asset(self, path: str) -> File | None:
        """Return the file at a path such as ``js/main.js``, None if there is none."""
        return self._assets.get(path)


def _bodies() -> Iterator[tuple[str, bytes]]:
    for prefix, root in ROOTS.items():
        for path in root.rglob("*"):
            if path.suffix in MEDIA_TYPES and path.is_file():
                yield prefix + path.relative_to(root).as_posix(), path.read_bytes()


def _file(path: str, body: bytes) -> File:
    compressed = gzip.compress(body, mtime=0) if len(body) >= COMPRESSED_SIZE_MIN else None
    tag = f'"{sha256(body).hexdigest()[:32]}"'
    return File(body, MEDIA_TYPES[Path(path).suffix], tag, compressed)
