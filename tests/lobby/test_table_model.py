"""The table against a naive model of one: whatever people do, in whatever order, both say the same.

The model is a few lists and plain rules, written from the page of the API and not from the code. It knows nothing of
events; the table is folded from the events that its decisions led to.
"""

from dataclasses import dataclass, field

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import Raw

from services.contracts.events.catalogue import decode, encode
from services.lobby.tables.deciding import Refusal, decide, decide_open
from services.lobby.tables.orders import (
    ChangeSettings,
    Finish,
    GiveSeed,
    Join,
    Leave,
    Open,
    PassHost,
    Remove,
    SeatBot,
    Start,
    StartQuick,
)
from services.lobby.tables.table import Commitment, Settings, evolve, opened

PEOPLE = ("ana", "ben", "cat", "dan", "eva")
CODE = "c0de"

people = st.sampled_from(PEOPLE)
seat_numbers = st.integers(-1, 4)
levels = st.sampled_from(("casual", "sharp"))
seeds = st.sampled_from(("-", "x", "y"))


@dataclass
class Model:
    """A table as a person would keep it on paper: a list of chairs, and who is in charge."""

    chairs: list
    host: str
    code: str | None
    quick: bool
    clock: int | None = None
    rated: bool = True
    bot_sat: bool = False
    state: str = "open"
    matches: int = 0
    seeds: dict = field(default_factory=dict)
    bots: dict = field(default_factory=dict)

    @property
    def persons(self):
        return [who for who in self.chairs if who and who not in self.bots]

    @property
    def free(self):
        return [at for at, who in enumerate(self.chairs) if who is None]

    def closed_or_playing(self):
        return {"closed": "table-closed", "playing": "match-running"}.get(self.state)

    def host_may(self, who):
        if self.closed_or_playing():
            return self.closed_or_playing()
        if who != self.host:
            return "not-host"
        return "quick-match-filling" if self.quick else None

    def chair(self, wanted):
        """(chair, None) or (None, why not)."""
        if wanted is not None and wanted not in range(len(self.chairs)):
            return None, "no-such-seat"
        if not self.free:
            return None, "table-full"
        if wanted is not None and wanted not in self.free:
            return None, "seat-taken"
        return (min(self.free) if wanted is None else wanted), None

    def join(self, who, wanted, seed, code, starts):
        if self.closed_or_playing():
            return self.closed_or_playing()
        if who in self.chairs:
            return "already-seated"
        if self.code and code != self.code:
            return "invite-code-wrong"
        chair, why = self.chair(wanted)
        if why:
            return why
        self.chairs[chair] = who
        self.seeds[who] = seed
        if not self.free and (starts or self.quick):
            self.play()
        return None

    def play(self):
        self.state, self.quick = "playing", False

    def empty(self, chair):
        who, self.chairs[chair] = self.chairs[chair], None
        self.bots.pop(who, None)
        self.seeds.pop(who, None)
        if not self.persons:
            self.state, self.quick = "closed", False
        elif who == self.host:
            after = [
                (at - chair) % len(self.chairs) for at, one in enumerate(self.chairs) if one in self.persons
            ]
            self.host = self.chairs[(chair + min(after)) % len(self.chairs)]

    def leave(self, who):
        if self.closed_or_playing():
            return self.closed_or_playing()
        if who not in self.chairs:
            return "not-seated"
        self.empty(self.chairs.index(who))
        return None

    def seed(self, who, seed):
        if self.closed_or_playing():
            return self.closed_or_playing()
        if who not in self.chairs:
            return "not-seated"
        self.seeds[who] = seed
        return None

    def bot(self, who, name, level, wanted):
        why = self.host_may(who)
        chair, no_chair = self.chair(wanted)
        if why or no_chair:
            return why or no_chair
        self.chairs[chair] = name
        self.bots[name] = level
        self.bot_sat = True
        return None

    def remove(self, who, chair):
        why = self.host_may(who)
        if why:
            return why
        if chair not in range(len(self.chairs)):
            return "no-such-seat"
        if self.chairs[chair] is None:
            return "seat-free"
        self.empty(chair)
        return None

    def hand_over(self, who, other):
        why = self.host_may(who)
        if why:
            return why
        if other not in self.persons or other == who:
            return "host-unfit"
        self.host = other
        return None

    def change(self, who, count, clock, code, rated):
        why = self.host_may(who)
        if why:
            return why
        if any(self.chairs[count:]):
            return "seats-in-use"
        self.chairs = (self.chairs + [None] * count)[:count]
        self.clock, self.code, self.rated = clock, code, rated
        return None

    def start(self, who):
        if self.closed_or_playing():
            return self.closed_or_playing()
        if who != self.host:
            return "not-host"
        if self.quick:
            return self.start_quick([])
        if self.free:
            return "seats-empty"
        self.play()
        return None

    def start_quick(self, bots):
        if self.closed_or_playing():
            return self.closed_or_playing()
        if not self.quick:
            return "unavailable"
        sitting = [who for who in self.chairs if who]
        fill = bots[: max(0, 2 - len(sitting))]
        if len(sitting) + len(fill) < 2:
            return "seats-empty"
        self.chairs = sitting + fill
        self.bots |= dict.fromkeys(fill, "casual")
        self.bot_sat = self.bot_sat or bool(fill)
        self.play()
        return None

    def finish(self, gone):
        if self.state != "playing":
            return "table-closed" if self.state == "closed" else "match-over"
        self.state = "open"
        self.matches += 1
        for chair in gone:
            if self.state == "open":
                self.empty(chair)
        self.seeds = {}
        return None


