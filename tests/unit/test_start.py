"""The scripts: what setting up says when something is missing, that no CUDA comes; comparing two inventories."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
from packaging.utils import canonicalize_name

from tests.ports import free_port

SCRIPT = Path(__file__).parents[2] / "scripts" / "start.py"


@pytest.fixture
def start() -> ModuleType:
    """A fresh copy of the script as a module."""
    spec = importlib.util.spec_from_file_location("start", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def project(start: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with requirements of its own, which the script sets up instead of the real one."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / start.NO_CUDA).write_text((SCRIPT.parents[1] / start.NO_CUDA).read_text())
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\nsmall==1.0\n")
    (tmp_path / "requirements.lock").write_text("small==1.0 --hash=sha256:0\n")
    (tmp_path / "requirements-lab.txt").write_text("-r requirements.txt\nscorer==1.0\n")
    (tmp_path / "requirements-dev.txt").write_text("-r requirements-lab.txt\nchecker==1.0\n")
    monkeypatch.setattr(start, "ROOT", tmp_path)
    monkeypatch.setattr(start, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(start, "has_nvidia", lambda: False)
    return tmp_path


@pytest.fixture
def calls(start: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What pip is asked, where a pretended pip does everything well and the environment needs not be made."""
    asked: list[tuple[str, ...]] = []

    def pip(*arguments: str) -> int:
        asked.append(arguments)
        return 0

    def make_venv() -> None:
        start.python().parent.mkdir(parents=True, exist_ok=True)
        start.python().touch()

    monkeypatch.setattr(start, "pip", pip)
    monkeypatch.setattr(start, "make_venv", make_venv)
    monkeypatch.setattr(start.subprocess, "run", lambda *a, **k: subprocess.CompletedProcess(a, 1, "", ""))
    return asked


def test_old_python_gets_a_sentence(start: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match=r"This is Python 3\.9; .* needs 3\.11 or newer.*python\.org"):
        start.check_python((3, 9, 2))
    start.check_python((3, 11, 0))


def test_an_old_python_is_told_the_required_version(
    start: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = tmp_path / "python3.13"
    newer.write_text("#!/bin/sh\n")
    newer.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"make run PYTHON=python3\.13"):
        start.check_python((3, 10))


def test_an_old_python_can_read_as_far_as_the_sentence() -> None:
    tree = ast.parse(SCRIPT.read_text(), feature_version=(3, 6))
    before = tree.body[: next(i for i, node in enumerate(tree.body) if isinstance(node, ast.Expr) and i > 0)]
    assert [type(node) for node in before[1:]] == [ast.Import, ast.FunctionDef]
    arguments = [a for node in before if isinstance(node, ast.FunctionDef) for a in node.args.args]
    assert all(argument.annotation is None for argument in arguments)


def test_busy_port_gets_a_sentence(start: ModuleType) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit, match=rf"Port {port} cannot be used.*make run PORT={port + 1}"):
            start.check_port(port)
    start.check_port(port)
    with pytest.raises(SystemExit, match="99999 is no port"):
        start.check_port(99_999)


def test_missing_venv_module_gets_a_sentence(start: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "ensurepip is not available", "")

    monkeypatch.setattr(start.subprocess, "run", run)
    with pytest.raises(SystemExit, match=r"(?s)sudo apt install python3\.\d+-venv.*ensurepip is not available"):
        start.make_venv()


def test_full_disk_gets_a_sentence(start: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "DISK_GB", 10**9)
    with pytest.raises(SystemExit, match="free disk space"):
        start.install(start.APP)


