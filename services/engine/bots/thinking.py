"""Lets bots think: beside the service, from a random source of each decision's own, and never without an answer."""

from __future__ import annotations

import logging
import time
from random import Random
from typing import Final

from prometheus_client import CollectorRegistry, Histogram

from services.engine.bots import fallback
from services.engine.bots.bot import Situation
from services.engine.bots.catalogue import Bots
from services.engine.bots.workshop import Workshop
from services.engine.rules.kernel import AnyRules, Move
from services.runtime.vault import Vault

PURPOSE: Final = "bot's choice"
_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

_logger: Final = logging.getLogger(__name__)


class Thinking:
    """Asks the bots of a catalogue, beside the service."""

    def __init__(self, bots: Bots, vault: Vault, registry: CollectorRegistry | None = None) -> None:
        """Derive random sources from the vault: nobody outside can foresee them, and they are always the same."""
        self._seconds = Histogram(
            "macao_bot_seconds", "From asking a bot to its answer, waiting included", ("game", "level"),
            buckets=_BUCKETS, registry=registry,
        )  # fmt: skip
        self._bots = bots
        self._vault = vault
        self._workshop = Workshop()

    def close(self) -> None:
        """Think no more."""
        self._workshop.close()

    def seed(self, match: str, version: int, seat: int, what: str = "move") -> bytes:
        """Return the seed for the random source of one decision."""
        return self._vault.derive(PURPOSE, f"{match}\n{version}\n{seat}\n{what}")

    async def choose(
        self, match: str, version: int, level: str, rules: AnyRules, seen: Situation
    ) -> Move | None:
        """Return what the bot wants to do; a bot that fails is helped out, so that the match goes on."""
        bot = self._bots.bot(seen.game, level)
        asked = time.perf_counter()
        try:
            move = await self._workshop.ask(bot.choose, seen, self.seed(match, version, seen.seat))
        except Exception:
            _logger.exception("the %s bot of %s failed in %s at version %d", level, seen.game, match, version)
            return self.helped_out(match, version, seen)
        finally:
            self._seconds.labels(seen.game, level).observe(time.perf_counter() - asked)
        if seen.on_turn if move is None else not isinstance(move, rules.moves):
            _logger.error(
                "the %s bot of %s answers %r in %s at version %d", level, seen.game, move, match, version
            )
            return self.helped_out(match, version, seen)
        return move

    def helped_out(self, match: str, version: int, seen: Situation) -> Move | None:
        """Return a legal move in place of one that did not come, or was refused."""
        return fallback.choose(seen, Random(self.seed(match, version, seen.seat, "help")))  # noqa: S311 - the seed is secret
