"""What ``deploy/`` says without anything being run: valid for Kubernetes, leading every path to its service."""

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from services.runtime.logs.servers import parse_log_servers
from services.runtime.logs.spread import APART_POOL_MAX
from services.runtime.settings import Settings, variable_of
from tests.support.up import ROOT

DEPLOY: Final = ROOT / "deploy"
OVERLAYS: Final = ("small", "production", "logs")
SERVICES: Final = ("engine", "lobby", "projections", "web")
APIS: Final = ("engine", "lobby", "projections")
KUBERNETES: Final = "1.33"
"""The oldest version that the manifests are held to; sleep in preStop needs 1.30."""

# docs/operations.md adds these up for the operator.
CONNECTIONS_MAX: Final = 300
SUBSCRIPTIONS: Final = {"engine": 5, "lobby": 1, "projections": 5, "web": 0}


@cache
def rendered(overlay: str) -> list[dict[str, Any]]:
    """What an overlay comes to."""
    kubectl = shutil.which("kubectl", path=Path(sys.executable).parent)
    if kubectl is None:
        pytest.skip("kubectl comes from a package for Linux on x86_64")
    done = subprocess.run(
        [kubectl, "kustomize", str(DEPLOY / "kubernetes" / "overlays" / overlay)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def of_kind(overlay: str, kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one for one in rendered(overlay) if one["kind"] == kind}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_manifests_are_valid(overlay: str) -> None:
    for manifest in rendered(overlay):
        kubernetes_validate.validate(manifest, KUBERNETES, strict=True)
    assert set(of_kind(overlay, "Deployment")) == set(SERVICES)


def test_a_wrong_manifest_is_found() -> None:
    broken = json.loads(json.dumps(of_kind("small", "Deployment")["engine"]))
    broken["spec"]["template"]["spec"]["containers"][0]["readinessProb"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, KUBERNETES, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_nothing_runs_with_more_rights_than_it_needs(overlay: str) -> None:
    for manifest in [*of_kind(overlay, "Deployment").values(), *of_kind(overlay, "Job").values()]:
        pod = manifest["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in [*pod.get("initContainers", []), *pod["containers"]]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["image"] != "macao", "the overlay names a version"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_connections_to_postgresql_add_up(overlay: str) -> None:
    usual = usual_pool_of(overlay)
    pools = {name: pool_of(one) or usual for name, one in of_kind(overlay, "Deployment").items()}
    processes = {
        name: one["spec"]["maxReplicas"] for name, one in of_kind(overlay, "HorizontalPodAutoscaler").items()
    }
    # While a version is rolled out there is one more of each. With several logs each may keep their reading order.
    order = 1 if overlay == "logs" else 0
    wanted = sum(
        (count + 1) * (pools[name] + SUBSCRIPTIONS[name] + order) for name, count in processes.items()
    )
    assert wanted <= CONNECTIONS_MAX, wanted


def test_the_connections_to_the_server_of_a_log_add_up() -> None:
    usual = usual_pool_of("logs")
    pools = {name: pool_of(one) or usual for name, one in of_kind("logs", "Deployment").items()}
    processes = {
        name: one["spec"]["maxReplicas"] for name, one in of_kind("logs", "HorizontalPodAutoscaler").items()
    }
    more = {"engine": 1, "projections": APART_POOL_MAX}  # the sealer; a rebuild
    wanted = sum((count + 1) * (pools[name] + more.get(name, 0)) for name, count in processes.items())
    assert wanted == 217  # so docs/several-logs.md says
    assert wanted <= CONNECTIONS_MAX


def test_every_process_knows_the_servers_of_the_logs_and_the_services_not_their_owners() -> None:
    for overlay in OVERLAYS:
        pods = {
            name: one["spec"]["template"]["spec"]
            for kind in ("Deployment", "Job")
            for name, one in of_kind(overlay, kind).items()
        }
        for name, pod in pods.items():
            owner = "owner-" if name in ("migrate", "add-logs") else ""
            for container in [*pod.get("initContainers", []), *pod["containers"]]:
                keys = {
                    one["name"]: one["valueFrom"]["secretKeyRef"]["key"]
                    for one in container["env"]
                    if "valueFrom" in one
                }
                assert keys["MACAO_DATABASE_URL"] == f"{owner}database-url"
                assert keys.get("MACAO_LOG_SERVERS") == (f"{owner}log-servers" if overlay == "logs" else None)


def usual_pool_of(overlay: str) -> int:
    given = of_kind(overlay, "ConfigMap")["macao"]["data"].get("MACAO_DATABASE_POOL_MAX")
    return int(given or Settings(database_url="-", secret_key="-").database_pool_max)


def test_the_override_of_compose_gives_every_service_the_servers_of_the_logs() -> None:
    base = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    override = yaml.safe_load((DEPLOY / "compose.logs.yaml").read_text())["services"]
    serving = {name for name, one in base.items() if one.get("command", [""])[0] == "serve"}
    assert len(serving) == 2 * len(SERVICES)
    for name in serving:
        given = override[name]["environment"]["MACAO_LOG_SERVERS"]
        servers = parse_log_servers(re.sub(r"\$\{(\w+):\?[^}]*\}", r"\1", given))
        assert list(servers) == ["b", "c"]
        assert all(
            url.startswith("postgresql://macao_service:LOG_SERVICE_PASSWORD@") for url in servers.values()
        )
        assert set(override[name]["depends_on"]) == {"logins-b", "logins-c"}
    secrets = {
        "POSTGRES_PASSWORD",
        "LOG_B_PASSWORD",
        "LOG_C_PASSWORD",
        "LOG_SERVICE_PASSWORD",
        "MACAO_SECRET_KEY",
    }
    text = (DEPLOY / "compose.logs.yaml").read_text()
    assert set(re.findall(r"\$\{(\w+)", text)) == secrets
    example = (DEPLOY / "env.example").read_text()
    assert all(re.search(rf"(?m)^{name}=$", example) for name in secrets)
    # The owners' logins are with whoever makes logs, and with nobody else.
    for name, one in override.items():
        owns = "MACAO_LOG_SERVERS" in one.get("environment", {}) and name not in serving
        assert owns == (name in {"migrate", "add-north", "add-south"})


def pool_of(deployment: dict[str, Any]) -> int:
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    given = {one["name"]: one.get("value") for one in container["env"]}
    return int(given.get("MACAO_DATABASE_POOL_MAX") or 0)


def variables(text: str) -> set[str]:
    return set(re.findall(r"\bMACAO_[A-Z_]+\b", text))


def test_every_setting_that_is_set_here_exists() -> None:
    known = {variable_of(name) for name in Settings.__struct_fields__}
    of_compose = {"MACAO_SERVICE_PASSWORD", "MACAO_PROXY_PORT"}
    of_systemd = {"MACAO_SERVICE"}
    for path in DEPLOY.rglob("*"):
        if path.is_file() and path.name != ".env":
            assert variables(path.read_text()) <= known | of_compose | of_systemd, path


def services_of_haproxy(path: str) -> str:
    text = (DEPLOY / "proxy" / "haproxy.cfg").read_text()
    rules = re.findall(r"acl to_(\w+)\s+path_reg (\S+)", text)
    order = re.findall(r"use_backend (\w+) if to_\w+", text)
    for name in order:
        if any(re.search(pattern, path) for backend, pattern in rules if backend == name):
            return name
    found = re.search(r"default_backend (\w+)", text)
    assert found
    return found[1]


def services_of_ingress(path: str) -> str:
    rules = of_kind("production", "Ingress")["macao"]["spec"]["rules"][0]["http"]["paths"]
    for rule in rules:
        if re.match(rule["path"], path):
            name: str = rule["backend"]["service"]["name"]
            return name
    raise AssertionError(f"{path} leads nowhere")


@pytest.mark.parametrize("service", APIS)
@pytest.mark.parametrize("leads_to", [services_of_haproxy, services_of_ingress])
def test_every_path_leads_to_its_service(service: str, leads_to: Any) -> None:
    document = json.loads((ROOT / "openapi" / f"{service}.json").read_text())
    paths = [path for path in document["paths"] if path.startswith("/v1/")]
    assert paths
    for path in paths:
        concrete = path.replace("{player}", "p_01").replace("{", "").replace("}", "")
        assert leads_to(concrete) == service, path


@pytest.mark.parametrize("leads_to", [services_of_haproxy, services_of_ingress])
def test_everything_else_is_a_page(leads_to: Any) -> None:
    assert {leads_to(path) for path in ("/", "/js/app.js", "/tables", "/v2/games")} == {"web"}
    assert {leads_to(path) for path in ("/schema", "/problems/not-found", "/.well-known/jwks.json")} == {
        "engine"
    }