def test_announces_its_downloads_and_repeats_none(
    start: ModuleType,
    project: Path,
    calls: list[tuple[str, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(start, "reachable", lambda url: True)
    start.install(start.APP)
    assert "this downloads about" in capsys.readouterr().out
    assert calls[0] == ("install", "--require-hashes", "--no-deps", "-r", "requirements.lock")
    assert [c[:2] for c in calls[1:]] == [("install", "torch==2.13.0"), ("install", "-r")]
    assert all(c[c.index("-c") : c.index("-c") + 2] == ("-c", start.NO_CUDA) for c in calls[1:])
    start.install(start.APP)
    assert len(calls) == 3
    assert capsys.readouterr().out == ""


def test_tools_for_tests_are_added_and_serve_the_app_too(
    start: ModuleType, project: Path, calls: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "reachable", lambda url: True)
    start.install(start.DEV)
    asked = len(calls)
    start.install(start.DEV)
    start.install(start.APP)
    assert len(calls) == asked
    (project / "requirements.txt").write_text("torch==2.13.0\nsmall==2.0\n")
    start.install(start.APP)
    assert len(calls) > asked


def test_cpu_index_out_of_reach_falls_back_to_the_configured_index(
    start: ModuleType, project: Path, calls: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "reachable", lambda url: False)
    start.install_torch()
    assert not any("--index-url" in c for c in calls)
    assert any(c[:2] == ("install", "torch==2.13.0") and start.NO_CUDA in c for c in calls)


def test_nvidia_card_and_other_systems_use_the_ordinary_index(
    start: ModuleType, project: Path, calls: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "has_nvidia", lambda: True)
    assert start.install_torch() == ()
    monkeypatch.setattr(start, "has_nvidia", lambda: False)
    monkeypatch.setattr(start.sys, "platform", "darwin")
    assert start.install_torch() == ()
    assert calls == []


def test_reachable_is_quick_and_honest(start: ModuleType) -> None:
    with socket.socket() as silent:  # accepts and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert not start.reachable(url, seconds=0.3)
    assert not start.reachable(url, seconds=5)


def test_a_failing_pip_asks_for_the_network_and_nothing_is_noted(
    start: ModuleType, project: Path, calls: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "has_nvidia", lambda: True)
    monkeypatch.setattr(start, "pip", lambda *arguments: 1)
    with pytest.raises(SystemExit, match="Is there a network"):
        start.install(start.APP)
    assert not (project / ".venv" / "requirements.txt").exists()


def test_the_lock_holds_the_requirements_all_hashed_and_neither_torch_nor_cuda() -> None:
    root = SCRIPT.parents[1]
    pinned = r"^([\w.-]+)==([^\s;]+)"
    wanted = {
        canonicalize_name(name): version
        for name, version in re.findall(pinned, (root / "requirements.txt").read_text(), re.M)
    }
    entries = re.split(r"\n(?=\w)", (root / "requirements.lock").read_text())
    locked = dict(re.findall(pinned, "\n".join(entries), re.M))
    assert len(locked) == len(entries)
    assert all("--hash=sha256:" in entry for entry in entries)
    assert {name: locked.get(name) for name in wanted if name != "torch"} == {
        k: v for k, v in wanted.items() if k != "torch"
    }
    assert not [name for name in locked if name.startswith(("torch", "nvidia", "cuda", "triton"))]


@pytest.mark.skipif(os.name == "nt", reason="Ctrl+C is no signal there")
def test_ctrl_c_ends_the_running_app_without_an_error(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("import streamlit as st\n\napp = st.App(__file__)\n")
    port = free_port()
    lines = (
        "import runpy, sys, pathlib",
        f"run = runpy.run_path({str(SCRIPT)!r})['run']",
        f"run.__globals__.update(ROOT=pathlib.Path({str(tmp_path)!r}), VENV=pathlib.Path(sys.prefix))",
        f"run({port})",
    )
    with subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines)],
        env={**os.environ, "STREAMLIT_SERVER_HEADLESS": "true", "STREAMLIT_SERVER_ADDRESS": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as app:
        until = time.monotonic() + 120
        while app.poll() is None and time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        app.send_signal(signal.SIGINT)
        said, _ = app.communicate(timeout=120)
    assert app.returncode == 0, said
    assert f"http://localhost:{port}" in said
    assert "Aborted" not in said


@pytest.mark.skipif(os.name == "nt", reason="the tools are shell scripts here")
@pytest.mark.parametrize(
    ("ruff", "types", "tests", "code", "reached"),
    [
        (0, 0, "exit 0", 0, "mypy pytest"),
        (0, 0, "exit 5", 5, "mypy pytest"),
        (0, 3, "exec sleep 300", 3, "mypy pytest"),
        (2, 0, "exit 0", 2, ""),
    ],
)
def test_whatever_fails_first_is_the_answer(
    start: ModuleType, project: Path, ruff: int, types: int, tests: str, code: int, reached: str
) -> None:
    tools = start.python().parent
    tools.mkdir(parents=True)
    log = project / "log"
    orders = {
        "ruff": f"exit {ruff}",
        "codespell": "exit 0",
        "lint-imports": "exit 0",
        "python": f"[ $1 = -m ] || exit 0; echo pytest >>{log}; {tests}",
        "mypy": f"until grep -qs pytest {log}; do sleep 0.05; done; echo mypy >>{log}; exit {types}",
    }
    for name, order in orders.items():
        (tools / name).write_text(f"#!/bin/sh\n{order}\n")
        (tools / name).chmod(0o755)
    began = time.monotonic()
    with pytest.raises(SystemExit) as end:
        start.test([])
    assert (end.value.code or 0) == code
    assert " ".join(sorted(log.read_text().split() if log.exists() else ())) == reached
    assert time.monotonic() - began < 200  # what was found ends the tests


SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.parametrize(
    "path", [*SCRIPTS.glob("*.py"), *(SCRIPTS.parent / "benchmarks").glob("*.py")], ids=lambda p: p.stem
)
def test_what_a_script_imports_of_core_is_there(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("core"):
            module = import_module(str(node.module))
            for name in (alias.name for alias in node.names):
                assert hasattr(module, name) or find_spec(f"{node.module}.{name}"), f"{node.module}.{name}"
