"""A poison event parks its own stream and nothing else, shows everywhere, and is let in by one command."""

import json
import subprocess
import sys

import asyncpg
import pytest
import pytest_asyncio

from services.contracts.envelope import Draft, Head, chain
from services.projections.history import tables as history_tables
from services.projections.history.fold import evolve
from services.projections.leaderboards import tables as leaderboard_tables
from services.runtime import subscription
from tests.projections.stories import Story, a, player
from tests.projections.support import contents, eventually, running
from tests.support.up import ROOT

P1, P2, P3 = (player(number) for number in range(1, 4))
POISON = a("m", 2)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(subscription, "BACKOFF_FIRST_SECONDS", 0.001)


@pytest.fixture
def broken(monkeypatch):
    """Code with a mistake: the end of one match, and of no other, cannot be worked off. Returns what mends it."""

    def failing(module):
        good = module.evolve

        def bad(before, recorded):
            if recorded.event.stream == POISON and recorded.event.type == "match-ended":
                raise KeyError("a mistake in the code")
            return good(before, recorded)

        monkeypatch.setattr(module, "evolve", bad)
        return lambda: monkeypatch.setattr(module, "evolve", good)

    mends = [failing(history_tables), failing(leaderboard_tables)]
    return lambda: [mend() for mend in mends]


@pytest_asyncio.fixture(loop_scope="session")
async def here(database):
    async with running(database) as app:
        yield app


def told_of():
    """Three matches, of which the second cannot be worked off, with something of each after it."""
    story = Story()
    story.play(a("m", 1), [P1, P2], [1, 2])
    poison = story.play(POISON, [P2, P3], [1, 2])
    story.play(a("m", 3), [P3, P1], [1, 2])
    return story, poison


async def shown(here):
    headers = here.token("p_operator", "operate")
    return {
        item["name"]: item for item in (await here.get("/v1/projections", headers=headers)).json()["items"]
    }


async def release(here, name, body=None, scope="operate"):
    return await here.client.post(
        f"/v1/projections/{name}/release", json=body or {}, headers=here.token("p_operator", scope)
    )


async def rebuilt(here, name, database):
    """Return the bytes of a projection before and after it was built anew."""
    projection = next(one for one in here.projections if name == one.NAME)
    connection = await asyncpg.connect(database)
    await here.caught_up()  # ratings of what was released come a moment later
    before = await contents(connection, projection)
    answer = await here.client.post(
        f"/v1/projections/{name}/rebuild", json={}, headers=here.token("p_operator", "operate")
    )
    assert answer.status_code == 202

    async def done():
        return (await shown(here))[name]["rebuild"]["state"] == "done"

    await eventually(done)
    after = await contents(connection, projection)
    await connection.close()
    return before, after


@pytest.mark.slow
async def test_a_poison_event_parks_its_own_stream_and_is_released(here, broken, database):
    story, poison = told_of()
    await here.tell(story.commands)
    head = await here.caught_up()
    items = await shown(here)
    assert (items["board"]["healthy"], items["board"]["parked"]) == (True, 0)
    for name in ("history", "leaderboards"):
        item = items[name]
        assert (item["state"], item["healthy"], item["position"], item["lag_positions"]) == (
            "running",
            False,
            head,
            0,
        )
        (letter,) = item["dead_letters"]
        assert (letter["stream"], letter["position"], letter["type"]) == (POISON, poison, "match-ended")
        assert (letter["attempts"], letter["error"]) == (5, "KeyError('a mistake in the code')")
    # What strangers see; metrics; readiness.
    (item,) = [one for one in (await here.get("/v1/projections")).json()["items"] if one["name"] == "history"]
    assert (item["parked"], item["dead_letters"], item["leader"]) == (1, None, None)
    ready = await here.get("/health/ready")
    assert (ready.status_code, ready.json()["checks"]["projections"]) == (
        200,
        "leaderboards: 1 parked; history: 1 parked",
    )
    metrics = (await here.get("/metrics")).text
    assert 'macao_projection_parked_streams{projection="history"} 1.0' in metrics
    assert 'macao_projection_parked_streams{projection="board"} 0.0' in metrics
    assert 'macao_projection_state{projection="history",state="running"} 1.0' in metrics
    # All other matches are there, and go on being worked off; the parked one stands where it stood.
    matches = (await here.get(f"/v1/players/{P3}/matches")).json()["items"]
    assert [(one["id"], one["status"]) for one in matches] == [(a("m", 3), "ended"), (POISON, "running")]
    assert len((await here.get("/v1/leaderboards/dice-race")).json()["items"]) == 3
    # Not mended yet: nothing changes but the count.
    answer = await release(here, "history")
    assert (answer.status_code, answer.json()["code"]) == (409, "release-failed")
    assert (await shown(here))["history"]["dead_letters"][0]["attempts"] == 6
    # Mended: history lets the stream in, behind the others; the leaderboards are built again.
    broken()
    assert (await release(here, "history", {"stream": a("m", 1)})).json() == {
        "released": [],
        "rebuilding": False,
    }
    answer = await release(here, "history", {"stream": POISON})
    assert answer.json() == {"released": [{"stream": POISON, "events": 1}], "rebuilding": False}
    assert (await release(here, "leaderboards")).json() == {"released": [], "rebuilding": True}

    async def well():
        return all(item["healthy"] for item in (await shown(here)).values())

    await eventually(well)
    assert (await here.get("/health/ready")).json()["checks"]["projections"] == "ok"
    for name in ("history", "leaderboards"):
        before, after = await rebuilt(here, name, database)
        assert before == after
        assert before.count(POISON.encode()) >= 2
    # And the live readers go on.
    story.commands.clear()
    story.play(a("m", 4), [P1, P3], [1, 2])
    await here.tell(story.commands)
    await here.caught_up()
    assert (await here.get(f"/v1/players/{P3}/matches")).json()["items"][0]["id"] == a("m", 4)


