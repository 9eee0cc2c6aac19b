"""What a user meets is written down: settings, problem codes, the links of the documentation."""

import ast
import re
from pathlib import Path

import pytest

from services.contracts.problems import PROBLEMS
from services.runtime.settings import Settings, variable_of
from tests.support.up import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("field", Settings.__struct_fields__)
def test_every_setting_is_documented(field: str) -> None:
    assert f"`{variable_of(field)}`" in (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    assert f"{field}:" in (Settings.__doc__ or "")


def test_every_problem_code_in_the_code_is_in_the_catalogue_and_the_other_way_round() -> None:
    used: set[str] = set()
    for path in (ROOT / "services").rglob("*.py"):
        if path.name != "problems.py" or path.parent.name != "contracts":
            used |= {
                node.value
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
    unused = {code for code in PROBLEMS if code not in used}
    assert not unused, f"no code raises {sorted(unused)}"
    for kind in PROBLEMS.values():
        assert kind.title
        assert kind.advice.endswith((".", "-", "_", ":")), kind
        assert 400 <= kind.status <= 599


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"
