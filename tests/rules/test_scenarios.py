"""The scenario files: every case holds, every clause that decides something has one."""

import re

import pytest

from services.contracts.problems import PROBLEMS
from services.engine.rules.catalogue import CATALOGUE
from tests.rules import clauses
from tests.rules.bank_runner import BankRunner
from tests.rules.card_runner import CardRunner
from tests.rules.scenario_file import Case, read_cases
from tests.rules.scenario_runner import Runner

GAMES = [rules.name for rules in CATALOGUE.newest()]
RUNNERS = {
    "dice-bank": BankRunner, "cards-bank": BankRunner, "cards-places": CardRunner, "cards-points": CardRunner,
}  # fmt: skip
CASES = [case for game in GAMES for case in read_cases(game)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.game}: {case.title}")
def test_case(case: Case):
    rules = CATALOGUE.game(case.game)
    assert rules is not None
    RUNNERS.get(case.game, Runner)(rules, case).run()


@pytest.mark.parametrize("game", GAMES)
def test_every_clause_that_decides_something_has_a_case(game):
    have_one = {clause for case in CASES if case.game == game for clause in case.clauses}
    need_one = [*clauses.clauses_of(f"{game}.md"), *clauses.clauses_of("README.md")]
    argued = clauses.NO_CASE[game]
    assert [clause for clause in need_one if clause not in have_one and clause not in argued] == []
    assert [clause for clause in argued if clause in have_one or clause not in need_one] == [], (
        "argued in vain"
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.game}: {case.title}")
def test_cases_cite_what_exists(case: Case):
    cited = [*case.clauses]
    for step in case.steps:
        for code, clause in re.findall(r"refused (\S+) (\S+)", ", ".join(step.expected)):
            assert code in PROBLEMS
            cited.append(clause)
    assert case.clauses
    assert [clause for clause in cited if clause not in clauses.all_clauses()] == []


@pytest.mark.parametrize("game", GAMES)
def test_titles_are_told_apart(game):
    titles = [case.title for case in CASES if case.game == game]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("game", GAMES)
def test_pages_are_numbered_in_order_without_a_gap(game):
    numbers = [
        tuple(map(int, clause.split("-")[1].split("."))) for clause in clauses.clauses_of(f"{game}.md")
    ]
    assert numbers == sorted(set(numbers))
    for section in {section for section, _ in numbers}:
        inside = [number for of, number in numbers if of == section]
        assert inside == list(range(1, len(inside) + 1))
