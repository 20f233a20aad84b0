"""The page of tokenisers: every section, its state in the link, and everything that one can type or link."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.ui.pages import pages
from tests.downloads import catch_downloads
from tests.words import unlinked

SECTIONS = [section.slug for section in pages()["tokenizers"].sections]

ROOT = Path(__file__).resolve().parents[2]
NASTY = {
    "nothing": "",
    "blanks": " \t\n ",
    "very long": "word " * 2_000,
    "emoji": "😀🎉👩‍👩‍👧",
    "right to left": "שלום [MASK] مرحبا",
    "control characters": "a\x00b\x07c\x1b[31m",
    "a script": "</script><script>alert(1)</script>",
    "markdown and latex": "# **x** $\\frac{1}{0}$ [a](javascript:alert(1)) `b` :red[c]",
    "marks of models": "</s><pad>[UNK]<extra_id_0>",
    "turned round": "\u202eabc\u202c",
    "one letter": "x",
}


def opened(**query: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    at.switch_page("pages/tokenizers.py")
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def protos(at: AppTest, kind: str) -> list[Any]:
    """The raw messages of elements that AppTest has no class for."""
    found: list[Any] = []

    def walk(node: Any) -> None:
        for child in getattr(node, "children", {}).values():
            walk(child)
        if getattr(node, "type", None) == kind:
            found.append(node.proto)

    walk(at._tree)
    return found


def html_of(at: AppTest) -> str:
    return " ".join(proto.body for proto in protos(at, "html"))


def shown(at: AppTest) -> str:
    return " ".join(unlinked(str(element.value)) for element in (*at.markdown, *at.warning, *at.caption, *at.info))


def box(at: AppTest, label: str) -> Any:
    return next(one for one in (*at.text_area, *at.text_input) if one.label == label)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_opens_filled(section: str) -> None:
    at = opened(tab=section)
    assert not at.exception
    assert not at.warning
    assert protos(at, "plotly_chart") or section == "beside"
    if section != "share":
        assert "tk-run" in html_of(at)


@pytest.mark.parametrize("section", ["beside", "noise"])
def test_no_cell_of_a_download_is_a_formula(monkeypatch: pytest.MonkeyPatch, section: str) -> None:
    files = catch_downloads(monkeypatch)
    formula = '=HYPERLINK("http://x","y")'
    at = opened(tab=section, text=formula)
    assert not at.exception
    tables = [csv.reader(io.StringIO(data.decode())) for name, data in files.items() if name.endswith(".csv")]
    cells = [cell for table in tables for row in table for cell in row]
    assert cells
    assert not [cell for cell in cells if cell.startswith(("=", "@"))]
    assert section != "beside" or f"'{formula}" in cells


def test_one_text_under_four_kinds_with_what_is_lost() -> None:
    at = opened()
    drawn = html_of(at)
    for kind in ("WordPiece", "Byte-level BPE", "Unigram", "Bytes"):
        assert f"<b>{kind}</b>" in drawn
    assert "1 capital lost; 1 accent lost" in drawn
    assert drawn.count("Comes back exactly.") == 2
    assert "30,522 pieces" in drawn


def test_the_choice_of_tokenisers_is_in_the_link() -> None:
    at = opened(shown="words,characters", text="The owl xyzzy.")
    assert not at.warning
    drawn = html_of(at)
    assert "<b>Whole words</b>" in drawn
    assert "1 unknown token (“xyzzy”)" in drawn
    assert "<b>WordPiece</b>" not in drawn
    assert at.query_params["shown"] in ("words,characters", ["words,characters"])


def test_joins_can_be_stepped_through() -> None:
    at = opened(tab="steps", word="woodcutters", step="1")
    assert at.slider[0].value == 1
    assert protos(at, "plotly_chart")
    at.slider[0].set_value(0).run()
    assert not at.exception
    assert at.query_params["step"] in ("0", ["0"])


def test_a_word_that_wordpiece_cannot_write_is_said_to_be_lost_whole() -> None:
    at = opened(tab="steps", method="wordpiece", word="cafжe")
    assert "whole word" in shown(at)
    assert "[UNK]" in html_of(at)


def test_of_several_words_one_is_followed() -> None:
    at = opened(tab="steps", method="wordpiece", word="an unaffable owl", part="3")
    assert not at.warning
    assert "an · un" not in shown(at)
    assert (
        "1 lookup" in " ".join(str(proto.alt) for proto in protos(at, "plotly_chart"))
        or "lookups in the vocabulary for" in " "
    )
    assert opened(tab="steps", method="wordpiece", word="an owl", part="9").exception == []


def test_cuts_are_drawn_by_chance_and_the_same_link_draws_the_same() -> None:
    one, other = (html_of(opened(tab="steps", method="unigram", alpha="0.3", seed="7")) for _ in range(2))
    assert "Sampled segmentations" in one
    assert one == other
    assert html_of(opened(tab="steps", method="unigram", alpha="0.3", seed="8")) != one


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_a_pasted_text_is_learnt(kind: str) -> None:
    at = opened(tab="train", kind=kind, corpus="the cat and the hat and the bat " * 5, test="the rat")
    assert not at.exception
    assert not at.warning
    assert "Vocabulary of" in shown(at)
    assert protos(at, "plotly_chart")


@pytest.mark.parametrize(
    ("query", "word", "there"),
    [
        ({"below": "pieces"}, "counts", "The ids decode to"),
        ({"below": "readers"}, "pieces", "are the words that stand undivided"),
        ({"tab": "train", "learning": "learnt"}, "how", "The initial vocabulary has"),
        ({"tab": "train", "learning": "how"}, "sizes", "learned"),
    ],
)
def test_the_view_below_is_in_the_link(query: dict[str, str], word: str, there: str) -> None:
    name = list(query)[-1]
    at = opened(**query)
    assert not at.exception
    assert there in shown(at)
    (views,) = [one for one in at.button_group if one.label == "What stands below"]
    at = views.set_value(word).run()
    assert not at.exception
    kept = at.query_params.get(name, "")
    assert (kept[0] if isinstance(kept, list) else kept) == ("" if word in ("counts", "sizes") else word)


def test_noise_again_draws_anew() -> None:
    at = opened(tab="noise", noise="drop", rate="40")
    before = html_of(at)
    next(one for one in at.button if one.label == "Sample again").click().run()
    assert not at.exception
    assert at.query_params["seed"] in ("1", ["1"])
    assert html_of(at) != before


def test_everything_dropped_leaves_a_page() -> None:
    at = opened(tab="noise", noise="drop", rate="100")
    assert not at.exception
    assert protos(at, "plotly_chart")


def test_mt5_leads_and_byt5_comes_last() -> None:
    at = opened(tab="share")
    assert "mT5 small spends 85.3 %" in shown(at).replace("\\", "")
    drawn = html_of(at)
    assert drawn.index(">mT5<") < drawn.index(">XLM-R<") < drawn.index(">ByT5<")


@pytest.mark.parametrize(
    ("section", "label"),
    [("beside", "Your text"), ("steps", "A word"), ("train", "Training text"), ("noise", "Your text")],
)
def test_whatever_is_typed_gets_answers_or_sentences_and_is_kept(section: str, label: str) -> None:
    at = opened(tab=section)
    for name, text in NASTY.items():  # one after the other, as a visitor would
        box(at, label).set_value(text).run()
        assert not at.exception, name
        assert box(at, label).value == text, name
        assert "<script>" not in html_of(at), name
        assert at.warning or "tk-run" in html_of(at), name
        if name in ("nothing", "very long"):
            assert len(at.warning) == 1, name


@pytest.mark.parametrize("method", ["wordpiece", "unigram"])  # the other is the first, and typed into above
def test_every_way_of_cutting_takes_strange_words(method: str) -> None:
    at = opened(tab="steps", method=method)
    for name, text in NASTY.items():
        box(at, "A word").set_value(text[:40]).run()
        assert not at.exception, name


def test_nonsense_in_the_test_box_of_training() -> None:
    at = opened(tab="train")
    for name in ("nothing", "a script"):
        box(at, "Test sentence").set_value(NASTY[name]).run()
        assert not at.exception


@pytest.mark.parametrize(
    "query",
    [
        {"tab": "nothing"},
        {"shown": "gpt-5"},
        {"shown": ""},
        {"tab": "steps", "by": "atlas-bert"},
        {"tab": "steps", "method": "x"},
        {"tab": "steps", "step": "-1"},
        {"tab": "steps", "step": "200"},
        {"tab": "steps", "method": "unigram", "alpha": "nan"},
        {"tab": "train", "size": "5000"},
        {"tab": "train", "kind": "unigram", "size": "1"},
        {"tab": "languages", "language": "klingon"},
        {"tab": "noise", "noise": "shout"},
        {"tab": "noise", "rate": "101"},
        {"look": "characters"},
        {"tab": "steps", "part": "7"},
        {"tab": "share", "every": "yes"},
        {"strange": "1"},
    ],
)
def test_nonsense_in_the_link_gets_a_sentence_or_the_nearest_view(query: dict[str, str]) -> None:
    at = opened(**query)
    assert not at.exception
    assert len(at.title) == 1
    for warning in at.warning:
        assert "usual choice" in str(warning.value) or "vocabulary” lies from" in str(warning.value)


def test_a_link_with_a_very_long_text_is_answered_with_a_sentence() -> None:
    at = opened(text="x" * 15_000)
    assert not at.exception
    assert "15,000 characters" in shown(at).replace("\\", "")