async def test_later_events_of_a_parked_stream_wait_for_it(here, database, monkeypatch):
    def bad(before, recorded):
        if recorded.event.type == "match-started" and recorded.event.stream == POISON:
            raise KeyError("a mistake in the code")
        return evolve(before, recorded)

    monkeypatch.setattr(history_tables, "evolve", bad)
    story, _ = told_of()
    await here.tell(story.commands)
    await here.caught_up()
    (letter,) = (await shown(here))["history"]["dead_letters"]
    assert letter["type"] == "match-started"
    matches = (await here.get(f"/v1/players/{P3}/matches")).json()["items"]
    assert [one["id"] for one in matches] == [a("m", 3)]
    monkeypatch.setattr(history_tables, "evolve", evolve)
    waiting = sum(recorded.event.stream == POISON for recorded in story.records)
    assert (await release(here, "history")).json()["released"] == [{"stream": POISON, "events": waiting}]
    before, after = await rebuilt(here, "history", database)
    assert before == after


@pytest.mark.slow
async def test_operators_do_the_same_from_the_command_line(here, database):
    story, _ = told_of()
    broken = Draft("match-started", 1, b'{"type":"match-started"}')
    events = chain(Head(), [broken], stream=a("m", 9), actor="x", command="c_broken", at_ms=1, cause=None)
    await here.tell([*story.commands, (Head(), events)])
    await here.caught_up()

    def macao(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "services.cli", *arguments, "--database", database],
            cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    told = macao("projections", "--json")
    assert not told.stderr
    assert told.returncode == 1
    lines = [json.loads(line) for line in told.stdout.splitlines()]
    assert [(line["name"], line["parked"]) for line in lines] == [
        ("board", 0),
        ("leaderboards", 1),
        ("history", 1),
        ("records", 1),
    ]
    told = macao("projections")
    assert f"{a('m', 9)} is parked from position {story.position + 1}" in told.stdout
    assert "macao release history" in told.stdout
    # The event itself is broken: no code will read it, so neither a release nor a rebuild gets by.
    told = macao("release", "history")
    assert told.returncode == 1
    assert "still cannot be worked off" in told.stderr
    told = macao("rebuild", "history")
    assert told.returncode == 1
    assert (
        f"the event at position {story.position + 1} (match-started, version 1 of {a('m', 9)})" in told.stderr
    )
    assert "The old tables go on to serve" in told.stderr
    assert (await shown(here))["history"]["rebuild"]["state"] == "failed"
    assert macao("release", "board").stderr == "macao: board has parked nothing.\n"
    assert "choose among board, leaderboards, history" in macao("rebuild", "nothing").stderr


@pytest.mark.parametrize("path", ["history/release", "history/rebuild", "leaderboards/rebuild"])
async def test_only_operators_may(here, path):
    url = f"/v1/projections/{path}"
    assert (await here.client.post(url, json={})).status_code == 401
    answer = await here.client.post(url, json={}, headers=here.token(P1))
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    answer = await here.client.post(
        "/v1/projections/nothing/" + path.split("/")[1], json={}, headers=here.token(P1, "operate")
    )
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


async def test_more_than_a_hundred_parked_streams_are_no_matter_of_events(here, database, monkeypatch):
    monkeypatch.setattr(subscription, "PARKED_MAX", 2)
    monkeypatch.setattr(subscription, "ATTEMPTS_MAX", 2)

    good = history_tables.evolve

    def bad(before, recorded):
        raise KeyError("nothing works")

    monkeypatch.setattr(history_tables, "evolve", bad)
    story = Story()
    for number in range(1, 5):
        story.play(a("m", number), [P1, P2], [1, 2])
    await here.tell(story.commands)

    async def stopped():
        return (await shown(here))["history"]["state"] == "stopped"

    await eventually(stopped)
    item = (await shown(here))["history"]
    assert (item["parked"], item["healthy"]) == (2, False)
    assert item["last_error"].startswith("2 streams are parked already; position ")
    ready = await here.get("/health/ready")
    assert ready.status_code == 503
    assert ready.json()["params"]["checks"]["projections"] == "history: stopped, 2 parked"
    # There is nothing to compare; but tables that are built anew by code that works take over, and are followed again.
    operator = here.token("p_operator", "operate")
    monkeypatch.setattr(history_tables, "evolve", good)
    await here.client.post("/v1/projections/history/rebuild", json={"purpose": "compare"}, headers=operator)

    async def compared():
        return (await shown(here))["history"]["rebuild"]["state"] == "failed"

    await eventually(compared)
    assert "there is nothing to compare" in (await shown(here))["history"]["rebuild"]["last_error"]
    await here.client.post("/v1/projections/history/rebuild", json={}, headers=operator)

    async def well():
        return (await shown(here))["history"]["healthy"]

    await eventually(well)
    story.commands.clear()
    story.play(a("m", 6), [P1, P2], [1, 2])
    await here.tell(story.commands)
    await here.caught_up()
    assert len((await here.get(f"/v1/players/{P1}/matches")).json()["items"]) == 5


async def test_what_is_wrong_with_the_tables_parks_nothing(here, database):
    owner = await asyncpg.connect(database)
    await owner.execute("ALTER TABLE macao_projections.history_seats RENAME TO elsewhere")
    story, _ = told_of()
    await here.tell(story.commands)

    async def stopped():
        return (await shown(here))["history"]["state"] == "stopped"

    await eventually(stopped)
    item = (await shown(here))["history"]
    assert item["parked"] == 0
    assert "UndefinedTableError" in item["last_error"]
    await owner.close()
