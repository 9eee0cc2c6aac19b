"""What the laws share: which rules they run over, how often, and over which tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from services.engine.rules.kernel import AnyRules
from tests.support.matches import TEST_CATALOGUE
from tests.support.options import tables

EVERY_RULES = TEST_CATALOGUE.every_version()

over_every_rules = pytest.mark.parametrize("rules", EVERY_RULES, ids=lambda rules: rules.id)

FEW = 40
"""Tables a law and game in the default run."""

MANY = int(os.environ.get("MACAO_LAW_TABLES", "500"))
"""In the full run: over all laws some ten thousand random matches a game; 100 make it two thousand."""

SEEDS = st.integers(0, 2**32 - 1)


def for_tables(law: Callable[..., None], rules: AnyRules, count: int) -> None:
    """Let Hypothesis choose options, seats and a seed, and hold the law against each: ``law(options, seats, seed)``."""

    phases = (
        [Phase.generate] if count < FEW else list(Phase)
    )  # the toys that must fail need no smallest example

    @settings(
        max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), database=None, phases=phases
    )  # fmt: skip
    @given(tables(rules), SEEDS)
    def held(table: Any, seed: int) -> None:
        law(*table, seed)

    held()


def law(test: Callable[..., None]) -> Callable[..., None]:
    """Run ``test(rules, count)`` over every game: a few tables by default, many in the full run."""
    counts = pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)])
    return cast("Callable[..., None]", over_every_rules(counts(test)))
