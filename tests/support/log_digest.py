"""Digests of many matches' logs, to be compared between processes: ``python -m tests.support.log_digest``."""

from __future__ import annotations

from hashlib import sha256
from random import Random

import msgspec

from services.contracts.events.catalogue import encode
from services.engine.rules import match as matches
from services.engine.rules.kernel import AnyRules
from tests.support.matches import TEST_CATALOGUE, played_out


def digest(rules: AnyRules, count: int) -> str:
    """Return a digest of facts, moves, views and legal moves of ``count`` matches."""
    found = sha256()
    for seed in range(count):
        seats = Random(seed).randint(rules.seats_min, min(rules.seats_max, 6))
        game = played_out(rules, rules.options(), seats, seed)
        for fact in game.facts:
            found.update(encode(fact))
        for command in game.commands:
            found.update(msgspec.json.encode(command.move))
        found.update(msgspec.json.encode(matches.observe(game.match, "auditor")))
    return found.hexdigest()


if __name__ == "__main__":
    for each in TEST_CATALOGUE.every_version():
        print(each.id, digest(each, 20))  # noqa: T201
