"""A text that is too long for a model or a picture: a part of it is offered, and kept in the link."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import session
from tests.app.test_attention_page import page, widget
from tests.app.test_branches import shown

LONG = "The cat sat on the mat and the dog ran to the river. " * 24


@pytest.mark.parametrize("tab", ["heads", "all", "bertviz", "block"])
@pytest.mark.parametrize("model", ["minilm", "atlas-gpt-2", "atlas-t5"])
def test_a_long_text_is_read_in_part(tab: str, model: str) -> None:
    at = page(tab=tab, model=model, text=LONG)
    assert not at.warning, [warning.value for warning in at.warning]
    assert widget(at.number_input, "From token").value == 1  # type: ignore[attr-defined]
    assert "window" not in at.query_params
    assert "as a text of their own" in shown(at)


def test_the_part_is_chosen_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = LONG[: LONG.index(".") + 1]
    n = len(session.checkpoint("atlas-bert").tokenizer(sentence, add_special_tokens=False)["input_ids"])
    at = page(tab="heads", model="atlas-bert", text=LONG, window=f"{n + 1}.{2 * n}")
    assert not at.warning
    read: list[str] = []
    real = session.trace
    monkeypatch.setattr(session, "trace", lambda slug, text, *rest, **more: (read.append(text), real(slug, text))[1])
    at.run()
    assert read == [sentence]
    widget(at.number_input, "From token").set_value(2 * n + 1).run()  # type: ignore[attr-defined]
    assert not at.exception
    assert at.query_params["window"].startswith(f"{2 * n + 1}.")
    assert read[-1].startswith(sentence)


@pytest.mark.parametrize("model", ["atlas-transformer-xl", "atlas-reformer", "atlas-bert"])
def test_what_is_asked_may_be_long(model: str) -> None:
    text = ("The cat sat on the mat and the dog ran to the river. " * 11)[:560] + "The old [MASK]"
    at = page(tab="off", model=model, asked=text)
    assert not at.warning, [warning.value for warning in at.warning]
    assert "as a text of their own" in shown(at)


def test_strange_windows_are_data(checkpoint_dir: Path) -> None:
    for window in ("900.1", "0.0", "7", "99999.99999"):
        at = page(tab="heads", model="atlas-bert", text=LONG, window=window)
        assert not at.warning
        assert widget(at.number_input, "From token").value >= 1  # type: ignore[attr-defined]
