"""What the sections of the page Attention let one choose stays in the link; what is not there gets a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.attention import bertviz, combine
from core.attention.trace import AttentionMap
from core.attention.views import grid
from core.ui.attention.compared import offered
from core.ui.attention.inside_frame import Opened
from tests.app.test_attention_page import page, widget
from tests.app.test_branches import shown
from tests.words import words


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """How each page of bertviz's was asked for."""
    asked: list[dict[str, Any]] = []
    real = bertviz.render
    monkeypatch.setattr(bertviz, "render", lambda *given, **how: (asked.append(how), real(*given, **how))[1])
    return asked


@pytest.mark.parametrize("view", ["head", "model", "neuron"])
def test_bertviz_shows_the_chosen_layers_and_heads(
    checkpoint_dir: Path, drawn: list[dict[str, Any]], view: str
) -> None:
    at = page(tab="bertviz", bertviz=view, model="dir-tiny-bert", text="The cat sat.", layers="2", heads="1.9")
    assert (drawn[-1]["include_layers"], drawn[-1]["include_heads"]) == ([1], [0])
    assert "There is no head 9 here: this model has 2." in words(at.warning[0].value)
    widget(at.multiselect, "Layers").set_value([]).run()  # type: ignore[attr-defined]
    assert not at.exception
    assert not at.warning
    assert drawn[-1]["include_layers"] is None
    assert "layers" not in at.query_params


@pytest.mark.parametrize("way", ["mean", "heads"])
@pytest.mark.parametrize("other", ["atlas-distilbert", "atlas-xlm", "atlas-deberta"])
def test_any_two_encoders_are_compared(other: str, way: str) -> None:
    at = page(tab="all", together="models", **{"with": other}, compared=way, head2="2")
    assert not at.warning, [warning.value for warning in at.warning]
    assert len(at.get("iframe")) == 1
    assert widget(at.selectbox, "Compared").value == way  # type: ignore[attr-defined]
    assert "compared word by word" in shown(at)


def test_ways_and_the_mean_of_everything() -> None:
    weights = np.stack([np.eye(2), np.full((2, 2), 0.5)]).astype(np.float32)
    two = AttentionMap("encoder", ("a", "b"), ("a", "b"), weights[None])
    one = combine.part(two, head=0)
    assert offered(two, two) == ["all", "layers", "mean", "heads"]
    assert offered(two, one) == ["layers", "mean", "heads"]
    np.testing.assert_allclose(combine.overall(two).weights[0, 0], [[0.75, 0.25], [0.25, 0.75]])


def test_the_sentence_of_grammar_is_in_the_link() -> None:
    at = page(tab="grammar", model="minilm")
    box = widget(at.selectbox, "Sentence")
    assert "sentence" not in at.query_params
    box.select_index(3).run()  # type: ignore[attr-defined]
    assert not at.exception
    kept, chosen = at.query_params["sentence"], widget(at.selectbox, "Sentence").value  # type: ignore[attr-defined]
    assert kept == chosen
    again = page(tab="grammar", model="minilm", sentence=kept)
    assert widget(again.selectbox, "Sentence").value == chosen  # type: ignore[attr-defined]
    assert "is not among those" in shown(page(tab="grammar", model="minilm", sentence="nonsense"))


def test_the_head_that_is_open_in_the_grid_is_in_the_link(
    checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int | None, int | None]] = []
    real = grid.render
    monkeypatch.setattr(
        grid, "render", lambda *given, **how: (asked.append((how["layer"], how["head"])), real(*given, **how))[1]
    )
    at = page(tab="all", model="dir-tiny-bert", text="The cat sat.", open="2.1")
    assert asked == [(1, 0)]
    for sent in ([1, 2], [6, 1], [1]):  # as the frame says it; there is no head of these others
        at.session_state["attention.1.maps.watch--sent"] = Opened(open=sent)
        at.run()
    assert not at.exception
    assert at.query_params["open"] == "1.2"
    assert asked[-1] == (1, 0)  # what is drawn already is not drawn anew
    widget(at.text_input, "Text").set_value("The dog sat.").run()  # type: ignore[attr-defined]
    assert asked[-1] == (0, 1)
    at = page(tab="all", model="dir-tiny-bert", text="The cat sat.", open="9.1")
    assert asked[-1] == (None, None)
    assert "There is no head “9, 1” here" in at.warning[0].value


