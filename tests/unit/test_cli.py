"""The command line: what it prints, how it fails, and that its help is light."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import __main__ as command_line
from core import doctor
from core.checkpoints import package
from core.settings import ROOT
from tests import tiny
from tests.conftest import forget
from tests.hubserver import Hub

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """``python -m core`` with these arguments and further environment variables: its status and what it printed."""

    def ran(*arguments: str, **environment: str) -> tuple[int, str, str]:
        with monkeypatch.context() as changed:
            changed.setattr(sys, "argv", ["core", *arguments])
            for name, value in ({"NO_PROXY": "127.0.0.1,localhost"} | environment).items():
                changed.setenv(name, value)
            forget()
            with pytest.raises(SystemExit) as end:
                command_line.main()
        printed = capsys.readouterr()
        return int(end.value.code or 0), printed.out, printed.err

    yield ran
    forget()


def test_help_names_every_command_and_imports_nothing_heavy() -> None:
    result = subprocess.run([sys.executable, "-m", "core", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0
    for command in ("doctor", "check", "fetch", "tree", "serve", "parallel-demo", "bench"):
        assert command in result.stdout
    lab = subprocess.run([sys.executable, "-m", "lab", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert lab.returncode == 0
    for command in ("train", "vocabulary", "clip", "evaluate", "study", "heads", "effects", "vectors", "trees"):
        assert command in lab.stdout
    script = (
        "import sys, core.__main__, lab.__main__\n"
        "print([m for m in ('torch', 'transformers', 'streamlit', 'pydantic') if m in sys.modules])"
    )
    results = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert results.stdout.strip() == "[]"


def test_doctor_names_what_is_live_and_fails_with_the_reason(run: Run, tiny_root: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(tiny_root, root)
    (root / "tiny-t5" / "tokenizer.json").unlink()
    (root / "tiny-t5" / "tokenizer_config.json").unlink()
    status, said, _ = run("doctor", ATLAS_CHECKPOINT_DIR=str(root))
    assert status == 1
    assert "dir-tiny-gpt2: generation; the host's folder" in said
    assert f"{package.NAME} " in said
    assert "“tiny-t5” has no tokenizer" in said


@pytest.mark.parametrize(
    ("setting", "value", "sentences"),
    [
        ("ATLAS_HUB", "perhaps", ["ATLAS_HUB takes"]),
        ("ATLAS_CHECKPOINT_DIR", "/no/where", ["ATLAS_CHECKPOINT_DIR names does not exist", "/no/where"]),
    ],
)
def test_doctor_reports_settings_that_make_no_sense(run: Run, setting: str, value: str, sentences: list[str]) -> None:
    status, said, _ = run("doctor", **{setting: value})
    assert status == 1
    assert all(sentence in said for sentence in sentences)


def test_check_lists_what_is_wrong_and_nothing_else(run: Run, tmp_path: Path) -> None:
    lessons = tmp_path / "lessons"
    lessons.mkdir()
    view = '+++\nview = "/attention?model=gpt-9"\n+++\n'
    (lessons / "mine.md").write_text(f'+++\ntitle = "Mine"\nline = "A line."\n+++\n## One\nText.\n\n{view}')
    environment = {"ATLAS_LESSONS_DIR": str(lessons), "ATLAS_CONTENT_DIR": str(tmp_path / "no"), "ATLAS_MAX_BEAM": "3"}
    status, said, _ = run("check", **environment)
    assert status == 1
    first, second, third = said.splitlines()
    assert first == "ATLAS_MAX_BEAM is no setting, so it changes nothing; did you mean ATLAS_MAX_BEAMS?"
    assert second == f"ATLAS_CONTENT_DIR names {tmp_path / 'no'}, which is no folder."
    assert third.startswith("mine.md, step 1 “One”: The link asks for model “gpt-9”")
    assert run("check", str(lessons / "mine.md"))[:2] == (1, f"{third}\n")
    assert run("check")[:2] == (0, "No problems.\n")


def test_doctor_loads_what_claims_to_be_ready(
    tiny_root: Path, tmp_path: Path, use_assets: Callable[[Path], None], use_checkpoints: Callable[[Path], None]
) -> None:
    use_assets(tmp_path)
    damaged = Path(shutil.copytree(tiny_root / "tiny-bert", tmp_path / "root" / "damaged"))
    (damaged / "tokenizer.json").write_text("{}")
    use_checkpoints(tmp_path / "root")
    assert not any("damaged" in problem for problem in doctor.examine().problems)
    assert any("dir-damaged does not load" in problem for problem in doctor.examine(load=True).problems)


def test_a_package_that_is_missing_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "NEEDED", ("no-such-package",))
    assert any("no-such-package is not installed" in problem for problem in doctor.examine().problems)


def test_fetch_brings_a_model_that_runs_without_the_hub(run: Run, tmp_path: Path) -> None:
    server = Hub()
    server.serve_folder("google-bert/bert-base-uncased", tiny.tiny_bert(tmp_path / "bert", width=128))
    environment = {"HF_ENDPOINT": server.start(), "HF_HUB_CACHE": str(tmp_path / "cache")}
    try:
        size = sum(file.stat().st_size for file in (tmp_path / "bert").iterdir())
        status, said, trouble = run("fetch", "bert-base-uncased", **environment)
        assert status == 0, trouble
        assert f"{size / 1e6:.1f} MB from the Hugging Face Hub (google-bert/bert-base-uncased)" in said
    finally:
        server.stop()
    asked = len(server.log)
    assert "is downloaded already" in run("fetch", "bert-base-uncased", **environment)[1]
    assert "bert-base-uncased: masked tokens; Hugging Face Hub" in run("doctor", **environment)[1]
    assert len(server.log) == asked


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("fetch", "somebody/something"), "bert-base-uncased"),
        (("fetch", "gpt2"), "cannot be reached"),
        (("tree", "no-such-system"), "There is no system called 'no-such-system'"),
        (("bench", "no-such-benchmark"), "There is no benchmark “no-such-benchmark”"),
    ],
)
def test_what_cannot_be_done_gets_a_sentence(
    run: Run, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    status, _, said = run(*arguments, HF_ENDPOINT="http://127.0.0.1:9", HF_HUB_CACHE=str(tmp_path))
    assert status == 1
    assert sentence in said
    assert said.strip().endswith((".", "?"))


@pytest.mark.parametrize(("old", "new"), [("train", "train"), ("facts", "study"), ("sweep", "study")])
def test_a_command_that_went_to_the_laboratory_says_so(run: Run, old: str, new: str) -> None:
    status, _, errors = run(old, "--corpus", "x")
    assert status == 1
    assert f"“python -m lab {new}”" in errors
