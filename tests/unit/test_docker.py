"""The container's files, as far as they go without an engine: read, compared with the project, and their steps run."""

from __future__ import annotations

import fnmatch
import inspect
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from core.settings import Settings

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions in order, with continued lines joined."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    pairs = (line.partition(" ") for line in joined.splitlines())
    return [(word, " ".join(rest.split())) for word, _, rest in pairs if word]


def arguments(word: str) -> list[str]:
    """The arguments of every instruction ``word``."""
    return [rest for name, rest in instructions() if name == word]


def environment() -> dict[str, str]:
    """What the ENV instructions set."""
    return dict(pair.split("=", 1) for rest in arguments("ENV") for pair in rest.split())


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
    for rest in arguments("COPY"):
        for source in rest.split()[:-1]:
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
    assert there.isdisjoint({".git", ".venv", "tests", ".ci", "Dockerfile", "checkpoints"})
    assert not list(image.rglob("__pycache__"))


def test_compose_agrees_with_the_dockerfile_and_the_settings() -> None:
    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    env = environment()
    assert service["build"] == "."
    assert service["ports"][0].endswith(f":{env['STREAMLIT_SERVER_PORT']}")
    targets = [volume.split(":")[1] for volume in service["volumes"]]
    assert env["ATLAS_CHECKPOINT_DIR"] in targets
    assert f"{env['HOME']}/.cache/huggingface" in targets
    knobs = {f"ATLAS_{name.upper()}" for name in Settings.model_fields}
    assert set(service["environment"]) - {"STREAMLIT_SERVER_BASE_URL_PATH"} <= knobs
    assert {name for name in env if name.startswith("ATLAS_")} <= knobs


def test_compose_defaults_are_valid_settings() -> None:
    (service,) = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"].values()
    given = {
        name.lower(): value for name, value in service["environment"].items() if value is not None and "ATLAS_" in name
    }
    defaults = {name.removeprefix("atlas_"): value.partition(":-")[2].rstrip("}") for name, value in given.items()}
    settings = Settings.model_validate(defaults)
    assert settings.hub == "off"
    assert settings.memory_mb == Settings.model_fields["memory_mb"].default


def test_compose_at_scale_names_what_there_is() -> None:
    """Settings, routes, ports, options and files of ``compose.scale.yaml`` and ``deploy/nginx.conf``."""
    from core.__main__ import serve
    from core.ui import server

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
    assert {found[1] for name in apps if (found := probes[name])} == {port}
    assert all(found[2] in {route.path for route in server.routes()} for name in apps if (found := probes[name]))
    assert probes["proxy"] is not None
    assert f"location = {probes['proxy'][2]} " in nginx
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
