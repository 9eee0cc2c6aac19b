"""The document of an app: Litestar's account of paths and parameters, with schemas, problems and examples of ours.

Litestar builds schemas that many generators stumble over, and knows nothing of problems, headers and unions in encoded
fields; so of its document only paths, parameters and texts are kept.
"""

from __future__ import annotations

import http
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args, get_origin

import msgspec
from litestar import Litestar, Response
from litestar.handlers import HTTPRouteHandler
from litestar.openapi.datastructures import ResponseSpec
from litestar.routes import HTTPRoute

from services.runtime.web.idempotency import REPLAYED
from services.runtime.web.openapi import answers
from services.runtime.web.openapi.documentation import Documentation, Example
from services.runtime.web.openapi.schemas import REF, Schemas, markdown
from services.runtime.web.operations import ANSWER_HEADERS, Conditional, Keyed, OptionallyKeyed
from services.runtime.web.problems import MEDIA_TYPE, ProblemDocument

JSON: Final = "application/json"
API: Final = "/v1/"
"""The paths that are counted by limits; health and reference are not."""

_LIMITED: Final = 429
_NO_JSON: Final = (bytes, str, None, type(None), Response)

NAMES: Final = {"ProblemDocument": "Problem"}


@dataclass(slots=True)
class _Operation:
    """An operation in the making."""

    path: str
    method: str
    spec: dict[str, Any]
    handler: HTTPRouteHandler
    request: Any
    answer: Any

    @property
    def keyed(self) -> bool:
        return issubclass(self.handler.operation_class, (Keyed, OptionallyKeyed))

    @property
    def conditional(self) -> bool:
        return issubclass(self.handler.operation_class, Conditional)


