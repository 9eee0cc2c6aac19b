"""docs/events.md describes every event type, every field of it, and shows one that can be read."""

import re
from pathlib import Path

import pytest

from services.contracts.events import chance
from services.contracts.events.catalogue import TYPES, decode, encode

PAGE = (Path(__file__).resolve().parents[2] / "docs/events.md").read_text()
SECTIONS = dict(re.findall(r"^### `([a-z-]+)`\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


def test_the_page_describes_the_types_that_there_are():
    assert sorted(SECTIONS) == sorted(TYPES)


@pytest.mark.parametrize("kind", TYPES)
def test_every_field_is_described_in_its_order(kind):
    described = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", SECTIONS[kind], re.MULTILINE)
    assert described == list(TYPES[kind].__struct_fields__)


@pytest.mark.parametrize("kind", TYPES)
def test_every_example_is_as_it_would_be_stored(kind):
    example = re.search(r"^```json\n(.*)\n```$", SECTIONS[kind], re.MULTILINE)
    assert example, f"{kind} has no example"
    assert encode(decode(kind, TYPES[kind].SCHEMA, example[1].encode())) == example[1].encode()


def test_every_draw_is_described():
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \| [^|]+ \|$", PAGE.split("## Draws\n")[1], re.MULTILINE))
    for draw in (chance.DiceDraw, chance.LotDraw, chance.ShuffleDraw):
        kind = str(draw.__struct_config__.tag)
        assert re.findall(r"`(\w+)`", rows[kind]) == [
            field for field in draw.__struct_fields__ if field not in {"round", "op"}
        ]


def test_schemas_are_as_the_page_says():
    later = {kind: struct.SCHEMA for kind, struct in TYPES.items() if struct.SCHEMA != 1}
    assert later == {"dispute-opened": 2, "dispute-ruled": 2}
