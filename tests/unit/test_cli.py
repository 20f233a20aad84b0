"""The command line: what it prints, how it fails, and that its help is light."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from core import doctor
from core.checkpoints import package
from core.settings import ROOT
from tests import tiny
from tests.hubserver import Hub


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``python -m core`` with these arguments and extra environment variables."""
    return subprocess.run(
        [sys.executable, "-m", "core", *arguments],
        cwd=ROOT,
        env={**os.environ, "NO_PROXY": "127.0.0.1,localhost", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    result = run("--help")
    assert result.returncode == 0
    for command in ("doctor", "fetch", "tree", "train", "evaluate", "heads", "bench"):
        assert command in result.stdout
    script = (
        "import sys, core.__main__\n"
        "print([m for m in ('torch', 'transformers', 'streamlit', 'pydantic') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_doctor_names_what_is_live_and_fails_with_the_reason(tiny_root: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(tiny_root, root)
    (root / "tiny-t5" / "tokenizer.json").unlink()
    (root / "tiny-t5" / "tokenizer_config.json").unlink()
    result = run("doctor", ATLAS_CHECKPOINT_DIR=str(root))
    assert "Traceback" not in result.stderr
    assert result.returncode == 1
    assert "dir-tiny-gpt2: generation; the host's folder" in result.stdout
    assert f"{package.NAME} " in result.stdout
    assert "“tiny-t5” has no tokeniser" in result.stdout


def test_doctor_reports_settings_that_make_no_sense() -> None:
    result = run("doctor", ATLAS_HUB="perhaps")
    assert result.returncode == 1
    assert "ATLAS_HUB" in result.stdout
    assert "Traceback" not in result.stderr


def test_doctor_reports_a_missing_directory(tmp_path: Path) -> None:
    result = run("doctor", ATLAS_CHECKPOINT_DIR=str(tmp_path / "nowhere"))
    assert result.returncode == 1
    assert "ATLAS_CHECKPOINT_DIR names does not exist" in result.stdout
    assert str(tmp_path / "nowhere") in result.stdout


def test_doctor_loads_what_claims_to_be_ready(
    tiny_root: Path, tmp_path: Path, use_checkpoints: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.registry.configuration, "ASSETS", tmp_path)
    damaged = Path(shutil.copytree(tiny_root / "tiny-bert", tmp_path / "root" / "damaged"))
    (damaged / "tokenizer.json").write_text("{}")
    use_checkpoints(tmp_path / "root")  # type: ignore[operator]
    assert not any("damaged" in problem for problem in doctor.examine().problems)
    assert any("dir-damaged does not load" in problem for problem in doctor.examine(load=True).problems)


def test_a_package_that_is_missing_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED", ("no-such-package",))
    assert any("no-such-package is not installed" in problem for problem in doctor.examine().problems)


def test_fetch_brings_a_model_that_runs_without_the_hub(tmp_path: Path) -> None:
    server = Hub()
    server.serve_folder("google-bert/bert-base-uncased", tiny.tiny_bert(tmp_path / "bert", width=128))
    environment = {"HF_ENDPOINT": server.start(), "HF_HUB_CACHE": str(tmp_path / "cache")}
    try:
        size = sum(file.stat().st_size for file in (tmp_path / "bert").iterdir())
        result = run("fetch", "bert-base-uncased", **environment)
        assert result.returncode == 0, result.stderr
        assert f"{size / 1e6:.1f} MB from the Hugging Face Hub (google-bert/bert-base-uncased)" in result.stdout
    finally:
        server.stop()
    asked = len(server.log)
    again = run("fetch", "bert-base-uncased", **environment)
    assert "is here already" in again.stdout
    result = run("doctor", **environment)
    assert "bert-base-uncased: masked tokens; Hugging Face Hub" in result.stdout
    assert len(server.log) == asked


def test_fetch_refuses_names_that_are_not_in_the_catalogue() -> None:
    result = run("fetch", "somebody/something")
    assert result.returncode == 1
    assert "bert-base-uncased" in result.stderr
    assert "Traceback" not in result.stderr


def test_fetch_without_a_network_says_so(tmp_path: Path) -> None:
    result = run("fetch", "gpt2", HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_CACHE=str(tmp_path))
    assert result.returncode == 1
    assert "cannot be reached" in result.stderr
    assert "Traceback" not in result.stderr


def test_tree_prints_as_torch_prints() -> None:
    result = run("tree", "bert")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("BertModel(")
    assert "(0-11): 12 x BertLayer(" in result.stdout


def test_unknown_systems_and_benchmarks_get_a_sentence() -> None:
    for arguments in (
        ("tree", "no-such-system"),
        ("bench", "no-such-benchmark"),
        ("tree",),
        ("heads", "minilm", "--treebank", "no-such-folder"),
    ):
        result = run(*arguments)
        assert result.returncode == 1
        assert "Traceback" not in result.stderr
        assert result.stderr.strip().endswith((".", "?"))
