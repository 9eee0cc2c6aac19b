"""Events written years ago come out of the log in today's shape; their bytes are still those that were hashed."""

from typing import ClassVar

import pytest

from services.contracts.envelope import Draft, chain
from services.contracts.events import catalogue
from services.contracts.events.base import Fact
from services.runtime.log import Append, EventLog
from tests.store.writers import ACTOR, AT_MS, Stream


class Tried(Fact, frozen=True, tag="tried"):
    """A type that only this test knows. It began as ``{who}``, then had ``{player}``, and now has a count as well."""

    SCHEMA: ClassVar[int] = 3
    player: str
    times: int


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catalogue.TYPES, "tried", Tried)  # type: ignore[arg-type]
    monkeypatch.setitem(
        catalogue.UPCASTERS,
        ("tried", 1),
        lambda fields: {"type": "tried", "player": fields["who"]},  # type: ignore[arg-type]
    )
    monkeypatch.setitem(catalogue.UPCASTERS, ("tried", 2), lambda fields: {**fields, "times": 1})  # type: ignore[arg-type]


@pytest.mark.usefixtures("_registered")
async def test_old_shapes_are_lifted_by_the_one_decode_function(log: EventLog):
    stream = Stream()
    bodies = [b'{"type":"tried","who":"p_1"}', b'{"type":"tried","player":"p_2"}']
    drafts = [Draft("tried", schema, body) for schema, body in enumerate(bodies, 1)]
    events = chain(stream.head, drafts, stream=stream.id, actor=ACTOR, command="c_1", at_ms=AT_MS, cause=None)
    await log.append(Append(stream.id, "m", stream.head, tuple(events), "c_1", bytes(32), b"{}"))
    stored = [recorded.event for recorded in await log.read_stream(stream.id)]
    assert [catalogue.fact_of(event) for event in stored] == [Tried("p_1", 1), Tried("p_2", 1)]
    assert [event.body for event in stored] == bodies
    assert all(event.recomputed_hash() == event.hash for event in stored)


async def test_a_type_from_the_future_is_named(log: EventLog):
    stream = Stream()
    events = chain(
        stream.head,
        [Draft("teleported", 1, b"{}")],
        stream=stream.id,
        actor=ACTOR,
        command="c_1",
        at_ms=AT_MS,
        cause=None,
    )
    await log.append(Append(stream.id, "m", stream.head, tuple(events), "c_1", bytes(32), b"{}"))
    stored = (await log.read_stream(stream.id))[0].event
    with pytest.raises(catalogue.UndecodableEventError, match="teleported"):
        catalogue.fact_of(stored)
