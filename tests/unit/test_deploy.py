"""What runs in containers: the image, compose, and the manifests agree with the app."""

from __future__ import annotations

import fnmatch
import inspect
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import generate_latest

from core.settings import Settings
from core.ui import server
from core.ui.server import measures as prometheus

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions in order, with continued lines joined."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = (line.partition(" ") for line in joined.splitlines())
    return [(word, " ".join(argument.split())) for word, _, argument in pairs if word]


def arguments(word: str) -> list[str]:
    """The arguments of every instruction ``word``."""
    return [argument for name, argument in instructions() if name == word]


def environment() -> dict[str, str]:
    """What the ENV instructions set."""
    return dict(pair.split("=", 1) for argument in arguments("ENV") for pair in argument.split())


def ignored(path: str) -> bool:
    """Whether ``.dockerignore`` keeps a relative path out: the last pattern that fits it or a parent decides."""
    parts = path.split("/")
    paths = ["/".join(parts[: i + 1]) for i in range(len(parts))]
    out = False
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        if not line or line.startswith("#"):
            continue
        # fnmatch's * crosses slashes, Docker's does not; only patterns that begin with **/ may
        fits = (
            any(fnmatch.fnmatch(part, pattern[3:]) for part in parts)
            if pattern.startswith("**/")
            else any(p.count("/") == pattern.count("/") and fnmatch.fnmatch(p, pattern) for p in paths)
        )
        if fits:
            out = not line.startswith("!")
    return out


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``COPY . .`` brings into ``/app``; large files as links."""
    app = tmp_path_factory.mktemp("image") / "app"
    for folder, folders, files in os.walk(ROOT):
        here = Path(folder).relative_to(ROOT)
        folders[:] = [name for name in folders if not ignored((here / name).as_posix())]
        for name in files:
            source, target = Path(folder) / name, app / here / name
            if not ignored((here / name).as_posix()):
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(source) if source.stat().st_size > 2**20 else shutil.copy(source, target)
    return app


def test_slim_base_and_no_root_at_the_end() -> None:
    assert arguments("FROM") == ["${BASE}"]
    assert arguments("ARG")[0].removeprefix("BASE=").endswith("-slim")
    order = [word for word, _ in instructions()]
    (user,) = arguments("USER")  # a number: Kubernetes cannot tell of a name that it is not root's
    assert any(f"useradd --create-home --uid {user} atlas" in command for command in arguments("RUN"))
    assert order.index("USER") > max(i for i, word in enumerate(order) if word in ("RUN", "COPY"))


def test_copied_files_exist_and_are_not_ignored() -> None:
    for argument in arguments("COPY"):
        for source in argument.split()[:-1]:
            assert (ROOT / source).exists()
            assert source == "." or not ignored(source)


def test_statistics_off_xsrf_on_and_open_to_the_network_only_here() -> None:
    env = environment()
    assert env["STREAMLIT_BROWSER_GATHER_USAGE_STATS"] == "false"
    assert env["STREAMLIT_SERVER_ENABLE_XSRF_PROTECTION"] == "true"
    assert env["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0"
    assert 'address = "127.0.0.1"' in (ROOT / ".streamlit" / "config.toml").read_text()
    assert arguments("EXPOSE") == [env["STREAMLIT_SERVER_PORT"]]


def test_image_holds_the_app_and_no_more(image: Path) -> None:
    there = {path.name for path in image.iterdir()}
    assert {"app.py", "core", "pages", "assets", ".streamlit", "requirements.txt", "scripts"} <= there
    assert there.isdisjoint({".git", ".venv", "tests", "lab", ".ci", "Dockerfile", "checkpoints"})
    assert not list(image.rglob("__pycache__"))


def test_compose_agrees_with_the_dockerfile_and_the_settings() -> None:
    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    env = environment()
    assert service["build"] == {"context": ".", "args": {"EXTRA": "${ATLAS_EXTRA:-}"}}
    assert service["ports"][0].endswith(f":{env['STREAMLIT_SERVER_PORT']}")
    targets = [volume.split(":")[1] for volume in service["volumes"]]
    assert env["ATLAS_CHECKPOINT_DIR"] in targets
    assert f"{env['HOME']}/.cache/huggingface" in targets
    assert {service["environment"][f"ATLAS_{name}_DIR"] for name in ("LESSONS", "CONTENT")} <= {*targets}
    knobs = {f"ATLAS_{name.upper()}" for name in Settings.model_fields}
    streamlits = {"STREAMLIT_SERVER_BASE_URL_PATH", "STREAMLIT_SERVER_COOKIE_SECRET"}
    assert set(service["environment"]) - streamlits <= knobs
    assert {name for name in env if name.startswith("ATLAS_")} <= knobs


def test_compose_defaults_are_valid_settings() -> None:
    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    arguments_of = {
        name.lower(): value for name, value in service["environment"].items() if value is not None and "ATLAS_" in name
    }
    defaults = {
        name.removeprefix("atlas_"): value.partition(":-")[2].rstrip("}") for name, value in arguments_of.items()
    }
    settings = Settings.model_validate(defaults)
    assert settings.hub == "off"
    assert settings.memory_mb == Settings.model_fields["memory_mb"].default


def test_compose_at_scale_names_what_there_is() -> None:
    """Settings, routes, ports, options and files of ``compose.scale.yaml`` and ``deploy/nginx.conf``."""
    from core.__main__ import serve

    services = yaml.safe_load((ROOT / "compose.scale.yaml").read_text())["services"]
    nginx = (ROOT / "deploy" / "nginx.conf").read_text()
    apps = [name for name in services if name.startswith("app-")]
    port = environment()["STREAMLIT_SERVER_PORT"]
    assert re.findall(r"server (\S+) max_fails", nginx) == [f"{name}:{port}" for name in apps]
    assert len({services[name]["networks"]["inside"]["ipv4_address"] for name in apps}) == len(apps) == 2
    hosts = services["proxy"]["extra_hosts"]
    assert hosts == {name: services[name]["networks"]["inside"]["ipv4_address"] for name in apps}
    assert f"listen {services['proxy']['ports'][0].rpartition(':')[2]};" in nginx
    assert services["proxy"]["volumes"] == ["./deploy/nginx.conf:/etc/nginx/nginx.conf:ro"]
    probes = {
        name: re.search(r"http://127.0.0.1:(\d+)(/[\w/-]*)", str(services[name]["healthcheck"])) for name in services
    }
    assert {result[1] for name in apps if (result := probes[name])} == {port}
    assert all(result[2] in {route.path for route in server.routes()} for name in apps if (result := probes[name]))
    assert probes["proxy"] is not None
    assert f"location = {probes['proxy'][2]} " in nginx
    (zone,) = re.findall(r"limit_conn_zone \$binary_remote_addr zone=(\w+):", nginx)
    assert int(re.findall(rf"limit_conn {zone} (\d+);", nginx)[0]) > 2 * 80, (
        "a class of 80 behind one router, on a lesson"
    )
    forwarded = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;" in nginx
    assert forwarded == all(services[name]["environment"]["FORWARDED_ALLOW_IPS"] == "*" for name in apps)
    assert not any("ports" in services[name] for name in apps), "nobody else names a visitor's address"
    options = {word.partition("=")[0].removeprefix("--") for word in services["engine"]["command"] if word[:2] == "--"}
    assert options <= set(inspect.signature(serve).parameters)
    assert services["engine"]["command"][:4] == ["python", "-m", "core", "serve"]
    assert (ROOT / services["engine"]["build"]["args"]["EXTRA"]).exists()
    assert "ports" not in services["engine"]
    knobs = {f"ATLAS_{name.upper()}" for name in Settings.model_fields}
    for service in services.values():
        assert {name for name in service.get("environment", ()) if name.startswith("ATLAS_")} <= knobs
        assert {"mem_limit", "cpus", "pids_limit", "tmpfs", "healthcheck"} <= service.keys()
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
    same = ("ATLAS_MEMORY_MB", "ATLAS_THREADS", "ATLAS_HUB")
    assert all(services["engine"]["environment"][name] == services[apps[0]]["environment"][name] for name in same)
    url = services[apps[0]]["environment"]["ATLAS_ENGINE_URL"]
    assert (
        Settings(engine="ray", engine_url=url).engine_url
        == f"http://engine:{inspect.signature(serve).parameters['port'].default}"
    )


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
    apps = [file for file in files if file != "redis.yaml"]
    result = [entry for file in apps for entry in yaml.safe_load_all((KUBERNETES / file).read_text())]
    assert {entry["kind"]: entry["apiVersion"] for entry in result} == KINDS
    assert len(result) == len(KINDS)
    assert {*files, "kustomization.yaml"} == {path.name for path in KUBERNETES.iterdir()}
    return {entry["kind"]: entry for entry in result}


@pytest.fixture
def measures() -> Iterator[set[str]]:
    """The names of all series that ``/metrics`` answers with after one run of a page."""
    prometheus.metrics_registry.cache_clear()
    prometheus.run_seconds.cache_clear()
    prometheus.run_seconds().labels("home").observe(0.1)
    text = generate_latest(prometheus.metrics_registry()).decode()
    yield set(re.findall(r"^\w+", text, re.MULTILINE))
    prometheus.metrics_registry.cache_clear()
    prometheus.run_seconds.cache_clear()


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


def test_pods_share_their_rooms(manifests: dict[str, Any]) -> None:
    redis, service = yaml.safe_load_all((KUBERNETES / "redis.yaml").read_text())
    (container,) = manifests["Deployment"]["spec"]["template"]["spec"]["containers"]
    (url,) = [entry["value"] for entry in container["env"] if entry["name"] == "ATLAS_REDIS_URL"]
    assert url == f"redis://{service['metadata']['name']}:{service['spec']['ports'][0]['port']}/0"
    labels = redis["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == redis["spec"]["selector"]["matchLabels"] == labels
    assert labels != manifests["Deployment"]["spec"]["template"]["metadata"]["labels"]


def test_secrets_reach_neither_the_history_nor_the_image() -> None:
    """Log-in secrets, where the docs say to put them."""
    ours = (ROOT / ".gitignore").read_text().splitlines()
    for secret in (".streamlit/secrets.toml", "secrets.toml"):
        assert ignored(secret)
        assert secret in ours or f"/{secret}" in ours


def test_no_proxy_passes_the_measures_on() -> None:
    for text in ((ROOT / "deploy" / "nginx.conf").read_text(), (ROOT / "docs" / "hosting.md").read_text()):
        (pattern,) = re.findall(r"location ~ (\S+) \{", text)
        assert all(re.search(pattern, path) for path in ("/metrics", "/_stcore/metrics", "/atlas/metrics"))
        assert not re.search(pattern, "/attention")


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
    values = {entry["name"].removeprefix("ATLAS_").lower(): entry["value"] for entry in container["env"]}
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