class Tables(RuleBasedStateMachine):
    @initialize(
        seats=st.integers(2, 4), private=st.booleans(), quick=st.booleans(), rated=st.booleans(), host=people
    )
    def open(self, seats, private, quick, rated, host):
        private = private and not quick
        self.bots_made = 0
        self.commitments = 1
        chosen = Settings(
            Raw(b"{}"), seats, None, "private" if private else "public", rated, CODE if private else None
        )
        order = Open("dice-race", 1, chosen, Commitment("m_1", "c1", 1), 2 if quick else None)
        facts = decide_open(order, host)
        self.table = opened("t_1", facts[0])
        for fact in facts[1:]:
            self.table = evolve(self.table, fact)
        chairs = [host] + [None] * (seats - 1)
        self.model = Model(chairs, host, CODE if private else None, quick, rated=rated)

    def both(self, order, who, expected):
        """The table decides, and has to say what the model said."""
        before = self.table
        decision = decide(before, order, who)
        if isinstance(decision, Refusal):
            assert decision.code == expected, (order, who, decision, expected)
            return
        assert expected is None, (order, who, decision, expected)
        assert decision
        for fact in decision:
            stored = decode(fact.__struct_config__.tag, fact.SCHEMA, encode(fact))
            assert stored == fact
            self.table = evolve(self.table, stored)
        assert self.table.version == before.version + len(decision)

    @rule(who=people, seat=st.none() | seat_numbers, seed=seeds, code=st.sampled_from((None, CODE, "bad")),
          starts=st.booleans())  # fmt: skip
    def join(self, who, seat, seed, code, starts):
        self.both(Join(seat, seed, code, starts), who, self.model.join(who, seat, seed, code, starts))

    @rule(by_host=st.booleans(), other=people)
    def leave(self, by_host, other):
        who = self.model.host if by_host else other
        self.both(Leave(), who, self.model.leave(who))

    @precondition(lambda self: self.model.state == "open" and self.model.free)
    @rule(data=st.data())
    def somebody_new_joins(self, data):
        """Many steps are refused; this one never is, so that tables become full now and then."""
        who = data.draw(st.sampled_from([one for one in PEOPLE if one not in self.model.chairs]))
        seat = data.draw(st.none() | st.sampled_from(self.model.free))
        self.join(who, seat, "-", self.model.code, starts=False)

    @precondition(lambda self: len(self.model.persons) > 1)
    @rule(data=st.data())
    def somebody_else_becomes_host(self, data):
        others = [who for who in self.model.persons if who != self.model.host]
        self.hand_over(data.draw(st.sampled_from(others)), by_host=True, other="ana")

    @precondition(lambda self: self.model.state == "closed")
    @rule(host=people, seats=st.integers(3, 4))
    def open_another(self, host, seats):
        """A closed table refuses everything; once that was seen, another is opened."""
        self.open(seats, private=False, quick=False, rated=True, host=host)

    @rule(who=people, seed=seeds)
    def give_a_seed(self, who, seed):
        self.both(GiveSeed(seed), who, self.model.seed(who, seed))

    @rule(seat=st.none() | seat_numbers, level=levels, by_host=st.booleans(), other=people)
    def seat_a_bot(self, seat, level, by_host, other):
        who = self.model.host if by_host else other
        self.bots_made += 1
        name = f"bot-{self.bots_made}"
        self.both(SeatBot(name, level, seat), who, self.model.bot(who, name, level, seat))

    @rule(seat=seat_numbers, by_host=st.booleans(), other=people)
    def remove(self, seat, by_host, other):
        who = self.model.host if by_host else other
        self.both(Remove(seat), who, self.model.remove(who, seat))

    @rule(to=people, by_host=st.booleans(), other=people)
    def hand_over(self, to, by_host, other):
        who = self.model.host if by_host else other
        self.both(PassHost(to), who, self.model.hand_over(who, to))

    @rule(count=st.integers(2, 4), clock=st.sampled_from((None, 10, 30)), private=st.booleans(),
          rated=st.booleans(), by_host=st.booleans(), other=people)  # fmt: skip
    def change(self, count, clock, private, rated, by_host, other):
        who = self.model.host if by_host else other
        code = CODE if private else None
        chosen = Settings(Raw(b"{}"), count, clock, "private" if private else "public", rated, code)
        self.both(ChangeSettings(chosen), who, self.model.change(who, count, clock, code, rated))

    @rule(by_host=st.booleans(), other=people)
    def start(self, by_host, other):
        who = self.model.host if by_host else other
        self.both(Start(), who, self.model.start(who))

    @rule(bots=st.integers(0, 2))
    def start_by_itself(self, bots):
        names = [f"fill-{number}" for number in range(bots)]
        self.both(StartQuick(tuple(names)), "lobby", self.model.start_quick(names))

    @precondition(lambda self: self.model.state == "playing")
    @rule(data=st.data())
    def finish(self, data):
        chairs = st.sampled_from([self.model.chairs.index(who) for who in self.model.persons])
        gone = data.draw(st.lists(chairs, unique=True))
        self.commitments += 1
        following = Commitment(f"m_{self.commitments}", "c", self.commitments)
        match = self.table.match
        self.both(Finish(match, following, tuple(gone)), "lobby", self.model.finish(gone))

    @rule(match=st.sampled_from(("m_0", "m_99")))
    def finish_another_match(self, match):
        why = "table-closed" if self.model.state == "closed" else "match-over"
        self.both(Finish(match, None), "lobby", why)

    @invariant()
    def they_look_the_same(self):
        if not hasattr(self, "model"):
            return
        model, table = self.model, self.table
        assert table.state == model.state
        assert [seat and seat.player for seat in table.seats] == model.chairs
        assert {seat.player: seat.bot for seat in table.seated if seat.bot} == model.bots
        assert (table.quick_min is not None) == model.quick
        if model.state != "closed":
            assert table.host == model.host
            assert model.host in model.persons
            assert {seat.player: seat.seed for seat in table.seated} == {
                who: model.seeds.get(who, "-") for who in model.chairs if who
            }
        assert len(table.seats) == table.settings.seats
        assert table.settings.turn_seconds == model.clock
        assert table.settings.invite_hash == model.code
        assert table.rated == (model.rated and not model.bot_sat)
        if model.state == "open":
            assert table.commitment is not None and table.commitment.match != table.match


Tables.TestCase.settings = hypothesis_settings(max_examples=200, stateful_step_count=50, deadline=None)
TestTables = Tables.TestCase
