"""Attention: roles of heads, models side by side, downloads of maps."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import checkpoints
from core.attention.roles import rolefiles
from core.attention.roles.everyhead import rows
from core.attention.word_maps import BOTH, strongest, word_attention
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.links import current
from core.ui.architectures import SENTENCE
from tests import tinyhosts
from tests.app.test_attention_page import page
from tests.downloads import catch_downloads
from tests.pages import described, opened, shown, widget


@pytest.mark.parametrize("role", ["previous", "effect"])
def test_a_role_names_its_head_and_draws_it_over_a_sentence(role: str) -> None:
    at = page(tab="roles", role=role)
    assert not at.warning
    grid = rolefiles.roles("minilm").get(role)
    effects = rolefiles.effects("minilm")
    best = max(effects, key=lambda head: effects[head].mean)
    layer, head = (best.layer, best.head) if grid is None else divmod(int(grid.argmax()), grid.shape[1])
    assert f"**Layer {layer + 1}, head {head + 1}** has the " in shown(at)
    assert f"Layer {layer + 1}, head {head + 1}".lower() in described(at).lower()
    assert len(at.get("plotly_chart")) == 2


@pytest.mark.usefixtures("open_tables")
def test_every_head_of_the_model_is_a_table() -> None:
    table = page(tab="roles", model="atlas-t5").dataframe[-1].value
    assert len(table) == len(rows([checkpoints.get("atlas-t5")])) == 24
    assert set(table["attention"]) == {"encoder", "decoder", "cross"}


@pytest.mark.parametrize(
    ("model", "said"), [("atlas-adapter-bert", "its encoder without adapters"), ("atlas-xlnet", "share their heads")]
)
def test_what_else_the_scores_of_a_model_are_of_is_said(model: str, said: str) -> None:
    at = page(tab="roles", model=model)
    assert said in shown(at)
    assert said not in shown(page(tab="roles"))


def test_links_of_grammar_and_of_every_head_lead_to_roles() -> None:
    old = {"tab": "grammar", "model": "atlas-bert", "relation": "det", "treebank": "ud-english"}
    new = {"tab": "roles", "model": "atlas-bert", "role": "det", "treebank": "ud-english"}
    assert current("attention", old) == ("attention", new)
    old = {"tab": "every", "score": "effect", "models": "minilm,atlas-gpt-2", "least": "0.1"}
    assert current("attention", old) == ("attention", {"tab": "roles", "role": "effect"})
    assert current("attention", {"tab": "every", "score": "grammar"}) == ("attention", {"tab": "roles"})
    assert current("attention", {"tab": "beside", "word": "3"}) == ("transformer", {"tab": "beside", "word": "3"})


TINY = "dir-tiny-bert,dir-tiny-gpt2,dir-tiny-t5"


def beside(**query: str) -> AppTest:
    at = opened("transformer", tab="beside", **query)
    assert not at.error
    return at


def test_it_opens_with_a_map_of_each_kind_and_a_word_in_all() -> None:
    at = beside()
    assert not at.warning
    assert len(at.get("plotly_chart")) == 5  # three maps, the bars, the cross map
    assert "Live model" not in [box.label for box in at.selectbox]
    assert "**What “it” attends to**" in shown(at)
    assert "upper right of the decoder is hatched" in shown(at)
    assert not at.query_params.get("at")
    # The heads are those with the most weight on both sides; a decoder has none and shows the one on the token before.
    from core import checkpoints

    assert "No head of this model can have weight on both the words before and the words after" in shown(at)
    for slug, role in (("minilm", BOTH), ("atlas-gpt-2", "previous")):
        best = strongest(word_attention(checkpoints.load(slug), SENTENCE.default), role)
        assert best is not None
        boxes = [box.value for box in at.selectbox if box.key and f".{slug}." in box.key]
        assert boxes == [best[0] + 1, best[1] + 1]


def test_models_words_and_heads_travel_in_the_link(checkpoint_dir: Path) -> None:
    at = beside(beside=TINY, text="The cat sat on the mat.", word="2", at="2.1.0.0.1.2")
    assert not at.warning
    assert "**What “cat” attends to**" in shown(at)
    heads = {box.key: box.value for box in at.selectbox if box.label in ("Layer", "Head")}
    # three models, and each number of a head that is not the strongest one's
    assert re.search(r"Settings \([3-7] changed\)", str([menu.proto.popover.label for menu in at.get("popover")]))
    assert [value for key, value in heads.items() if "bert" in str(key)] == [2, 1]
    assert [value for key, value in heads.items() if "t5" in str(key)] == [1, 2]
    widget(at.selectbox, "Encoder").set_value("minilm").run()
    assert at.query_params["beside"] == "minilm,dir-tiny-gpt2,dir-tiny-t5"
    assert at.query_params.get("at", "").startswith("0.0.") or "at" not in at.query_params


def test_another_kind_of_head_starts_with_the_strongest(checkpoint_dir: Path) -> None:
    at = beside(beside=TINY, text="The cat sat.", at="2.1.2.1.2.1")
    widget(at.selectbox, "Heads with the most").set_value("next").run()
    assert at.query_params["role"] == "next"
    assert "at" not in at.query_params
    assert "No head of this model can have weight on the token after" in shown(at)


def test_one_model_that_cannot_leaves_the_others(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from core.ui import architectures as section

    real = section.word_maps.word_attention

    def without(checkpoint: Checkpoint, text: str, task: str | None) -> object:
        if checkpoint.spec.slug == "dir-tiny-gpt2":
            raise InputUnusable("No places here.")
        return real(checkpoint, text, task)

    monkeypatch.setattr(section.word_maps, "word_attention", without)
    at = beside(beside=TINY, text="The cat sat.")
    assert at.warning[0].value == "No places here\\."
    assert len(at.get("plotly_chart")) >= 3


def test_heads_of_more_models_than_there_are_places_are_named(checkpoint_dir: Path) -> None:
    assert "at" in beside(beside=TINY, text="The cat sat.", at="1.2.3.4.5.6.7").warning[0].value


def test_of_a_long_text_a_part_stands_side_by_side() -> None:
    text = "The cat sat on the mat and the dog ran. " * 6  # 66 words and marks
    at = beside(text=text)
    assert not at.warning
    assert "Of 66 words and punctuation marks" in shown(at)
    assert widget(at.number_input, "to word").value == 40
    assert "window" not in at.query_params
    widget(at.number_input, "From word").set_value(60).run()
    assert not at.warning
    assert at.query_params["window"] == "60.66"
    assert len(at.get("plotly_chart")) == 5
    for window in ("900.1", "0.0", "7", "66.1"):
        at = beside(text=text, window=window)
        assert not at.warning


def test_the_strongest_links_are_a_table_in_words(checkpoint_dir: Path) -> None:
    at = page(model="dir-tiny-bert", text="The cat sat.", layer="1", head="2")
    table = next(html.value for html in at.get("html") if "ten largest weights" in html.value)
    assert table.count("<tr>") == 11
    assert "Query token" in table


@pytest.mark.parametrize("together", ["all", "rollout"])
def test_all_heads_can_be_downloaded(checkpoint_dir: Path, monkeypatch: pytest.MonkeyPatch, together: str) -> None:
    files = catch_downloads(monkeypatch)
    page(tab="all", model="dir-tiny-bert", text="The cat sat.", together=together)
    stem = f"atlas-dir-tiny-bert-{together}"
    lines = files[f"{stem}.csv"].decode().splitlines()
    heads = {"all": 4, "rollout": 2}[together]
    assert len(lines) == 1 + heads * 6 * 6  # [CLS] the cat sat . [SEP]
    assert files[f"{stem}.html"].startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("query", "name", "lines"),
    [
        ({"layer": "2", "on": "1"}, "atlas-dir-tiny-bert-head-view-layer2.csv", {("2", "1"): 36}),
        ({}, "atlas-dir-tiny-bert-head-view-layer1.csv", {("1", "1"): 36, ("1", "2"): 36}),
        ({"bertviz": "model", "heads": "2"}, "atlas-dir-tiny-bert-model-view.csv", {("1", "2"): 36, ("2", "2"): 36}),
        ({"bertviz": "neuron", "head": "2"}, "atlas-dir-tiny-bert-neuron-view-layer1-head2.csv", {("1", "2"): 36}),
        ({"bertviz": "neuron"}, "atlas-dir-tiny-bert-neuron-view-layer1-head1-vectors.csv", {("1", "1"): 12}),
    ],
)
def test_the_numbers_of_a_view_of_bertviz_can_be_downloaded(
    checkpoint_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    query: dict[str, str],
    name: str,
    lines: dict[tuple[str, str], int],
) -> None:
    files = catch_downloads(monkeypatch)
    page(tab="bertviz", model="dir-tiny-bert", text="The cat sat.", **query)  # [CLS] the cat sat . [SEP]
    counts = Counter((row["layer"], row["head"]) for row in csv.DictReader(io.StringIO(files[name].decode())))
    assert counts == lines


@pytest.mark.usefixtures("open_tables")
def test_a_gpt_oss_has_its_queries_keys_and_heads(tmp_path: Path, use_checkpoints: Callable[[Path], None]) -> None:
    made = tinyhosts.make("decoder gpt_oss")
    made.model.save_pretrained(tmp_path / "gpt_oss")
    made.tokenizer.save_pretrained(tmp_path / "gpt_oss")
    use_checkpoints(tmp_path)
    at = opened("attention", tab="bertviz", bertviz="neuron", model="dir-gpt_oss", text="The cat sat.")
    assert not at.warning
    assert "every head has a sink" in shown(at)
    assert "Queries and keys are shown as they enter the scores" in shown(at)
    at = opened("interventions", tab="off", model="dir-gpt_oss", asked="The cat sat.")
    assert not at.warning
    ranked = at.dataframe[-1].value
    assert len(ranked) == 8
    assert ranked["change, bits"].is_monotonic_decreasing
    at = opened("attention", tab="block", model="dir-gpt_oss", text="The cat sat.")
    assert "cannot be shown step by step here" in shown(at)
