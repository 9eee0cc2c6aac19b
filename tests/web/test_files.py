"""The page and its files on the wire."""

from __future__ import annotations

import gzip
import re

import httpx
import pytest

from services.runtime.settings import Settings
from services.runtime.web.app import create_app
from services.web.app import service
from services.web.files import Files
from services.web.http import PAGES

SECRET = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


@pytest.fixture
def client() -> httpx.AsyncClient:
    """A client of the pages alone; nothing of them needs the database that the settings name."""
    app = create_app(Settings(database_url="postgresql://localhost/none", secret_key=SECRET), [service])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://pages")


def address_of(path: str) -> str:
    return f"/assets/{Files().digest}/{path}"


@pytest.mark.parametrize("path", PAGES)
async def test_every_address_answers_with_the_page_under_a_strict_policy(
    client: httpx.AsyncClient, path: str
) -> None:
    answer = await client.get(re.sub(r"\{\w+:str\}", "something", path))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "data:" not in policy
    assert answer.headers["cache-control"] == "no-cache"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", answer.text)


async def test_a_file_is_kept_for_ever_under_its_digest_alone(client: httpx.AsyncClient) -> None:
    current = await client.get(address_of("js/main.js"))
    assert current.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in current.headers["cache-control"]
    other = await client.get("/assets/0000000000000000/js/main.js")
    assert other.content == current.content
    assert other.headers["cache-control"] == "no-cache"


async def test_who_has_a_file_is_not_sent_it_again(client: httpx.AsyncClient) -> None:
    first = await client.get("/")
    again = await client.get("/", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = await client.get("/", headers={"If-None-Match": '"another"'})
    assert other.status_code == 200


async def test_files_go_out_in_gzip_to_who_takes_it(client: httpx.AsyncClient) -> None:
    address = address_of("js/api.js")
    async with client.stream("GET", address, headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        raw = b"".join([part async for part in answer.aiter_raw()])
    plain = await client.get(address, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert gzip.decompress(raw) == plain.content


@pytest.mark.parametrize(
    "path", ["js/none.js", "../app.py", "%2e%2e/app.py", "js", "verifier/verify-cli.mjs", "js/../../app.py"]
)
async def test_nothing_else_is_served(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(address_of(path))
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_all_files_name_each_other_by_relative_paths_that_exist() -> None:
    files = Files()
    seen = 0
    for path in files.paths:
        asset = files.asset(path)
        assert asset is not None
        if not path.endswith(".js"):
            continue
        for named in re.findall(r"(?:from|import)\s*\(?\s*'([^']+)'", asset.body.decode()):
            assert named.startswith("."), f"{path} imports {named}"
            parts: list[str] = path.split("/")[:-1]
            for part in named.split("/"):
                if part == "..":
                    parts.pop()
                elif part != ".":
                    parts.append(part)
            assert files.asset("/".join(parts)) is not None, f"{path} imports {named}"
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("path", ["/", address_of("js/main.js"), "/favicon.ico", "/assets/0/none"])
async def test_the_head_of_a_page_or_file_is_that_of_the_whole(client: httpx.AsyncClient, path: str) -> None:
    whole, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    same = {name: value for name, value in whole.headers.items() if name != "x-request-id"}
    assert {name: head.headers[name] for name in same if name != "content-length"} == {
        name: value for name, value in same.items() if name != "content-length"
    }
    if whole.is_success:
        assert head.headers["Content-Length"] == whole.headers["Content-Length"]
