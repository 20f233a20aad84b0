"""Faults in the middle of a visit: the page says what is wrong, keeps what was typed, and works again afterwards.

That no page shows an exception is looked for after every run (`tests.app.conftest`). Faults that a process of its own
must meet are in `tests/nightly/test_faults.py`; a killed server is in `tests/nightly/test_faults.py`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core import checkpoints, session, settings
from core.checkpoints import loading, registry
from core.errors import AtlasError
from tests.pages import ROOT, link, opened, shown

TEXT = "The cat [MASK] on the mat."


def edit(file: Path, **changes: object) -> None:
    """Change keys of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def catastrophic(folder: Path) -> None:
    split = {"type": "Split", "pattern": {"Regex": r"[a-z]+[a-z]*\d"}, "behavior": "Isolated", "invert": False}
    edit(folder / "tokenizer.json", pre_tokenizer=split)


def panicking(folder: Path) -> None:
    edit(folder / "tokenizer.json", normalizer={"type": "Precompiled", "precompiled_charsmap": "YWJjZA=="})


def chunked(folder: Path) -> None:
    edit(folder / "tokenizer.json", pre_tokenizer={"type": "FixedLength", "length": 0})


def growing(folder: Path) -> None:
    doubled = [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 40
    edit(folder / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": doubled})


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "its weights are cut off": (lambda folder: os.truncate(folder / "model.safetensors", 1000), "cut off"),
    "a thousand layers": (lambda folder: edit(folder / "config.json", num_hidden_layers=1000), "more than 2,000 parts"),
    "a table of a billion positions": (
        lambda folder: edit(folder / "config.json", max_position_embeddings=10**9),
        "makes tables of more than",
    ),
    "its tokenizer is cut off": (lambda folder: os.truncate(folder / "tokenizer.json", 2000), "cannot be loaded"),
    "its tokenizer is catastrophic": (catastrophic, "can take minutes"),
    "its tokenizer panics": (panicking, "cannot be loaded"),
    "its tokenizer panics at every text": (chunked, "fails on a plain text"),
    "its tokenizer doubles a text forty times": (growing, "10,000 times as long"),
}


@pytest.fixture
def spoiled(
    tiny_root: Path, tmp_path: Path, use_checkpoints: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A model whose files a test may damage, the only one that there is."""
    monkeypatch.setattr(loading, "MAX_MODULES", 2_000)
    monkeypatch.setattr(registry, "bundled_specs", lambda: ())  # a page that falls back to one of them takes longer
    folder = tmp_path / "root" / "tiny-bert"
    shutil.copytree(tiny_root / "tiny-bert", folder)
    use_checkpoints(folder.parent)
    return folder


@pytest.mark.parametrize("name", FAULTS)
def test_a_model_whose_files_change_is_refused(spoiled: Path, name: str) -> None:
    spoil, said = FAULTS[name]
    checkpoints.load("dir-tiny-bert")
    if (maps := Path("/proc/self/maps")).exists():  # the system ends a process that touches a file which was cut
        assert str(spoiled) not in maps.read_text()
    spoil(spoiled)
    with pytest.raises(AtlasError) as refused:
        checkpoints.load("dir-tiny-bert")
    assert said in str(refused.value)
    assert str(spoiled.parent) not in str(refused.value)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        FAULTS["its weights are cut off"],
        FAULTS["its tokenizer is catastrophic"],
        (shutil.rmtree, "About says how a host adds models"),
    ],
)
def test_a_models_files_change_while_a_visitor_reads(spoiled: Path, spoil: Callable[[Path], object], said: str) -> None:
    at = opened("encoder", model="dir-tiny-bert", text=TEXT)
    assert not at.warning, shown(at)
    spoil(spoiled)
    at.run()
    assert said in shown(at)
    assert str(spoiled.parent) not in shown(at)
    assert link(at)["text"] == TEXT


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The smallest budget that the settings allow."""
    checkpoints.forget()
    session.results.clear()
    monkeypatch.setenv("ATLAS_MEMORY_MB", "64")
    settings.settings.cache_clear()
    yield
    settings.settings.cache_clear()


@pytest.mark.parametrize(
    ("page", "model", "said"), [("encoder", "minilm", "needs about 1"), ("decoder", "atlas-gpt-2", "")]
)
def test_a_tiny_memory_budget(page: str, model: str, said: str, little_memory: None) -> None:
    at = opened(page, model=model)
    assert ("ATLAS_MEMORY_MB" in shown(at)) == bool(said)
    assert said in shown(at)
    assert at.text_input[0].value


def test_a_clock_that_jumps(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at, now = opened("encoder", model="dir-tiny-bert", text=TEXT), time.time
    before = shown(at)
    for years in (-30, 30):
        monkeypatch.setattr(time, "time", lambda years=years: now() + years * 31_557_600)
        assert shown(at.run()) == before


WALL_CLOCK = re.compile(
    r"\btime\.time(_ns)?\b|from time import (?!mono|perf)|datetime\.(now|utcnow)\b|\bdate\.today|Date\.now|new Date\b"
)


def test_nothing_of_ours_reads_the_clock_that_may_jump() -> None:
    """What waits or expires counts with a monotonic clock."""
    folders = ("core/**/*.py", "pages/*.py", "app.py", "assets/components/**/*.js", "assets/scripts/*.js")
    texts = {file: file.read_text(encoding="utf-8") for pattern in folders for file in ROOT.glob(pattern)}
    assert len(texts) > 400
    assert [file for file, text in texts.items() if WALL_CLOCK.search(text)] == []


@pytest.mark.parametrize("page", ["home", "encoder", "tokenizers"])
def test_hostile_folders_keep_no_page_from_opening(
    page: str, tiny_root: Path, tmp_path: Path, use_checkpoints: Callable[[Path], None]
) -> None:
    """All faults at once, and a folder that leads out of the directory."""
    for name, (spoil, _) in FAULTS.items():
        shutil.copytree(tiny_root / "tiny-bert", tmp_path / name.replace(" ", "-"))
        spoil(tmp_path / name.replace(" ", "-"))
    (tmp_path / "a-link").symlink_to("/")
    use_checkpoints(tmp_path)
    at = opened(page)
    assert not at.error
    assert page != "tokenizers" or "catastrophic" not in shown(at)


def test_an_address_in_a_link_is_no_link_on_the_page(checkpoint_dir: Path) -> None:
    at = opened("encoder", model="www.evil.example/pay", text=TEXT)
    assert any("`www.evil.example/pay`" in warning.value for warning in at.warning)
