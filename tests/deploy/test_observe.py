"""What is watched exists, and every alert leads to a chapter that says what to do."""

import json
import re
import shutil
import subprocess
from typing import Any, Final

import pytest
import yaml

from services.cli.compose import SERVICES, factory_of
from services.runtime.platform import Platform
from services.runtime.settings import Settings
from services.runtime.web.app import create_app
from tests.support.up import ROOT

OBSERVE: Final = ROOT / "deploy" / "observe"
OPERATIONS: Final = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
NAMED: Final = re.compile(r"\bmacao_[a-z_]+\b")


def metrics_of_the_code() -> set[str]:
    """Every metric of all services together, as Prometheus names it."""
    settings = Settings(database_url="postgresql://localhost/none", secret_key="A" * 43)
    platform = Platform(settings)
    create_app(settings, [factory_of(name) for name in SERVICES], platform=platform)
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in platform.registry.collect()
        if family.name.startswith("macao_")
    }


def alerts() -> list[dict[str, Any]]:
    return yaml.safe_load((OBSERVE / "alerts.yaml").read_text())["groups"][0]["rules"]


def expressions() -> list[str]:
    board = json.loads((OBSERVE / "grafana" / "dashboards" / "macao.json").read_text())
    of_panels = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    return [rule["expr"] for rule in alerts()] + of_panels


def test_every_metric_that_is_looked_at_exists() -> None:
    made = metrics_of_the_code()
    assert len(made) > 10
    for expression in expressions():
        for name in NAMED.findall(expression):
            plain = re.sub("_(bucket|sum|count)$", "", name)
            assert name in made or plain in made, f"nothing makes {name}"


def test_every_metric_is_documented_and_no_other() -> None:
    documented = set(re.findall(r"^\| `(macao_[a-z_]+)` \|", OPERATIONS, re.MULTILINE))
    assert documented == metrics_of_the_code()


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: rule["alert"])
def test_every_alert_leads_to_a_chapter(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"]
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert page == "docs/operations.md"
    assert anchor == rule["alert"].lower()
    assert re.search(rf"^### {rule['alert']}$", OPERATIONS, re.MULTILINE)


def test_prometheus_takes_the_rules() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed here; Debian has it in the package prometheus")
    done = subprocess.run(
        [promtool, "check", "rules", str(OBSERVE / "alerts.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
