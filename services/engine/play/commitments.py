"""The service's own seeds: drawn, committed to in public, kept encrypted, revealed at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from services.contracts.ids import DEFAULT_LOG, ENTROPY_BYTES, MATCH, make_id
from services.engine.rules.chance import SEED_BYTES, commitment_of
from services.runtime.clock import Clock, Entropy
from services.runtime.database import Database, settle
from services.runtime.rotating import Encrypted
from services.runtime.vault import PREFIX_BYTES, Vault

SEED_PURPOSE: Final = "match seed"
SEEDS: Final = Encrypted("macao_engine.commitments", "match", "seed_sealed", SEED_PURPOSE)


class Commitment(Struct, frozen=True):
    """A published commitment.

    Attributes:
        match: the id that the match will have.
        commitment: SHA-256 over the match's id and the seed (hex).
        number: its place in the gapless public count.
    """

    match: str
    commitment: str
    number: int


class PublicCommitment(Struct, frozen=True):
    """A line of the public list: ``seed`` is null until it is revealed.

    Attributes:
        state: ``open`` until the match is over, ``played``, or ``unused`` when the table closed without a match.
    """

    number: int
    match_id: str
    commitment: str
    state: Literal["open", "played", "unused"]
    seed: str | None


class Commitments:
    """The table of commitments. Seeds leave it through `seed_of` only."""

    def __init__(
        self,
        database: Database,
        vault: Vault,
        clock: Clock,
        entropy: Entropy,
        log_for: Callable[[bytes], str] = lambda _entropy: DEFAULT_LOG,
    ) -> None:
        """Keep commitments in a database, seeds encrypted by a vault; ``log_for`` spreads matches over logs."""
        self._database = database
        self._vault = vault
        self._clock = clock
        self._entropy = entropy
        self._log_for = log_for

    async def publish(self, game: str, command: str) -> tuple[Commitment, bool] | None:
        """Draw a seed for a new match and publish the commitment to it; once for each command.

        Returns:
            The commitment, and whether it was published before; None if the command committed to another game.
        """
        chance = self._entropy(ENTROPY_BYTES)
        match = make_id(MATCH, self._clock.now_ms(), chance, self._log_for(chance))
        seed = self._entropy(SEED_BYTES)
        commitment = commitment_of(match, seed)
        sealed = self._vault.encrypt(SEED_PURPOSE, seed, match.encode())
        (row,) = await self._database.pool.fetch(
            "select match, commitment, number from macao_engine.publish_commitment($1, $2, $3, $4, $5)",
            command,
            match,
            game,
            commitment,
            sealed,
        )
        known = row["match"] != match
        if known:
            await settle(self._database.pool)
            before = await self._database.pool.fetchval(
                "select game from macao_engine.commitments where match = $1", row["match"]
            )
            if before != game:
                return None
        return Commitment(row["match"], row["commitment"], row["number"]), known

    async def find(self, match: str) -> Commitment | None:
        """Return a commitment under which a match may be played; None if it was never published, or revealed unused."""
        row = await self._database.pool.fetchrow(
            "select match, commitment, number from macao_engine.commitments where match = $1 and state <> 'unused'",
            match,
        )
        return None if row is None else Commitment(*row)

    async def seed_of(self, match: str) -> bytes:
        """Return the secret seed of a match.

        Raises:
            LookupError: nothing was committed to for this match.
        """
        sealed = await self._database.pool.fetchval(
            "select seed_sealed from macao_engine.commitments where match = $1", match
        )
        if sealed is None:
            raise LookupError(f"there is no commitment for {match}")
        return self._vault.decrypt(SEED_PURPOSE, sealed, match.encode())

    async def check_keys(self) -> None:
        """See to it that every key is here that a match needs which is not over.

        Raises:
            VaultError: one is missing, and what to do.
        """
        heads = await self._database.pool.fetch(
            "select distinct substr(seed_sealed, 1, $1) as head from macao_engine.commitments where state = 'open'",
            PREFIX_BYTES,
        )
        for row in heads:
            self._vault.check(row["head"], SEED_PURPOSE)

    async def is_revealed(self, match: str) -> bool:
        """Say whether the seed of a match is public: the match is over, or will never be played."""
        revealed = await self._database.pool.fetchval(
            "select seed is not null from macao_engine.commitments where match = $1", match
        )
        return bool(revealed)

    async def page(self, after: int, limit: int) -> list[PublicCommitment]:
        """Return public commitments with numbers above ``after``, in order."""
        rows = await self._database.pool.fetch(
            "select number, match, commitment, state, seed from macao_engine.commitments"
            " where number > $1 order by number limit $2",
            after,
            limit,
        )
        return [PublicCommitment(*row) for row in rows]
