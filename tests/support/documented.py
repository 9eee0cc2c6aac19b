"""Every answer that a test gets is held against the OpenAPI document: path, status, headers, problem code, body.

``Contract`` judges one answer. ``Watch`` listens at the apps of this process and at httpx, so that no test has to ask.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import jsonschema_rs
import msgspec

from services.runtime.web.app import App
from services.runtime.web.schema import document_bytes
from tests.support.up import ROOT

HIDDEN = re.compile(r"^/($|schema(/|$)|metrics$)")
"""Paths for people and for machines of operators, which the document leaves out."""
API = re.compile(r"^/(v1|health|problems|\.well-known)(/|$)")
"""Where everything has to be documented; elsewhere are pages."""

ANYWHERE = frozenset({
    "content-type", "content-length", "content-encoding", "date", "vary", "connection", "keep-alive",
    "transfer-encoding",
    "x-content-type-options", "x-frame-options", "referrer-policy", "content-security-policy", "x-accel-buffering",
    "strict-transport-security", "cross-origin-resource-policy", "access-control-allow-origin",
    "access-control-expose-headers", "access-control-allow-credentials", "access-control-allow-methods",
    "access-control-allow-headers", "access-control-max-age", "server", "cache-control",
})  # fmt: skip
"""Headers of HTTP itself, of security and of CORS (docs/api.md); any other has to be documented where it is sent."""

JSON_TYPES = ("application/json", "application/problem+json")
OWN_FAULTS = re.compile(r"^/v1/boom$")
"""Where a test raises an error of ours on purpose; anywhere else an internal error is a fault, documented or not."""

UNMATCHED = {404: "not-found", 405: "method-not-allowed", 400: "malformed-request"}
"""What a path without an operation may answer."""


@dataclass
class Answer:
    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: bytes | None
    """None for a stream, whose body is not waited for."""


@dataclass
class Contract:
    """One document, ready to judge answers."""

    document: dict[str, Any]
    _routes: list[tuple[re.Pattern[str], dict[str, Any]]] = field(default_factory=list)
    _validators: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._components = _closed(self.document["components"])
        for path, operations in sorted(self.document["paths"].items(), key=lambda item: item[0].count("{")):
            pattern = re.sub(r"\\{[^}]+\\}", "[^/]+", re.escape(path))
            self._routes.append((re.compile(pattern + "$"), operations))

    def operation(self, method: str, path: str) -> dict[str, Any] | None:
        for pattern, operations in self._routes:
            if pattern.match(path):
                return operations.get(method.lower())
        return None

    def faults(self, answer: Answer) -> list[str]:
        """Say what about an answer is not as documented."""
        if answer.method == "HEAD":
            answer = replace(answer, method="GET", body=None)  # the same, but for the body
        operation = self.operation(answer.method, answer.path)
        if operation is None:
            return self._unmatched(answer)
        response = operation["responses"].get(str(answer.status))
        if response is None:
            return [
                f"status {answer.status} is not among {', '.join(operation['responses'])}: {_start(answer)}"
            ]
        if answer.status == 500 and not OWN_FAULTS.match(answer.path):
            return [f"an error of ours: {_start(answer)}"]
        response = self._resolved(response)
        return [*self._header_faults(answer, response), *self._body_faults(answer, response)]

    def _unmatched(self, answer: Answer) -> list[str]:
        if answer.status in (204, 200) and answer.method == "OPTIONS":
            return []
        code = UNMATCHED.get(answer.status)
        if code is None or (answer.body is not None and f'"code":"{code}"'.encode() not in answer.body):
            return [f"no operation is documented, and the answer is {answer.status}: {_start(answer)}"]
        return []

    def _header_faults(self, answer: Answer, response: dict[str, Any]) -> list[str]:
        found = []
        documented = {
            name.lower(): self._resolved(spec) for name, spec in response.get("headers", {}).items()
        }
        if "x-request-id" not in answer.headers:
            found.append("there is no X-Request-Id")
        for name, value in answer.headers.items():
            spec = documented.get(name.lower())
            if spec is None:
                if name.lower() not in ANYWHERE:
                    found.append(f"the header {name} is not documented for {answer.status}")
            elif not self._validator(spec["schema"]).is_valid(value):
                found.append(f"the header {name}: {value!r} does not fit its schema {spec['schema']}")
        return found

    def _body_faults(self, answer: Answer, response: dict[str, Any]) -> list[str]:
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        content = response.get("content")
        if content is None:
            return [f"a body where none is documented: {_start(answer)}"] if answer.body else []
        if media_type not in content:
            return [f"the media type {media_type or 'missing'} is not among {', '.join(content)}"]
        if media_type not in JSON_TYPES or answer.body is None:
            return []
        value = json.loads(answer.body)
        schema = content[media_type]["schema"]
        faults = [
            f"the body at {'/'.join(map(str, error.instance_path))}: {error.message[:300]}"
            for error in self._validator(schema).iter_errors(value)
        ]
        if media_type == "application/problem+json":
            codes = content[media_type]["examples"]
            if value.get("code") not in codes:
                faults.append(
                    f"the problem {value.get('code')} is not among {', '.join(codes)}: add it to refusals(…)"
                )
        return faults

    def _validator(self, schema: dict[str, Any]) -> Any:
        key = json.dumps(schema, sort_keys=True)
        if key not in self._validators:
            whole = {**_closed(schema), "components": self._components}
            self._validators[key] = jsonschema_rs.Draft202012Validator(whole)
        return self._validators[key]

    def _resolved(self, spec: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in spec:
            at: Any = self.document
            for part in spec["$ref"].removeprefix("#/").split("/"):
                at = at[part]
            spec = at
        return spec


def _closed(schema: Any) -> Any:
    """Return a schema under which a property that is not documented is a fault."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    return closed


