"""Opens tables and changes them, which the engine has a say in; the rest is the clerk's."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, Final

from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from services.contracts.ids import ENTROPY_BYTES, TABLE, make_id
from services.lobby.engine import Engine
from services.lobby.tables.clerk import Clerk, Done
from services.lobby.tables.deciding import Refusal, decide, decide_open
from services.lobby.tables.orders import ChangeSettings, Open, Order
from services.lobby.tables.streams import TableStreams
from services.lobby.tables.table import Settings, Table, TurnSeconds, Visibility
from services.runtime.clock import Clock, Entropy
from services.runtime.log import Appended, Conflict, Duplicate, EventLog, Reused
from services.runtime.vault import Vault
from services.runtime.web.idempotency import Command
from services.runtime.web.problems import Problem

CODE_LENGTH: Final = 16
_CODE_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class Wanted(Struct, frozen=True):
    """Settings as somebody asks for them; what is not given stays, or is the default."""

    options: Raw | UnsetType = UNSET
    seats: int | UnsetType = UNSET
    turn_seconds: TurnSeconds | UnsetType = UNSET
    visibility: Visibility | UnsetType = UNSET
    rated: bool | UnsetType = UNSET


class Desk(Clerk):
    """The application side of tables."""

    def __init__(
        self,
        log: EventLog,
        streams: TableStreams,
        engine: Engine,
        vault: Vault,
        clock: Clock,
        entropy: Entropy,
    ) -> None:
        super().__init__(log, streams)
        self._engine = engine
        self._vault = vault
        self._clock = clock
        self._entropy = entropy

    def new_id(self) -> str:
        """Return an id for a table to be opened."""
        return make_id(TABLE, self._clock.now_ms(), self._entropy(ENTROPY_BYTES))

    async def open(
        self,
        game: str,
        seats: int,
        wanted: Wanted,
        *,
        player: str,
        command: Command,
        cause: Any,
        table: str | None = None,
        quick_min: int | None = None,
    ) -> Done:
        """Open a table: first the engine commits to its first match, then it exists.

        ``table`` is its id, if that was fixed before; with ``quick_min`` it is a table of quick match.

        Raises:
            Problem: what the engine finds wrong with the settings; ``idempotency-key-reused``.
        """
        earlier = await self.carried_out(command)
        if earlier is not None:
            return earlier
        committed = await self._engine.commit(game, _given(wanted.options), seats, key=command.id)
        table = table or self.new_id()
        turn_seconds = wanted.turn_seconds if wanted.turn_seconds is not UNSET else committed.turn_seconds
        private = wanted.visibility == "private"
        settings = Settings(
            options=committed.options,
            seats=seats,
            turn_seconds=None if turn_seconds is UNSET else turn_seconds,
            visibility="private" if private else "public",
            rated=wanted.rated is not False and not committed.house_rules,
            invite_hash=hash_of(self.code_of(table)) if private else None,
        )
        order = Open(game, committed.rules_version, settings, committed.as_commitment, quick_min)
        facts = decide_open(order, player)
        outcome, opened = await self._streams.append(
            table, None, facts, actor=player, command=command, cause=cause
        )
        match outcome:
            case Appended():
                return Done(opened)
            case Duplicate():
                return await self._first_answer(outcome.answer)
            case Reused():
                raise Problem("idempotency-key-reused")
            case Conflict():
                raise Problem("unavailable")

    async def change(self, table: str, wanted: Wanted, *, actor: str, command: Command, cause: Any) -> Done:
        """Change settings; the engine looks at them as they would stand together.

        Raises:
            Problem: as ``act``, and what the engine finds wrong with the settings.
        """

        async def plan(before: Table) -> Order:
            settings = _merged(before, wanted)
            refused = isinstance(decide(before, ChangeSettings(settings), actor), Refusal)
            # By house rules nothing is rated, so the engine is also asked when a table is to be rated.
            checked = wanted.options is not UNSET or wanted.seats is not UNSET or wanted.rated is True
            if not refused and checked and before.commitment is not None:
                # The commitment binds the match's id and the seed; both stay, and the options are read anew.
                committed = await self._engine.commit(
                    before.game,
                    settings.options,
                    settings.seats,
                    key=f"{command.id}:{before.version}",
                    match=before.commitment.match,
                    completed=wanted.options is UNSET,
                )
                rated = settings.rated and not committed.house_rules
                settings = replace(settings, options=committed.options, rated=rated)
            code = self.code_of(table) if settings.visibility == "private" else None
            return ChangeSettings(replace(settings, invite_hash=code and hash_of(code)))

        return await self.act(table, plan, actor=actor, command=command, cause=cause)

    def code_of(self, table: str) -> str:
        """Return the invitation code of a table: computed from the installation's secret, so nowhere stored."""
        number = int.from_bytes(self._vault.derive("invitation", table)[:10], "big")
        return "".join(_CODE_ALPHABET[number >> 5 * place & 31] for place in range(CODE_LENGTH))


def hash_of(code: str) -> str:
    """Return what an event keeps of an invitation code; capitals and small letters are the same."""
    return sha256(code.strip().upper().encode()).hexdigest()


def _given(options: Raw | UnsetType) -> Raw:
    return Raw(b"{}") if options is UNSET else options


def _merged(table: Table, wanted: Wanted) -> Settings:
    before = table.settings
    return Settings(
        options=before.options if wanted.options is UNSET else wanted.options,
        seats=before.seats if wanted.seats is UNSET else wanted.seats,
        turn_seconds=before.turn_seconds if wanted.turn_seconds is UNSET else wanted.turn_seconds,
        visibility=before.visibility if wanted.visibility is UNSET else wanted.visibility,
        rated=before.rated if wanted.rated is UNSET else wanted.rated,
        invite_hash=before.invite_hash,
    )
