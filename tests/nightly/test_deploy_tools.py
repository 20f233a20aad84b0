"""The files that hosts deploy with, read by the tools that they are for; a tool that is not here skips its test."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
import yaml

from tests.browser.conftest import wait_until_healthy
from tests.ports import free_port
from tests.unit.test_deploy import arguments, image, instructions

__all__ = ["image"]

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"


def output(*command: str) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tool(*names: str) -> str:
    """The first of some programs that is here, beside this Python or on the path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = next((there for name in names if (there := shutil.which(name, path=path))), None)
    return result or pytest.skip(f"needs {names[0]}")


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    assert output(tool("hadolint"), "Dockerfile") == ""


@pytest.mark.parametrize("file", sorted(path.name for path in ROOT.glob("compose*.yaml")))
def test_compose_reads_its_files(file: str) -> None:
    services = yaml.safe_load(output(tool("docker-compose"), "-f", file, "config"))["services"]
    assert {"atlas", "app-1"} & services.keys()


def test_every_manifest_fits_the_schema_of_its_kind() -> None:
    validate = pytest.importorskip("kubernetes_validate").validate
    for file in yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]:
        for manifest in yaml.safe_load_all((KUBERNETES / file).read_text()):
            validate(manifest, "1.32", strict=True)


def test_kustomize_puts_them_together() -> None:
    built = [entry["kind"] for entry in yaml.safe_load_all(output(tool("kubectl"), "kustomize", str(KUBERNETES)))]
    assert sorted(built) == ["Deployment", "HorizontalPodAutoscaler", "Ingress", "PodDisruptionBudget", "Service"]


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="needs root, as chroot does")
def test_the_dockerfiles_steps_work_in_a_clean_root(image: Path, tmp_path: Path) -> None:
    """A Debian with the Python of the base image, into which the steps install; what starts then has a read-only root.

    ``ATLAS_CLEAN_ROOT`` names a root that debootstrap made before. What pip is told on this machine, it is told there.
    """
    root, port = tmp_path / "root", free_port()
    packages = "--include=ca-certificates,python3,python3-pip,python3-venv,python-is-python3"
    if "ATLAS_CLEAN_ROOT" in os.environ:
        output("cp", "-aT", os.environ["ATLAS_CLEAN_ROOT"], str(root))
    else:
        output(tool("debootstrap"), "--variant=minbase", packages, "bookworm", str(root))
    for managed in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
        managed.unlink()  # the base image's Python is not the distribution's
    for path in (
        "/etc/resolv.conf",
        "/etc/hosts",
        "/etc/pip.conf",
        "/etc/xdg/pip",
        "/etc/ssl/certs",
        os.environ.get("PIP_FIND_LINKS", ""),
    ):
        if path.startswith("/") and Path(path).exists():
            output("mkdir", "-p", str(root / path[1:]).rpartition("/")[0])
            output("cp", "-aT", path, str(root / path[1:]))
    env = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_PROXY")}
    env |= {"PATH": "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"}
    folder, user = "/", "0"

    def inside(command: list[str]) -> list[str]:
        mounts = 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; '
        if user != "0":
            mounts += 'mount --bind "$0" "$0"; mount -o remount,ro,bind "$0"; mount -t tmpfs tmpfs "$0/tmp"; '
        enter = f'exec chroot --userspec={user}:{user} "$0" env -i "$@"'
        values = [f"{name}={value}" for name, value in env.items()]
        return [
            "unshare",
            "-m",
            "sh",
            "-ec",
            mounts + enter,
            str(root),
            *values,
            "sh",
            "-c",
            f'cd {folder}; exec "$@"',
            "-",
            *command,
        ]

    for word, rest in instructions():
        if word == "ENV":
            env |= dict(pair.split("=", 1) for pair in rest.split())
        elif word == "WORKDIR":
            folder = rest
            (root / rest[1:]).mkdir(parents=True)
        elif word == "USER":
            user = rest
        elif word == "RUN":
            output(*inside(["sh", "-c", rest]))
        elif word == "COPY":
            *sources, target = rest.split()
            for source in sources:
                there = root / folder[1:] / target / ("" if source == "." else Path(source).name)
                output("mkdir", "-p", str(there.parent))
                output("cp", "-aLT", str(image / source), str(there))
    assert not list(root.glob("usr/local/lib/python3*/dist-packages/nvidia*"))
    env["STREAMLIT_SERVER_PORT"] = str(port)
    log = tmp_path / "log.txt"
    with log.open("w") as file, subprocess.Popen(inside(json.loads(arguments("CMD")[0])), stdout=file) as server:
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", server, log)
            assert urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30).status == 200
        finally:
            server.terminate()