def _start(answer: Answer) -> str:
    return (answer.body or b"")[:300].decode(errors="replace")


class Watch:
    """Collects the faults of all answers of this process's apps, and of those that httpx gets from other processes."""

    def __init__(self) -> None:
        self.judged = 0
        self._faults: list[str] = []
        self._of_apps: dict[tuple[str, ...], Contract] = {}
        self._committed: Contract | None = None

    def taken(self) -> list[str]:
        """Return the faults since the last time."""
        faults, self._faults = self._faults, []
        return faults

    def of_app(self, app: App) -> Contract:
        paths = tuple(sorted({route.path for route in app.routes}))
        if paths not in self._of_apps:
            stands_in = not {path for path in paths if API.match(path)} <= self.real_paths()
            # Stand-ins for a service are not documented; the real operations beside them are.
            self._of_apps[paths] = (
                self.committed() if stands_in else Contract(msgspec.json.decode(document_bytes(app)))
            )
        return self._of_apps[paths]

    def real_paths(self) -> set[str]:
        return {re.sub(r"\{(\w+)\}", r"{\1:str}", path) for path in self.committed().document["paths"]}

    def committed(self) -> Contract:
        if self._committed is None:
            names = ("engine", "lobby", "projections")
            texts = [(ROOT / "openapi" / f"{name}.json").read_text(encoding="utf-8") for name in names]
            self._committed = Contract(merged(json.loads(text) for text in texts))
        return self._committed

    def judge(self, contract: Contract, answer: Answer) -> None:
        is_page = not API.match(answer.path) and contract.operation(answer.method, answer.path) is None
        if HIDDEN.match(answer.path) or is_page:
            return
        self.judged += 1
        self._faults += [
            f"{answer.method} {answer.path} -> {answer.status}: {fault}" for fault in contract.faults(answer)
        ]

    def judge_of_app(self, app: App, answer: Answer) -> None:
        """Judge where nothing may be raised: a transport that hides an app's errors would hide ours as well."""
        try:
            contract = self.of_app(app)
            if contract is not self._committed or contract.operation(answer.method, answer.path) is not None:
                self.judge(contract, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, the test that asked has to fail
            self._faults.append(
                f"{answer.method} {answer.path} -> {answer.status} cannot be judged: {error!r}"
            )

    def app_call(self, original: Any) -> Any:
        """Return what takes the place of ``App.__call__``."""
        watch = self

        async def call(app: App, scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await original(app, scope, receive, send)
                return
            start: dict[str, Any] = {}
            body = bytearray()
            method, path = scope["method"], scope["path"]

            async def heard(message: Any) -> None:
                if message["type"] == "http.response.start":
                    start.update(message)
                elif message["type"] == "http.response.body" and len(body) < 1 << 22:
                    body.extend(message.get("body", b""))
                await send(message)

            try:
                await original(app, scope, receive, heard)
            finally:
                if start:
                    headers = {
                        name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]
                    }
                    streamed = headers.get("content-type", "").startswith("text/event-stream")
                    content = None if streamed else _plain(bytes(body), headers)
                    answer = Answer(method, path, start["status"], headers, content)
                    watch.judge_of_app(app, answer)

        return call

    def httpx_send(self, original: Any, *, asynchronous: bool) -> Any:
        """Return what takes the place of ``send`` of httpx's clients; apps of this process are heard elsewhere."""
        watch = self

        def heard(client: Any, request: httpx.Request, response: httpx.Response, *, stream: bool) -> None:
            if isinstance(getattr(client, "_transport", None), httpx.ASGITransport):
                return
            headers = {name.lower(): value for name, value in response.headers.items()}
            if "x-request-id" not in headers:
                return  # not one of ours: an identity provider, a proxy that cuts
            body = None if stream else response.content
            answer = Answer(request.method, request.url.path, response.status_code, headers, body)
            contract = watch.committed()
            if contract.operation(request.method, request.url.path) is not None:
                watch.judge(contract, answer)

        if asynchronous:

            async def send(client: Any, request: httpx.Request, *, stream: bool = False, **more: Any) -> Any:
                response = await original(client, request, stream=stream, **more)
                heard(client, request, response, stream=stream)
                return response

            return send

        def send_now(client: Any, request: httpx.Request, *, stream: bool = False, **more: Any) -> Any:
            response = original(client, request, stream=stream, **more)
            heard(client, request, response, stream=stream)
            return response

        return send_now


def _plain(body: bytes, headers: Mapping[str, str]) -> bytes:
    if headers.get("content-encoding") == "gzip" and body:
        import gzip

        return gzip.decompress(body)
    return body


def merged(documents: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return one document of several; what they share is the same in all of them."""
    whole: dict[str, Any] = {"paths": {}, "components": {}}
    for document in documents:
        whole["paths"].update(document["paths"])
        for kind, found in document["components"].items():
            whole["components"].setdefault(kind, {}).update(found)
    return whole
