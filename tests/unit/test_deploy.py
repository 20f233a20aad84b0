"""The files that hosts deploy with, compared with one another, with the settings and with what the server answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from core.settings import Settings
from core.ui import server
from tests.unit.test_docker import arguments, environment
from tests.unit.test_server import RUNTIME

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
KINDS = {
    "Deployment": "apps/v1",
    "Service": "v1",
    "Ingress": "networking.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
}


@pytest.fixture(scope="module")
def manifests() -> dict[str, Any]:
    """What Kustomize puts together, by kind."""
    files = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    found = [one for file in files for one in yaml.safe_load_all((KUBERNETES / file).read_text())]
    assert {one["kind"]: one["apiVersion"] for one in found} == KINDS
    assert len(found) == len(KINDS)
    assert {*files, "kustomization.yaml"} == {path.name for path in KUBERNETES.iterdir()}
    return {one["kind"]: one for one in found}


@pytest.fixture
def measures(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """The names of all series that ``/metrics`` answers with after one run of a page."""
    monkeypatch.setattr("streamlit.runtime.get_instance", lambda: RUNTIME)
    server.metrics_registry.cache_clear()
    server.run_seconds.cache_clear()
    server.run_seconds().labels("home").observe(0.1)
    text = generate_latest(server.metrics_registry()).decode()
    yield set(re.findall(r"^\w+", text, re.MULTILINE))
    server.metrics_registry.cache_clear()
    server.run_seconds.cache_clear()


def test_each_part_finds_the_pods(manifests: dict[str, Any]) -> None:
    deployment, service, ingress = (manifests[kind]["spec"] for kind in ("Deployment", "Service", "Ingress"))
    labels = deployment["template"]["metadata"]["labels"]
    assert deployment["selector"]["matchLabels"] == service["selector"] == labels
    assert manifests["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"] == labels
    target = manifests["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
    assert (target["kind"], target["name"]) == ("Deployment", manifests["Deployment"]["metadata"]["name"])
    (rule,) = ingress["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    (port,), (container,) = service["ports"], deployment["template"]["spec"]["containers"]
    assert (backend["name"], backend["port"]["name"]) == (manifests["Service"]["metadata"]["name"], port["name"])
    assert port["targetPort"] == container["ports"][0]["name"]
    assert container["ports"][0]["containerPort"] == int(environment()["STREAMLIT_SERVER_PORT"])
    assert manifests["Ingress"]["metadata"]["annotations"]["nginx.ingress.kubernetes.io/affinity"] == "cookie"
    assert "replicas" not in deployment


def test_a_pod_may_do_what_the_image_needs_and_no_more(manifests: dict[str, Any]) -> None:
    pod = manifests["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (user,) = arguments("USER")
    assert pod["securityContext"]["runAsNonRoot"]
    assert str(pod["securityContext"]["runAsUser"]) == user
    assert f"--uid {user} atlas" in " ".join(arguments("RUN"))
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {"cpu", "memory"} <= container["resources"]["limits"].keys()
    mounted = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert mounted == {"/tmp", environment()["ATLAS_CHECKPOINT_DIR"]}
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["volumes"]}


def test_probes_settings_and_the_name_are_the_apps(manifests: dict[str, Any]) -> None:
    (container,) = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    routes = {route.path for route in server.routes()}
    assert container["readinessProbe"]["httpGet"]["path"] in routes
    for probe in ("livenessProbe", "startupProbe"):
        assert container[probe]["httpGet"]["path"] == "/health"
    assert "/health" in routes
    annotations = manifests["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/path"] in routes
    values = {one["name"].removeprefix("ATLAS_").lower(): one["value"] for one in container["env"]}
    assert values.keys() <= Settings.model_fields.keys()
    settings = Settings.model_validate(values)
    assert settings.warm == settings.metrics == "on"
    (rule,) = manifests["Ingress"]["spec"]["rules"]
    assert rule["host"] == settings.hosts
    assert manifests["Ingress"]["spec"]["tls"][0]["hosts"] == [settings.hosts]
    limit = container["resources"]["limits"]["memory"]
    assert settings.memory_mb * 1_000_000 < int(limit.removesuffix("Gi")) * 2**30


def test_what_scales_and_what_the_board_draws_is_measured(manifests: dict[str, Any], measures: set[str]) -> None:
    (metric,) = manifests["HorizontalPodAutoscaler"]["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] in measures
    board = json.loads((ROOT / "deploy" / "grafana.json").read_text())
    targets = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    drawn = [set(re.findall(r"\b(?:atlas|process)_\w+", expression)) for expression in targets]
    assert all(drawn)
    assert set().union(*drawn) <= measures


def test_compose_shuts_its_one_service_in() -> None:
    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert {"mem_limit", "cpus", "pids_limit"} <= service.keys()
    assert service["environment"]["ATLAS_HUB"] == "${ATLAS_HUB:-off}"
    assert f"./checkpoints:{environment()['ATLAS_CHECKPOINT_DIR']}:ro" in service["volumes"]
