"""A page for each problem, where its ``type`` leads: made from the catalogue, without a script, a font or a picture."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Final

import msgspec

from services.contracts.problems import PROBLEMS, RULE_PROBLEMS, ProblemKind
from services.runtime.web.openapi.answers import example

HTML: Final = "text/html; charset=utf-8"

_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem}"
    "pre{overflow:auto;padding:1rem;border:1px solid;border-radius:.4rem}"
    "th{text-align:left;padding-right:1rem;vertical-align:top}"
)
_HASH: Final = b64encode(sha256(_STYLE.encode()).digest()).decode()
PAGE_HEADERS: Final = {
    "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; frame-ancestors 'none'",
    "Vary": "Accept",
}

_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def page_of(kind: ProblemKind) -> bytes:
    """Return the page of one problem."""
    origin = "A rule of the game forbids it: <code>clause</code> names it, <code>legal</code> lists what may be played."
    shown = msgspec.json.format(msgspec.json.encode(example(kind.code, "/v1/…")), indent=2).decode()
    body = "\n".join(
        [
            f"<h1><code>{escape(kind.code)}</code></h1>",
            f"<p><strong>{escape(kind.title)}.</strong> {escape(kind.advice)}</p>",
            f"<p>Status {kind.status}.{' ' + origin if kind.code in RULE_PROBLEMS else ''}</p>",
            f"<pre>{escape(shown)}</pre>",
            '<p><a href="/problems">All problems</a></p>',
        ]
    )
    return _PAGE.format(title=f"{escape(kind.code)}: {escape(kind.title)}", style=_STYLE, body=body).encode()


def list_page() -> bytes:
    """Return the page that lists all problems."""
    rows = "\n".join(
        f'<tr><th><a href="/problems/{kind.code}"><code>{kind.code}</code></a></th><td>{kind.status}</td>'
        f"<td>{escape(kind.title)}</td></tr>"
        for kind in PROBLEMS.values()
    )
    body = f"<h1>Problems</h1>\n<table>\n{rows}\n</table>"
    return _PAGE.format(title="Problems", style=_STYLE, body=body).encode()
