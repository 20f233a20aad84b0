"""The zoo: its table, two models on one sentence, and everything that one can type or link."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core import checkpoints
from core.checkpoints import registry
from tests.pages import html_of, opened, protos, shown, widget


def decoders() -> list[str]:
    return [spec.slug for spec in checkpoints.for_branch("decoder") if spec.ready]


def test_every_live_model_has_a_row(checkpoint_dir: Path) -> None:
    at = opened("catalogue", tab="models")
    assert not at.warning
    table = html_of(at)
    live = [spec for spec in checkpoints.available() if spec.ready]
    assert table.count('scope="row"') == len(live) + len(registry.apart()) >= 10
    for spec in (*live, *registry.apart()):
        assert spec.name in table
    assert 'href="/encoder?system=clip"' in table
    models = table.partition("<caption>Live models</caption>")[2].partition("</table>")[0]
    assert models.count("<tr") == 1 + len(live) + len(registry.apart())  # one row a model: its card is on its page
    assert 'href="/decoder?system=gpt-2&amp;model=atlas-gpt-2"' in table
    assert "4.80 M" in table
    assert "22.7 M" in table  # MiniLM, as it is loaded: the factors of its difference are no parameters
    assert "1.31 bits" in table


def test_filter_and_order_are_in_the_link(checkpoint_dir: Path) -> None:
    at = opened("catalogue", tab="models")
    widget(at.selectbox, "Branch").set_value("decoder").run()
    widget(at.selectbox, "Sort by").set_value("few").run()
    assert {name: at.query_params[name] for name in ("branch", "by")} in (
        {"branch": "decoder", "by": "few"},
        {"branch": ["decoder"], "by": ["few"]},
    )
    table = html_of(at)
    assert "MiniLM" not in table
    assert table.index("tiny-gpt2") < table.index("Atlas GPT-2")
    again = opened("catalogue", tab="models", branch="decoder", by="many")
    table = html_of(again)
    assert table.index("tiny-gpt2") > table.index("Atlas GPT-2")
    live = [*registry.apart(), *(spec for spec in checkpoints.available() if spec.ready)]
    assert f"{len(decoders())} of {len(live)} models" in shown(again)


def test_a_detector_of_replaced_tokens_stands_beside_what_fills_masks() -> None:
    at = opened("catalogue", tab="beside", one="atlas-electra", other="minilm", text="The king ate a chair.")
    assert "detects replaced tokens" in html_of(at)
    assert "as it stands" in shown(at)
    assert len(at.get("plotly_chart")) == 2


def test_a_kind_without_a_page_is_listed_and_left_out_of_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    known = registry.available()
    strange = replace(known[0], slug="odd", name="Odd one", kind="adapters", branch="judges", system="judge", card=None)
    monkeypatch.setattr(registry, "available", lambda: (*known, strange))
    at = opened("catalogue", tab="models")
    assert "Odd one" in html_of(at)
    at = opened("catalogue", tab="beside", one="odd")
    assert "“First model” cannot be “odd”" in shown(at)
    assert "odd" not in widget(at.selectbox, "First model").options


def test_without_any_model_the_page_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "available", lambda: ())
    for section in ("models", "beside"):
        at = opened("catalogue", tab=section)
        assert "No live model" in at.info[0].value


def test_the_page_opens_with_two_of_one_kind() -> None:
    at = opened("catalogue", tab="beside")
    kinds = {checkpoints.get(widget(at.selectbox, label).value).kind for label in ("First model", "Second model")}
    assert len(kinds) == 1
    assert widget(at.selectbox, "First model").value != widget(at.selectbox, "Second model").value
    assert "in place of “bed”" in shown(at)


def test_bars_of_two_models_share_one_scale(checkpoint_dir: Path) -> None:
    import json

    at = opened("catalogue", tab="beside", one="minilm", other="dir-tiny-bert", mask="1.6")
    ranges = [json.loads(chart.spec)["layout"]["xaxis"]["range"] for chart in protos(at, "plotly_chart")]
    assert len(ranges) == 4  # two masks, two models
    assert all(span == ranges[0] for span in ranges)


def test_another_sentence_hides_its_last_word_and_an_edited_one_keeps_its_own(checkpoint_dir: Path) -> None:
    at = opened(
        "catalogue", tab="beside", one="dir-tiny-bert", other="dir-tiny-bert", text="The cat sat on the mat.", mask="1"
    )
    assert "in place of “cat”" in shown(at)
    at.text_input[0].set_value("The old cat sat on the mat.").run()
    assert "in place of “cat”" in shown(at)
    at.text_input[0].set_value("Once upon a time").run()
    assert "in place of “time”" in shown(at)


def test_two_masked_language_models_have_their_sizes_side_by_side() -> None:
    sizes = opened("catalogue", tab="beside", one="atlas-bert", other="atlas-distilbert").table[0].value
    layers = [checkpoints.load(slug).model.config.num_hidden_layers for slug in ("atlas-bert", "atlas-distilbert")]
    assert [int(sizes[name].iloc[0]) for name in sizes.columns[1:3]] == layers
    assert sizes["second / first"].iloc[0] == f"{100 * layers[1] / layers[0]:.0f}%"
    assert len(sizes) > 2
