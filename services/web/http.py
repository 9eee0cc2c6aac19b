"""The page and its assets on the wire: entity tags, compression, and what a browser may do with them."""

from __future__ import annotations

from typing import Final

from litestar import Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from services.runtime.web.request import Request
from services.web.files import File, Files

# Scripts, styles and data come from here and from nowhere else, and none of them stands in the page itself.
_POLICY: Final = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; object-src 'none';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_GUARDED: Final = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_ASK_AGAIN: Final = "no-cache"
_FOR_EVER: Final = "public, max-age=31536000, immutable"

PAGES: Final = [
    "/",
    "/new/{game:str}",
    "/tables/{table:str}",
    "/matches/{match:str}",
    "/matches/{match:str}/replay",
    "/matches/{match:str}/audit",
    "/audit",
    "/leaderboards",
    "/leaderboards/{game:str}",
    "/players/{player:str}",
    "/rules",
    "/rules/{game:str}",
    "/account",
]
"""The addresses of pages. ``static/js/router.js`` says what each of them shows."""


@get(PAGES, include_in_schema=False)
async def page(request: Request) -> Response[bytes]:
    """Return the page; its script looks at the address."""
    return _answer(request, request.the(Files).shell, _ASK_AGAIN)


@get("/assets/{digest:str}/{path:path}", include_in_schema=False)
async def asset(request: Request, digest: FromPath[str], path: FromPath[str]) -> Response[bytes]:
    """Return a file. Under another digest than today's, which a page of another version names, it is not kept."""
    files = request.the(Files)
    found = files.asset(str(path).lstrip("/"))
    if found is None:
        raise NotFoundException
    return _answer(request, found, _FOR_EVER if digest == files.digest else _ASK_AGAIN)


@get("/favicon.ico", include_in_schema=False)
async def icon(request: Request) -> Response[bytes]:
    """Return the icon where browsers look for it unasked."""
    found = request.the(Files).asset("icon.svg")
    if found is None:
        raise NotFoundException
    return _answer(request, found, _ASK_AGAIN)


def _answer(request: Request, file: File, cache_control: str) -> Response[bytes]:
    headers = {**_GUARDED, "ETag": file.tag, "Cache-Control": cache_control, "Vary": "Accept-Encoding"}
    held = [tag.strip().removeprefix("W/") for tag in (request.header(b"if-none-match") or "").split(",")]
    if file.tag in held:
        return Response(b"", status_code=304, headers=headers)
    body = file.body
    if file.compressed is not None and "gzip" in (request.header(b"accept-encoding") or ""):
        headers["Content-Encoding"] = "gzip"
        body = file.compressed
    return Response(body, media_type=file.media_type, headers=headers)
