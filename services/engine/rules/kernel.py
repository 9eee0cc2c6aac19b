"""The interface between a game and everything around it.

A game is a value of `Rules`: a handful of pure functions over its own frozen state. Around it stand the
match (`match`), the service, replay, audit and bots, and none of them knows what a chip or a suit is.

- A **move** is what a player wants; a **fact** is what happened. ``decide`` turns the one into the other, or
  into a `Refusal`; ``evolve`` folds facts into the state and never refuses and never decides.
- **Chance** is an argument of ``decide``. A game asks for dice, a lot or a shuffle where its rules need one,
  and puts the answer into the fact. Replay therefore never draws again, and an audit draws everything again
  and compares.
- Secrets leave a game in two ways only, ``observe`` (a position) and ``redact`` (a fact). Folding redacted
  facts gives a state that observes the same, so ``evolve`` and ``observe`` must bear what is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, TypeVar

from msgspec import Struct
from msgspec.json import Decoder

from services.contracts.events.base import Fact
from services.contracts.events.chance import DiceDraw, LotDraw, ShuffleDraw

Viewer = int | Literal["spectator", "auditor"]
"""Who looks: a seat, somebody outside the match, or somebody who may see everything (only after the end)."""

SPECTATOR: Final = "spectator"
AUDITOR: Final = "auditor"


class Move(Struct, frozen=True, tag_field="type", forbid_unknown_fields=True):
    """What a player asks for. Subclasses set ``tag`` to the move's name.

    An accepted move is public: it stands in the record as the cause of its facts, so it holds nothing that others
    may not know (the card that is laid, never the card that is kept).

    ``ANY_VERSION`` is true for moves that race with those of others (a call, a catch, leaving): they carry their
    own conditions and need not name the version of the match that they were chosen at.
    """

    ANY_VERSION: ClassVar[bool] = False


class Leave(Move, frozen=True, tag="leave"):
    """Leave the running match (G7). Open to every seat still in, so it is not listed among the legal moves."""

    ANY_VERSION: ClassVar[bool] = True


class Expire(Move, frozen=True, tag="expire"):
    """The clock of the seat ran out (G10). Made by the service, never taken from a client."""


class Refusal(Struct, frozen=True):
    """A move that the rules do not allow (G4, G16). It changes nothing.

    Attributes:
        code: a code of the problem catalogue.
        clause: the clause of the rules that forbids the move, for instance ``DR-2.2``.
        params: what the clause was applied to, by name.
    """

    code: str
    clause: str
    params: Mapping[str, int | str | None] = {}


class Waiting(Struct, frozen=True):
    """The match waits for people.

    Attributes:
        turn: the seat that must decide next; the clock runs for it.
        may_act: every seat that has a legal move, in seat order.
    """

    turn: int
    may_act: tuple[int, ...]


class Over(Struct, frozen=True):
    """The match is over; ``places`` has one place per seat (G8)."""

    places: tuple[int, ...]


class Chance(Protocol):
    """Where a game gets its random outcomes from, and nothing else (G3).

    ``round`` is 0 for lots drawn before the first round, else the round or deal that the draw belongs to.
    """

    def dice(self, round: int, count: int) -> DiceDraw:
        """Throw ``count`` six-sided dice together."""
        ...

    def lot(self, round: int, among: tuple[int, ...]) -> LotDraw:
        """Draw one of the seats ``among``."""
        ...

    def shuffle(self, round: int, cards: tuple[str, ...]) -> ShuffleDraw:
        """Shuffle ``cards``."""
        ...


O = TypeVar("O", bound=Struct)  # noqa: E741 - the options of a game
S = TypeVar("S", bound=Struct)
M = TypeVar("M", bound=Move)
E = TypeVar("E", bound=Fact)


class Story(Generic[S, E]):
    """Facts as they are told while one move is decided, with the state that each of them leaves.

    Consequences read top down this way: tell a fact, look at the state, tell the next.
    """

    __slots__ = ("_evolve", "_facts", "state")

    def __init__(self, state: S, evolve: Callable[[S, E], S]) -> None:
        """Begin with nothing told."""
        self.state = state
        self._evolve = evolve
        self._facts: list[E] = []

    def tell(self, *facts: E) -> None:
        """Let facts happen, in order."""
        for fact in facts:
            self.state = self._evolve(self.state, fact)
            self._facts.append(fact)

    @property
    def facts(self) -> tuple[E, ...]:
        """All that was told."""
        return tuple(self._facts)


@dataclass(frozen=True)
class Rules(Generic[O, S, M, E]):
    """One game at one version of its rules.

    Attributes:
        name: the game's id, for instance ``dice-race``.
        version: raised when a match could go another way than before; old versions stay in the catalogue.
        title: the game's name for people.
        seats_min: the fewest players.
        seats_max: the most players.
        options: the type of the options, with their ranges and defaults.
        options_clause: the clause that holds the table of options.
        moves: the union of what players may send, `Leave` included.
        check: refuses options that do not go together; it is told which of them were given (G11).
        initial: the state before anything has happened.
        start: the facts that open the match, lots and first deal included.
        pending: what the match waits for.
        legal: the moves that ``decide`` accepts from a seat, in a stable order, `Leave` apart.
        decide: the facts that a move leads to, never none, or a refusal.
        evolve: the state after a fact.
        story: the same as ``decide``, with the state that the facts lead to, where the game has it at hand.
        observe: what a viewer may see of a state.
        redact: what a viewer may see of a fact.
        turn_seconds: the thinking time of a table that does not choose one (G10); None is none.
        house_rules: whether options make it a match by house rules, which is never rated.
    """

    name: str
    version: int
    title: str
    seats_min: int
    seats_max: int
    options: type[O]
    options_clause: str
    moves: Any
    check: Callable[[O, frozenset[str], int], Refusal | None]
    initial: Callable[[O, int], S]
    start: Callable[[S, Chance], tuple[E, ...]]
    pending: Callable[[S], Waiting | Over]
    legal: Callable[[S, int], tuple[Struct, ...]]
    decide: Callable[[S, int, M | Leave | Expire, Chance], tuple[E, ...] | Refusal]
    evolve: Callable[[S, E], S]
    observe: Callable[[S, Viewer], Struct]
    redact: Callable[[E, Viewer], E]
    story: Callable[[S, int, M | Leave | Expire, Chance], Story[S, E] | Refusal] | None = None
    turn_seconds: Literal[10, 30] | None = None
    house_rules: Callable[[O], bool] = lambda _: False

    @property
    def id(self) -> str:
        """The game at its version, as records and ``macao-fair/1`` write it: ``dice-race@1``."""
        return f"{self.name}@{self.version}"

    @cached_property
    def move_decoder(self) -> Decoder[Any]:
        """The decoder of moves as records hold them, the clock's own included; to make it costs more than to use it."""
        return Decoder(self.moves | Expire)

    def advance(
        self, state: S, seat: int, move: M | Leave | Expire, chance: Chance
    ) -> tuple[tuple[E, ...], S] | Refusal:
        """Decide a move and fold what follows: the facts, and the state after the last of them.

        A game that tells its facts as a `Story` has folded them already, and they are not folded again.
        """
        if self.story is not None:
            story = self.story(state, seat, move, chance)
            return (story.facts, story.state) if isinstance(story, Story) else story
        facts = self.decide(state, seat, move, chance)
        if isinstance(facts, Refusal):
            return facts
        for fact in facts:
            state = self.evolve(state, fact)
        return facts, state


AnyRules = Rules[Any, Any, Any, Any]
