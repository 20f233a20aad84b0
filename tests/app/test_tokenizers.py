"""The page of tokenizers, and duplicates on Experiments: its state in the link, and all that one can type."""

from __future__ import annotations

import csv
import io
import re

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.section import pages as every_page
from tests import pages
from tests.downloads import catch_downloads
from tests.pages import described, html_of, link, protos, shown, widget

SECTIONS = [section.slug for section in every_page()["tokenizers"].sections]


def opened(**query: str) -> AppTest:
    return pages.opened("tokenizers", **query)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_opens_filled(section: str) -> None:
    at = opened(tab=section)
    assert not at.warning
    assert protos(at, "plotly_chart") or section == "beside"
    assert "tk-run" in html_of(at)


def test_no_cell_of_a_download_is_a_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    files = catch_downloads(monkeypatch)
    formula = '=HYPERLINK("http://x","y")'
    opened(tab="beside", text=formula)
    tables = [csv.reader(io.StringIO(data.decode())) for name, data in files.items() if name.endswith(".csv")]
    cells = [cell for table in tables for row in table for cell in row]
    assert f"'{formula}" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]


def test_the_tokenizers_that_are_shown_are_in_the_link() -> None:
    drawn = html_of(opened())
    for kind in ("WordPiece", "Byte-level BPE", "Unigram", "Bytes"):
        assert f"<b>{kind}</b>" in drawn
    assert "1 capital lost; 1 accent lost" in drawn
    assert drawn.count("Lossless round trip.") == 2
    at = opened(shown="words,characters", text="The owl xyzzy.")
    assert not at.warning
    assert "1 unknown token (“xyzzy”)" in html_of(at)
    assert "<b>WordPiece</b>" not in html_of(at)
    assert link(at)["shown"] == "words,characters"


def test_each_algorithm_is_followed_step_by_step() -> None:
    at = opened(tab="steps", word="woodcutters", step="1")
    assert at.slider[0].value == 1
    at.slider[0].set_value(0).run()
    assert link(at)["step"] == "0"
    at = opened(tab="steps", method="wordpiece", word="cafжe")
    assert "whole word" in shown(at)
    assert "[UNK]" in html_of(at)
    assert "“owl”: lookups in" in described(opened(tab="steps", method="wordpiece", word="an owl", part="2"))
    assert "“owl”: lookups in" in described(opened(tab="steps", method="wordpiece", word="an owl", part="9"))
    first, same, other = (html_of(opened(tab="steps", method="unigram", alpha="0.3", seed=seed)) for seed in "778")
    assert "Sampled segmentations" in first
    assert first == same != other


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_a_pasted_text_is_learned(kind: str) -> None:
    at = opened(tab="train", kind=kind, corpus="the cat and the hat and the bat " * 5, test="the rat")
    assert not at.warning
    assert "Vocabulary of" in shown(at)
    assert protos(at, "plotly_chart")


@pytest.mark.parametrize(
    ("query", "word", "there"),
    [
        ({"below": "pieces"}, "counts", "The ids decode to"),
        ({"below": "readers"}, "pieces", "are the words that are single tokens"),
        ({"tab": "train", "learning": "learnt"}, "how", "The initial vocabulary has"),
        ({"tab": "train", "learning": "how"}, "sizes", "learned"),
    ],
)
def test_the_view_below_is_in_the_link(query: dict[str, str], word: str, there: str) -> None:
    name = list(query)[-1]
    at = opened(**query)
    assert there in shown(at)
    (views,) = [element for element in at.button_group if element.label == "View"]
    at = views.set_value(word).run()
    assert link(at).get(name, "") == ("" if word in ("counts", "sizes") else word)


def test_noise_breaks_words_and_leaves_a_byte_a_byte() -> None:
    clean = opened(tab="languages", language="english")
    at = opened(tab="languages", language="english", noise="random-case")
    assert len(protos(at, "plotly_chart")) == len(protos(clean, "plotly_chart")) + 1
    ((before, after),) = re.findall(r"ByT5: (\d+) clean, (\d+) noisy", described(at))
    assert before == after
    assert html_of(at) != html_of(clean)
    assert not at.slider, "every letter changes"


def test_the_rate_of_noise_begins_with_the_usual_one_and_more_of_it_breaks_more_words() -> None:
    at = opened(tab="noise", noise="repeat", rate="5")  # where it was
    (rate,) = at.slider
    assert (rate.label, rate.value) == ("Characters changed", 5)
    ((clean, few),) = re.findall(r"ByT5: (\d+) clean, (\d+) noisy", described(at))
    rate.set_value(20).run()
    assert "rate" not in link(at), "the paper's rate"
    ((_, many),) = re.findall(r"ByT5: (\d+) clean, (\d+) noisy", described(at))
    assert int(clean) < int(few) < int(many)
    widget(at.selectbox, "Noise").set_value("drop").run()
    assert at.slider[0].value == 10


@pytest.mark.usefixtures("open_tables")
def test_mt5_leads_and_byt5_comes_last() -> None:
    at = opened(tab="share")
    assert "mT5 small spends 85.3%" in shown(at)
    order = list(at.dataframe[0].value["system"])
    assert order.index("mT5") < order.index("XLM-R") < order.index("ByT5")


def test_a_link_with_a_very_long_text_is_answered_with_a_sentence() -> None:
    assert "15,000 characters" in shown(opened(text="x" * 15_000))


@pytest.mark.parametrize(
    "query",
    [{"shown": ""}, {"tab": "steps", "step": "200"}, {"tab": "train", "size": "5000"}, {"tab": "steps", "part": "7"}],
)
def test_a_number_beyond_this_text_gets_the_nearest_view(query: dict[str, str]) -> None:
    at = opened(**query)
    assert "tk-run" in html_of(at)
    assert all("vocabulary” lies from" in str(warning.value) for warning in at.warning)


def test_the_sample_s_repeats_are_found_and_the_thresholds_matter() -> None:
    at = pages.opened("experiments", tab="dedup")
    assert "1 of 7 documents would go" in shown(at)
    assert "candidate pairs" in described(at)
    assert "would go" in html_of(at)
    assert "Ferry times for the island" in html_of(at)
    widget(at.slider, "Jaccard threshold").set_value(0.5).run()
    assert "2 of 7 documents would go" in shown(at)  # one word of 18 differs: five of its 5-grams
    assert link(at)["jaccard"] == "0.5"
    widget(at.number_input, "Exact repeat, tokens").set_value(500).run()
    assert "No span of that many tokens occurs twice" in shown(at)


def test_a_file_replaces_the_text() -> None:
    at = pages.opened("experiments", tab="dedup")
    at.file_uploader[0].set_value(
        ("corpus.txt", b"one two three four five six\n\none two three four five six", "text/plain")
    ).run()
    assert "1 of 2 documents would go" in shown(at)
    at.file_uploader[0].set_value(("corpus.txt", b"\xff\xfe", "text/plain")).run()
    assert "not UTF-8" in shown(at)
