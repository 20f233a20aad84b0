"""A view saved as a recipe opens again, whatever is open by then; files that are none are answered and lose nothing."""

from __future__ import annotations

import csv
import io
from collections import Counter
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core.checkpoints.spec import CheckpointSpec
from core.ui.attention import recipe as attention_recipe
from core.ui.links import PageState
from core.ui.section import Section
from tests.app.test_attention_beside import TINY
from tests.app.test_attention_page import page
from tests.downloads import catch_downloads
from tests.pages import shown


@pytest.fixture
def saved(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The recipe of every run, as its button would save it."""
    kept: list[bytes] = []
    real = attention_recipe.explicit

    def kept_too(state: PageState, section: Section, spec: CheckpointSpec | None) -> object:
        settings = real(state, section, spec)
        kept.append(attention_recipe.written(section.slug, settings, spec))
        return settings

    monkeypatch.setattr(attention_recipe, "explicit", kept_too)
    return kept


def opened_with(at: AppTest, data: bytes) -> AppTest:
    at.file_uploader[0].set_value(("a.recipe.json", data, "application/json")).run()
    return at


_BERT = {"model": "dir-tiny-bert", "text": "The cat sat."}
QUERIES: dict[str, dict[str, str]] = {
    "a pair": _BERT | {"second": "The dog ran.", "layer": "2", "head": "1", "view": "table"},
    "all heads": _BERT | {"tab": "all", "together": "mean", "open": "2.1"},
    "heads of bertviz's head view": _BERT | {"tab": "bertviz", "layers": "2", "layer": "2", "on": "2"},
    "a task of adapters": {"tab": "off", "model": "atlas-adapter-bert", "task": "genre", "off": "e1-5"},
    "side by side": {"tab": "beside", "beside": TINY, "word": "2", "text": "A cat."},
}


@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
def test_a_view_opens_again_from_its_recipe(checkpoint_dir: Path, saved: list[bytes], query: dict[str, str]) -> None:
    at = page(**query)
    data, url = saved[-1], dict(at.query_params)
    widgets = {box.label: box.value for box in (*at.selectbox, *at.text_input, *at.button_group)}
    other = page(model="dir-tiny-gpt2", text="Something else", view="table")
    opened_with(other, data)
    assert "The recipe is open." in shown(other)
    assert "It was made with" not in shown(other)
    assert dict(other.query_params) == url
    assert {box.label: box.value for box in (*other.selectbox, *other.text_input, *other.button_group)} == widgets


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
    assert files[f"{stem}.svg"].startswith(b"<?xml")
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
    found = Counter((row["layer"], row["head"]) for row in csv.DictReader(io.StringIO(files[name].decode())))
    assert found == lines
