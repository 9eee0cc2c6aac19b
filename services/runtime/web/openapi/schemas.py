"""Types as schemas that client generators read: named, described field by field, unions with their discriminators."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from msgspec import inspect

REF: Final = "#/components/schemas/"

NO_ENUMS: Final[Mapping[str, Sequence[str | int]]] = {}

_JSON_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}
_ATTRIBUTES: Final = re.compile(r"\n\s*Attributes:\n(?P<lines>.*)\Z", re.DOTALL)
_ATTRIBUTE: Final = re.compile(r"(?P<names>[a-z_]+(?:, [a-z_]+)*): (?P<text>.*)", re.DOTALL)
_SECTIONS: Final = re.compile(r"\n\s*(?:Raises|Args|Returns):\n.*", re.DOTALL)


class Schemas:
    """The schemas of all types of a document, made at once so that no two get the same name.

    Args:
        requests: types of request bodies; fields with defaults may be left out.
        answers: types of what is sent; every field is there, unless a type leaves out defaults.
        unions: types with names of their own.
        names: other names for classes, by the name of the class.
        enums: names for sets of values.
    """

    def __init__(
        self,
        requests: Iterable[Any],
        answers: Iterable[Any],
        unions: Mapping[str, Any],
        names: Mapping[str, str],
        enums: Mapping[str, Sequence[str | int]] = NO_ENUMS,
    ) -> None:
        requests, answers = list(requests), list(answers)
        types = [*requests, *answers, *unions.values()]
        made, components = msgspec.json.schema_components(types, ref_template=REF + "{name}")
        sent = {_name_in(components, cls) for cls in _structs(requests) if issubclass(cls, msgspec.Struct)}
        # What refuses unknown fields is what clients send, also where it stands in a union of its own.
        sparing = {
            _name_in(components, cls)
            for cls in _structs(types)
            if cls.__struct_config__.omit_defaults or cls.__struct_config__.forbid_unknown_fields
        }
        self._enums = {frozenset(values): name for name, values in enums.items()}
        self._names = {name: _readable(name, names) for name in components}
        self.components: dict[str, Any] = {}
        for name, schema in components.items():
            complete = name not in sent and name not in sparing
            self.components[self._names[name]] = self._tidied(schema, complete=complete)
        tidied = [self._tidied(one, complete=True) for one in made]
        for name, schema in zip(unions, tidied[len(requests) + len(answers) :], strict=True):
            if schema == {"$ref": REF + name}:
                continue  # a struct that has the name already
            if name in self.components:
                raise ValueError(f"two schemas are called {name}: give the struct another name in `names`")
            self.components[name] = schema
        for name, values in enums.items():
            kind = _JSON_TYPES[type(values[0])]
            self.components.setdefault(name, {"type": kind, "enum": list(values)})
        self.requests: list[dict[str, Any]] = tidied[: len(requests)]
        self.answers: list[dict[str, Any]] = tidied[len(requests) : len(requests) + len(answers)]

    def _tidied(self, schema: Any, *, complete: bool) -> Any:
        if isinstance(schema, list):
            return [self._tidied(one, complete=complete) for one in schema]
        if not isinstance(schema, dict):
            return schema
        tidy: dict[str, Any] = {}
        for key, value in cast("dict[str, Any]", schema).items():
            if key != "title":
                tidy[key] = self._part(key, value, complete=complete)
        if "discriminator" in tidy:
            tidy["oneOf"] = tidy.pop("anyOf")
        if len(tidy.get("enum", ())) == 1:
            tidy["const"] = tidy.pop("enum")[0]
        if tidy.get("enum") and frozenset(tidy["enum"]) in self._enums:
            tidy.pop("type", None)
            return {"$ref": REF + self._enums[frozenset(tidy.pop("enum"))], **tidy}
        kinds = {type(one) for one in tidy.get("enum", (tidy["const"],) if "const" in tidy else ())}
        if len(kinds) == 1:
            tidy["type"] = _JSON_TYPES[kinds.pop()]
        if tidy.get("type") == "object" and "properties" in tidy:
            _describe_fields(tidy)
            if complete:
                tidy["required"] = list(tidy["properties"])
        elif tidy.get("type") == "object":
            # Whatever may stand there: without a word some generators take it for an object that is always empty.
            tidy.setdefault("additionalProperties", True)
        return tidy

    def _part(self, key: str, value: Any, *, complete: bool) -> Any:
        if key in ("default", "examples", "enum", "const"):
            return value
        if key == "pattern":
            # Python's anchors are letters to everybody else.
            return value.replace(r"\A", "^").replace(r"\Z", "$")
        if key == "$ref":
            return self._renamed(value)
        if key == "properties":
            return {name: self._tidied(one, complete=complete) for name, one in value.items()}
        if key == "discriminator":
            mapping = {tag: self._renamed(ref) for tag, ref in value["mapping"].items()}
            return {"propertyName": value["propertyName"], "mapping": mapping}
        return self._tidied(value, complete=complete)

    def _renamed(self, ref: str) -> str:
        name = ref.removeprefix(REF)
        return REF + self._names.get(name, name)


def _describe_fields(schema: dict[str, Any]) -> None:
    """Turn the attributes that a docstring lists into descriptions of the properties."""
    text = str(schema.get("description", ""))
    found = _ATTRIBUTES.search(text)
    if found is not None:
        text = text[: found.start()]
        indent = len(found["lines"]) - len(found["lines"].lstrip(" "))
        for entry in re.split(rf"\n {{{indent}}}(?=\S)", found["lines"].strip()):
            told = _ATTRIBUTE.fullmatch(" ".join(entry.split()))
            for name in told["names"].split(", ") if told else ():
                if told is not None and name in schema["properties"]:
                    schema["properties"][name] = _described(schema["properties"][name], told["text"])
    text = _SECTIONS.sub("", text).strip()
    if text:
        schema["description"] = markdown(text)
    else:
        schema.pop("description", None)


def _described(schema: dict[str, Any], text: str) -> dict[str, Any]:
    text = markdown(text)
    return {**schema, "description": text[:1].upper() + text[1:]}


def markdown(text: str) -> str:
    """Turn the marks of docstrings into those of Markdown."""
    return text.replace("``", "`")


def _structs(types: Iterable[Any]) -> set[Any]:
    """Return every struct that can be reached from types."""
    found: set[Any] = set()

    def collect(at: Any) -> None:
        if isinstance(at, inspect.StructType):
            if at.cls not in found:
                found.add(at.cls)
                for one in at.fields:
                    collect(one.type)
            return
        for inner in ("type", "item_type", "key_type", "value_type"):
            if isinstance(getattr(at, inner, None), inspect.Type):
                collect(getattr(at, inner))
        for inner in ("types", "item_types"):
            for one in getattr(at, inner, ()):
                collect(one)

    for one in inspect.multi_type_info(list(types)):
        collect(one)
    return found


def _name_in(components: Mapping[str, Any], cls: type) -> str:
    """Return the name that msgspec gave to a class: its own, or the whole path where others have that name."""
    path = f"{cls.__module__}.{cls.__qualname__}"
    return path if path in components else cls.__name__


def _readable(name: str, names: Mapping[str, str]) -> str:
    """Return the name of a schema: where several classes share theirs, the game or the service goes before it."""
    path, _, last = name.rpartition(".")
    if not path:
        return names.get(name, name)
    parts = path.split(".")
    owner = parts[parts.index("games") + 1] if "games" in parts[:-1] else parts[1]
    return "".join(part.capitalize() for part in owner.split("_")) + names.get(last, last)
