"""The same model of a table, asked over HTTP on a real database: what the wire says is what the model says.

Hypothesis works in a thread of its own and sends its requests through the test's loop.
"""

import asyncio

import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from tests.lobby.test_table_model import PEOPLE, Model
from tests.lobby.test_tables_http import until

pytestmark = pytest.mark.slow

people = st.sampled_from(PEOPLE)
seat_numbers = st.integers(0, 4)


class TablesOverHttp(RuleBasedStateMachine):
    """Each run has a table of its own, in one running lobby."""

    lobby_app = guests = loop = None

    def ask(self, who, method, path, body=None):
        return self.wait(self.guests[who].ask(method, path, body))

    def wait(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    @initialize(host=people, seats=st.integers(2, 4), private=st.booleans(), rated=st.booleans())
    def open(self, host, seats, private, rated):
        visibility = "private" if private else "public"
        asked = {"game": "dice-race", "seats": seats, "visibility": visibility, "rated": rated}
        table = self.ask(host, "POST", "/tables", asked).json()
        self.path = f"/tables/{table['id']}"
        self.code = table["invite_code"]
        self.model = Model([host] + [None] * (seats - 1), host, self.code, quick=False, rated=rated)
        self.bots = 0
        self.shown = table

    def both(self, who, method, tail, body, expected):
        answer = self.ask(who, method, self.path + tail, body)
        code = None if answer.is_success else answer.json()["code"]
        assert code == expected, (who, method, tail, body, answer.text)
        return answer

    @rule(who=people, seat=st.none() | seat_numbers, right=st.booleans())
    def join(self, who, seat, right):
        code = self.code if right else "0" * 16
        expected = self.model.join(who, seat, "-", code, starts=False)
        body = {"seat": seat} if code is None else {"seat": seat, "invite_code": code}
        self.both(who, "POST", "/join", body, expected)

    @rule(who=people)
    def leave(self, who):
        self.both(who, "POST", "/leave", None, self.model.leave(who))

    @rule(seat=st.none() | seat_numbers, level=st.sampled_from(("casual", "sharp")), by_host=st.booleans(),
          other=people)  # fmt: skip
    def seat_a_bot(self, seat, level, by_host, other):
        who = self.model.host if by_host else other
        self.bots += 1
        name = f"bot-{self.bots}"
        expected = self.model.bot(who, name, level, seat)
        answer = self.both(who, "POST", "/bots", {"seat": seat, "level": level}, expected)
        if expected is None:
            at = self.model.chairs.index(name)
            bot = answer.json()["seats"][at]["player"]
            self.model.chairs[at] = bot
            self.model.bots[bot] = self.model.bots.pop(name)

    @rule(seat=seat_numbers, by_host=st.booleans(), other=people)
    def remove(self, seat, by_host, other):
        who = self.model.host if by_host else other
        self.both(who, "DELETE", f"/seats/{seat}", None, self.model.remove(who, seat))

    @rule(to=people, by_host=st.booleans(), other=people)
    def hand_over(self, to, by_host, other):
        who = self.model.host if by_host else other
        expected = self.model.hand_over(who, to)
        self.both(who, "POST", "/host", {"player": self.guests[to].id}, expected)

    @rule(count=st.integers(2, 4), clock=st.sampled_from((None, 10, 30)), rated=st.booleans(),
          by_host=st.booleans(), other=people)  # fmt: skip
    def change(self, count, clock, rated, by_host, other):
        who = self.model.host if by_host else other
        expected = self.model.change(who, count, clock, self.model.code, rated)
        self.both(who, "PATCH", "", {"seats": count, "turn_seconds": clock, "rated": rated}, expected)

    @rule(by_host=st.booleans(), other=people)
    def start(self, by_host, other):
        who = self.model.host if by_host else other
        self.both(who, "POST", "/start", None, self.model.start(who))

    @precondition(lambda self: self.model.state == "playing")
    @rule(data=st.data())
    def finish(self, data):
        chairs = [self.model.chairs.index(who) for who in self.model.persons]
        gone = data.draw(st.lists(st.sampled_from(chairs), unique=True))
        match = self.shown["match_id"]
        self.model.finish(gone)
        self.wait(self.over(match, gone))

    async def over(self, match, gone):
        await self.lobby_app.engine.end(match, left=tuple(gone))

        async def is_over():
            return (await self.guests[PEOPLE[0]].get(self.path)).json()["state"] != "playing"

        await until(is_over)

    @invariant()
    def they_look_the_same(self):
        if not hasattr(self, "model"):
            return
        self.shown = shown = self.ask(PEOPLE[0], "GET", self.path).json()
        model = self.model
        ids = {who: guest.id for who, guest in self.guests.items()}
        assert shown["state"] == model.state
        assert [seat["player"] for seat in shown["seats"]] == [ids.get(who, who) for who in model.chairs]
        assert {seat["player"]: seat["bot"] for seat in shown["seats"] if seat["bot"]} == model.bots
        assert model.state == "closed" or shown["host"] == ids[model.host]
        assert (shown["turn_seconds"], shown["rated"]) == (model.clock, model.rated and not model.bot_sat)
        assert shown["commitment_number"] is not None or model.state == "closed"
        may_see_code = model.code is not None and model.host == PEOPLE[0] and model.state != "closed"
        assert shown["invite_code"] == (self.code if may_see_code else None)


async def test_the_wire_says_what_the_model_says(lobby_app):
    guests = {who: await lobby_app.guest(who.title()) for who in PEOPLE}
    settings = hypothesis_settings(
        max_examples=12, stateful_step_count=25, deadline=None, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    bound = {"lobby_app": lobby_app, "guests": guests, "loop": asyncio.get_running_loop()}
    made = type("BoundTables", (TablesOverHttp,), bound)
    async with asyncio.timeout(120):
        await asyncio.to_thread(run_machine, made, settings=settings)