def document_of(app: Litestar, documentation: Documentation) -> dict[str, Any]:
    """Return the whole document, as plain JSON."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(app.openapi_schema.to_schema()))
    operations = list(_operations(app, document))
    schemas = Schemas(
        (one.request for one in operations if one.request is not None),
        (*(one.answer for one in operations if one.answer is not None), ProblemDocument),
        documentation.unions,
        {**NAMES, **documentation.names},
        documentation.enums,
    )
    requests, answered = iter(schemas.requests), iter(schemas.answers)
    for one in operations:
        request = next(requests) if one.request is not None else None
        answer = next(answered) if one.answer is not None else None
        _complete(one, request, answer, documentation)
    if "LegalMove" in schemas.components:
        schemas.components["Problem"]["properties"]["legal"]["items"] = {"$ref": REF + "LegalMove"}
    document["info"]["description"] = documentation.description
    document["servers"] = [{"url": "/", "description": "The service that this document came from"}]
    document["components"] = {
        "schemas": dict(sorted(schemas.components.items())),
        "responses": answers.shared_responses(),
        "headers": dict(answers.HEADERS),
        "securitySchemes": document["components"]["securitySchemes"],
    }
    document["tags"] = [
        {"name": name, "description": text}
        for name, text in documentation.tags.items()
        if any(name in one.spec["tags"] for one in operations)
    ]
    _drop_unused(document)
    ordered = ("openapi", "info", "servers", "tags", "paths", "components")
    return {key: document[key] for key in ordered}


def _drop_unused(document: dict[str, Any]) -> None:
    """Leave out components that nothing refers to, as many times as there are such."""
    while True:
        used = set(_refs(document))
        unused = [
            (kind, name)
            for kind in ("schemas", "responses", "headers")
            for name in document["components"][kind]
            if f"#/components/{kind}/{name}" not in used
        ]
        if not unused:
            return
        for kind, name in unused:
            del document["components"][kind][name]


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref":
                yield inner
            elif key not in ("example", "examples", "discriminator"):
                yield from _refs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _refs(inner)


def _operations(app: Litestar, document: Mapping[str, Any]) -> Iterator[_Operation]:
    for route in app.routes:
        specs = document["paths"].get(getattr(route, "path_format", ""))
        for handler in route.route_handlers if isinstance(route, HTTPRoute) and specs else ():
            for method in sorted(handler.http_methods):
                spec = specs.get(method.lower())
                if spec is not None:
                    yield _Operation(
                        route.path_format,
                        method.lower(),
                        spec,
                        handler,
                        _request_of(handler),
                        _answer_of(handler),
                    )


def _request_of(handler: HTTPRouteHandler) -> Any:
    field = handler.parsed_fn_signature.parameters.get("data")
    return None if field is None else field.annotation


def _answer_of(handler: HTTPRouteHandler) -> Any:
    """Return the type of what a handler answers with; None for what is no JSON."""
    own = (handler.responses or {}).get(handler.status_code)
    if own is not None:
        return own.data_container
    found = handler.parsed_fn_signature.return_type.raw
    if get_origin(found) is Response:
        found = get_args(found)[0]
    media_type = str(getattr(handler.media_type, "value", handler.media_type) or JSON)
    return None if media_type != JSON or found in _NO_JSON else found


def _complete(
    one: _Operation,
    request: dict[str, Any] | None,
    answer: dict[str, Any] | None,
    documentation: Documentation,
) -> None:
    spec = one.spec
    spec.pop("deprecated", None)
    spec.setdefault("security", [])
    spec["description"] = markdown(spec.get("description") or spec["summary"])
    examples = [each for each in documentation.examples if each.operation == spec["operationId"]]
    for parameter in spec.get("parameters", ()):
        _complete_parameter(parameter, documentation)
    if request is not None:
        content: dict[str, Any] = {"schema": request}
        shown = _shown(examples, "request")
        if shown:
            content["examples"] = shown
        spec["requestBody"] = {"required": True, "content": {JSON: content}}
    spec["responses"] = dict(sorted(_responses(one, answer, examples, documentation).items()))


def _complete_parameter(parameter: dict[str, Any], documentation: Documentation) -> None:
    parameter.pop("deprecated", None)
    name = parameter["name"]
    text = documentation.parameters.get(name)
    if text and not parameter.get("description"):
        parameter["description"] = text
    parameter["description"] = markdown(parameter.get("description", ""))
    pattern = documentation.patterns.get(name)
    if pattern and parameter["in"] == "path":
        parameter["schema"] = {**parameter["schema"], "pattern": pattern}
    if name in documentation.samples and "example" not in parameter:
        parameter["example"] = documentation.samples[name]
    schema: dict[str, Any] = parameter["schema"]
    if "oneOf" in schema:
        # A parameter is there or not; it is never null.
        alternatives: list[dict[str, Any]] = schema.pop("oneOf")
        kept = next(each for each in alternatives if each.get("type") != "null")
        parameter["schema"] = {**kept, **schema}


def _responses(
    one: _Operation, answer: dict[str, Any] | None, examples: list[Example], documentation: Documentation
) -> dict[str, Any]:
    found: dict[str, Any] = {str(one.handler.status_code): _success(one, answer, examples, documentation)}
    for status, response in (one.handler.responses or {}).items():
        if status in answers.SHARED and set(_codes(response)) <= set(answers.SHARED[status][1]):
            continue
        if response.media_type == MEDIA_TYPE:
            found[str(status)] = answers.refusal(status, _codes(response), _instance(one.path, documentation))
    if one.conditional:
        found["304"] = {
            "description": "It is still as the client has it.",
            "headers": answers.header_refs("X-Request-Id", "ETag", "Cache-Control", *_limits(one)),
        }
    for status, (name, _) in answers.SHARED.items():
        if one.path.startswith(API) or status != _LIMITED:
            found.setdefault(str(status), {"$ref": f"#/components/responses/{name}"})
    return found


def _codes(response: ResponseSpec) -> list[str]:
    return list(getattr(response, "codes", ()))


def _instance(path: str, documentation: Documentation) -> str:
    for name, value in documentation.samples.items():
        path = path.replace(f"{{{name}}}", str(value))
    return path


def _limits(one: _Operation) -> tuple[str, ...]:
    return ("RateLimit", "RateLimit-Policy") if one.path.startswith(API) else ()


def _success(
    one: _Operation, answer: dict[str, Any] | None, examples: list[Example], documentation: Documentation
) -> dict[str, Any]:
    own = (one.handler.responses or {}).get(one.handler.status_code)
    status = http.HTTPStatus(one.handler.status_code)
    headers = ["X-Request-Id", *_limits(one), *one.handler.opt.get(ANSWER_HEADERS, ())]
    if status != http.HTTPStatus.NO_CONTENT:
        headers.append("Cache-Control")
    if one.keyed:
        headers.append(REPLAYED)
    if one.conditional:
        headers.append("ETag")
    described = own.description if own is not None else _described(one, status)
    response: dict[str, Any] = {
        "description": described, "headers": answers.header_refs(*dict.fromkeys(headers)),
    }  # fmt: skip
    content: dict[str, Any] = {}
    if answer is not None:
        content[JSON] = {"schema": answer}
        shown = _shown(examples, "answer")
        if shown:
            content[JSON]["examples"] = shown
    for media in documentation.media:
        if media.operation == one.spec["operationId"]:
            content[media.media_type] = {
                "schema": {"type": "string", "description": media.description}, "example": media.example,
            }  # fmt: skip
    if content:
        response["content"] = content
    return response


def _described(one: _Operation, status: http.HTTPStatus) -> str:
    if status == http.HTTPStatus.NO_CONTENT:
        return "Done."
    return "Made." if status == http.HTTPStatus.CREATED else one.spec["summary"] + "."


def _shown(examples: list[Example], part: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in examples:
        value = getattr(each, part)
        if value is not None:
            found[each.name] = {
                "summary": each.summary,
                "value": msgspec.json.decode(msgspec.json.encode(value)),
            }
    return found
