"""The files that hosts deploy with, read by the tools that they are for; a tool that is not here skips its test."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"


def output(*command: str) -> str:
    """What a program prints; it must succeed."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tool(*names: str) -> str:
    """The first of some programs that is here, beside this Python or on the path."""
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    found = next((there for name in names if (there := shutil.which(name, path=path))), None)
    return found or pytest.skip(f"needs {names[0]}")


def test_hadolint_finds_nothing_in_the_dockerfile() -> None:
    assert output(tool("hadolint"), "Dockerfile") == ""


@pytest.mark.parametrize("file", sorted(path.name for path in ROOT.glob("compose*.yaml")))
def test_compose_reads_its_files(file: str) -> None:
    assert "atlas" in yaml.safe_load(output(tool("docker-compose"), "-f", file, "config"))["services"]


def test_every_manifest_fits_the_schema_of_its_kind() -> None:
    validate = pytest.importorskip("kubernetes_validate").validate
    for file in yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]:
        for manifest in yaml.safe_load_all((KUBERNETES / file).read_text()):
            validate(manifest, "1.32", strict=True)


def test_kustomize_puts_them_together() -> None:
    built = [one["kind"] for one in yaml.safe_load_all(output(tool("kubectl"), "kustomize", str(KUBERNETES)))]
    assert sorted(built) == ["Deployment", "HorizontalPodAutoscaler", "Ingress", "PodDisruptionBudget", "Service"]
