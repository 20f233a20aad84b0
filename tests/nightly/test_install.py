"""The set-up script with the real pip: an environment of its own, which takes long to make."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.unit.test_start import project, start

__all__ = ["project", "start"]


def wheel(folder: Path, name: str, version: str, *requires: str) -> None:
    """Write an empty package that requires others."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl", "w") as file:
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {requirement}" for requirement in requires]
        file.writestr(f"{info}/METADATA", "\n".join(lines) + "\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has to choose between two builds of torch")
def test_real_pip_refuses_cuda_and_takes_the_cpu_build(
    start: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "reachable", lambda url: False)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    packages = project / "packages"
    for name, value in (("CONFIG_FILE", os.devnull), ("NO_INDEX", "1"), ("FIND_LINKS", str(packages))):
        monkeypatch.setenv(f"PIP_{name}", value)
    wheel(packages, "torch", "2.13.0", 'nvidia-cudnn-cu13==9.20.0.48; platform_system == "Linux"')
    wheel(packages, "nvidia-cudnn-cu13", "9.20.0.48")
    wheel(packages, "small", "1.0", "torch")
    (small,) = packages.glob("small*")
    lock = project / "requirements.lock"
    lock.write_text(f"small==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(SystemExit, match="Installing the packages failed"):
        start.install(start.APP)
    lock.write_text(f"small==1.0 --hash=sha256:{hashlib.sha256(small.read_bytes()).hexdigest()}\n")
    with pytest.raises(SystemExit, match=r"conflict with a constraint.*CUDA packages"):
        start.install(start.APP)
    site = next((project / ".venv" / "lib").glob("python*/site-packages"))
    assert not list(site.glob("nvidia*"))
    assert not list(site.glob("torch*"))

    wheel(packages, "torch", "2.13.0+cpu")
    start.install(start.APP)
    assert list(site.glob("torch-2.13.0+cpu*"))
    assert list(site.glob("small-1.0*"))
    assert not list(site.glob("nvidia*"))