@pytest.mark.parametrize(
    ("view", "query", "said", "link", "before", "after"),
    [
        ("head", {"layer": "2", "on": "2"}, (1,), {"layer": "1"}, (1, (1,)), (0, None)),
        ("head", {}, (2, 1), {"layer": "2", "on": "1"}, (None, None), (1, (0,))),
        ("neuron", {"layer": "2", "head": "2"}, (1, 2), {"layer": "1", "head": "2"}, (1, (1,)), (0, (1,))),
        ("model", {"open": "2.1"}, (1, 2), {"open": "1.2"}, (1, (0,)), (0, (1,))),
        ("model", {"open": "2.1"}, (), {}, (1, (0,)), (None, None)),
    ],
)
def test_what_is_chosen_in_a_view_of_bertviz_is_in_the_link(
    checkpoint_dir: Path,
    drawn: list[dict[str, Any]],
    view: str,
    query: dict[str, str],
    said: tuple[int, ...],
    link: dict[str, str],
    before: object,
    after: object,
) -> None:
    def begun() -> tuple[object, object]:
        return drawn[-1]["layer"], drawn[-1]["heads"]

    at = page(tab="bertviz", bertviz=view, model="dir-tiny-bert", text="The cat sat.", **query)
    assert not at.warning
    assert begun() == before
    at.session_state[f"attention.1.bertviz.{view}.encoder.watch--sent"] = Opened(
        open=list(said)
    )  # as the frame says it
    at.run()
    assert not at.exception
    assert {name: at.query_params.get(name) for name in ("layer", "head", "on", "open")} == {
        name: link.get(name) for name in ("layer", "head", "on", "open")
    }
    assert begun() == before  # what is drawn already is not drawn anew
    widget(at.text_input, "Text").set_value("The dog sat.").run()  # type: ignore[attr-defined]
    assert begun() == after
    # Back from another section, where the frame was taken down, it begins with what was chosen by then.
    at.session_state[f"attention.1.bertviz.{view}.encoder.watch--sent"] = Opened(open=[2, 2])
    at.run()
    assert begun() == after
    for section in ("grammar", "bertviz"):
        widget(at.button_group, "Show").set_value(section).run()  # type: ignore[attr-defined]
    assert not at.exception
    assert begun() == (1, (1,))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"layer": "9"}, "no layer 9 here: 2 layers of 2 heads are"),
        ({"layer": "1", "on": "2.7"}, "no layer 1, head 2, 7 here"),
        ({"bertviz": "neuron", "head": "5"}, "no layer 1, head 5 here"),
        ({"bertviz": "model", "open": "1"}, "no layer 1 here"),
    ],
)
def test_a_link_to_a_head_that_bertviz_has_not(
    checkpoint_dir: Path, drawn: list[dict[str, Any]], query: dict[str, str], told: str
) -> None:
    at = page(tab="bertviz", model="dir-tiny-bert", text="The cat sat.", **query)
    assert told in words(at.warning[0].value)
    assert (drawn[-1]["layer"], drawn[-1]["heads"]) == (None, None)
    at.run()
    assert not at.warning


def test_a_head_that_is_not_sent_is_passed_over(checkpoint_dir: Path, drawn: list[dict[str, Any]]) -> None:
    at = page(tab="bertviz", bertviz="neuron", model="dir-tiny-bert", layers="2", heads="2", layer="1", head="2")
    assert not at.warning
    assert (drawn[-1]["layer"], drawn[-1]["heads"]) == (1, (1,))
