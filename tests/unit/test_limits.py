"""The limits of an installation: what is over one is refused in a sentence that names it, its value and what works."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from core import checkpoints, doctor
from core.attention.capture import capture
from core.errors import AtlasError
from core.language.decoding.rules import check
from core.language.text import clean
from core.language.types import Decoding
from core.links.parameters import Text, parse
from core.settings import LIMITS, Settings, settings
from core.tokenizers.samples import whole
from core.ui.component import check_page
from core.ui.generation.setup import LENGTH
from core.ui.links import PageState
from core.vectors.reading import read_states

pytestmark = pytest.mark.usefixtures("fresh_settings")


def one_pass(_: Path) -> None:
    import torch

    checkpoints.load("dir-tiny-bert").model(input_ids=torch.ones((1, 1_025), dtype=torch.long))


@pytest.mark.parametrize(
    ("name", "value", "ask", "said"),
    [
        ("max_chars", 2_000, lambda _: clean("x" * 2_001), "2,001 characters; at most 2,000"),
        ("max_chars", 2_000, lambda _: clean("x" * 2_001, 5_000), "at most 2,000"),
        ("max_chars", 2_000, lambda _: whole("x" * 2_001), "at most 2,000"),
        ("max_tokens", 1_024, one_pass, "1,025 tokens; a model reads at most 1,024 in one pass"),
        ("max_attention_tokens", 32, lambda _: capture(checkpoints.load("dir-tiny-t5"), "cat " * 20), "up to 32"),
        ("max_attention_tokens", 32, lambda _: read_states(checkpoints.load("dir-tiny-t5"), "cat " * 20), "up to 32"),
        ("max_new_tokens", 64, lambda _: check(Decoding(max_new_tokens=65)), "from 1 to 64, not 65"),
        ("max_beams", 2, lambda _: check(Decoding("beam", beams=3)), "from 1 to 2, not 3"),
        ("max_page_mb", 1, lambda _: check_page("x" * 1_100_000), "1.1 MB; at most 1 MB"),
    ],
)
def test_over_a_limit_a_sentence_names_it(
    name: str,
    value: int,
    ask: Callable[[Path], object],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    checkpoint_dir: Path,
) -> None:
    monkeypatch.setenv(f"ATLAS_{name.upper()}", str(value))
    settings.cache_clear()
    with pytest.raises(AtlasError) as raised:
        ask(checkpoint_dir)
    assert said in str(raised.value)
    assert f"ATLAS_{name.upper()}" in str(raised.value)
    monkeypatch.undo()


def test_a_link_keeps_to_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MAX_CHARS", "2000")
    with pytest.raises(ValueError, match="2,000 characters at most"):
        parse(Text(), "x" * 2_001, None)


@pytest.mark.parametrize(("most", "asked", "value"), [(64, 100, 24), (300, 300, 300), (200, 201, 24)])
def test_a_control_goes_as_far_as_the_setting(
    most: int, asked: int, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATLAS_MAX_NEW_TOKENS", str(most))
    assert LENGTH.value(PageState("generation", {"length": asked}, 0)) == value


def test_doctor_shows_each_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_MAX_BEAMS", "5")
    (lines,) = [lines for title, lines in doctor.examine().sections if title == "Limits"]
    assert len(lines) == len(LIMITS)
    assert any(line.split() == ["5", *line.split()[1:]] and "ATLAS_MAX_BEAMS" in line for line in lines)


@pytest.mark.parametrize("name", Settings.model_fields)
def test_an_empty_variable_is_an_unset_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"ATLAS_{name.upper()}", "")
    settings.cache_clear()
    assert getattr(settings(), name) == Settings.model_fields[name].default
