"""The glossary: terms that are complete, found by every name, tried at places that exist, and linked once a page."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest
import streamlit as st

from core import catalogue, checkpoints, links
from core.catalogue import glossary
from core.catalogue.load import BadData
from core.catalogue.schema import BRANCHES
from core.ui import glossary as ui
from core.ui.glossary import Linker, plain_terms, rich_terms, terms
from core.ui.section import pages
from core.ui.tables import Link, TextTable, html, inline

pages()  # each says what its links can carry

ROOT = Path(__file__).resolve().parents[2]
TERMS = glossary.terms()


@pytest.fixture(autouse=True)
def _page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page has just begun."""
    monkeypatch.setattr(st, "session_state", {})


def test_a_term_is_told_in_one_to_three_sentences() -> None:
    for term in TERMS:
        assert term.text.endswith(".")
        assert 1 <= len([part for part in term.text.replace("e.g.", "").split(". ") if part]) <= 4
        assert len(term.text) <= 420
        assert term.slug not in term.see


def test_there_are_enough_terms_and_no_name_means_two() -> None:
    assert len(TERMS) >= 120
    names = [name.lower() for term in TERMS for name in term.names]
    assert len(names) == len(set(names))


def test_a_place_to_try_is_one_that_its_page_understands() -> None:
    for term in TERMS:
        if term.try_link is not None:
            assert links.read_query(term.try_link.page, dict(term.try_link.query), choices(term.try_link.page))[1] == ()


def choices(page: str) -> dict[str, set[str]]:
    if page in BRANCHES:
        systems = catalogue.by_branch(page)
        return {
            "system": {system.slug for system in systems},
            "model": {spec.slug for spec in checkpoints.for_branch(page)},  # type: ignore[arg-type]
        }
    return {}


def test_the_first_mention_is_a_link_and_the_second_is_not() -> None:
    shown = terms("A softmax and another softmax.")
    assert shown.count("/glossary?term=softmax") == 1
    assert shown.endswith("and another softmax.")
    assert "/glossary" not in terms("And softmax once more.")


def test_a_text_drawn_again_keeps_its_links() -> None:
    assert terms("What softmax does.") == terms("What softmax does.")


def test_a_line_of_results_keeps_its_links_when_its_numbers_change() -> None:
    first = terms("After 3 steps the perplexity is 1,024.5.")
    assert "/glossary?term=perplexity" in first
    assert "/glossary?term=perplexity" in terms("After 12 steps the perplexity is 7.")
    assert "/glossary" not in terms("After 12 steps another perplexity is 7.")


def test_plurals_capitals_and_abbreviations() -> None:
    assert "[Logits](/glossary?term=logit " in terms("Logits are numbers.")
    assert "[SOP](" in terms("SOP is a task.")
    assert "[" not in terms("A sop to the reader, and a fine rope.")
    assert "byte-level BPE](/glossary?term=byte-level" in terms("GPT-2 reads byte-level BPE.").replace("\\", "")


def test_longer_names_win() -> None:
    assert "term=permutation-language-modelling" in terms("Here permutation language modelling is used.")
    assert "term=grouped-query-attention" in terms("With grouped-query attention.")


@pytest.mark.parametrize(
    "text",
    [
        "Call `softmax` here",
        "$softmax(x)$ is one",
        "$$softmax$$",
        "See [softmax](https://example.org)",
        "# softmax",
        "https://example.org/softmax",
        "A picture ![softmax](x.png)",
        "a my_softmax b softmaxed c pre-softmax-x",
    ],
)
def test_code_formulas_links_and_headings_stay_as_they_are(text: str) -> None:
    assert terms(text) == text


def test_plain_texts_are_escaped_around_their_links() -> None:
    shown = plain_terms("Why *softmax* <b> [x](y)")
    assert "/glossary?term=softmax" in shown
    assert "\\*" in shown
    assert "\\<b\\>" in shown
    assert "\\[x\\]\\(y\\)" in shown


def test_a_table_goes_on_from_what_the_page_has_linked_and_keeps_its_links_when_drawn_again() -> None:
    terms("A softmax.")
    for _ in range(2):
        linker = Linker("a table")
        cells = [linker.rich(text) for text in ("A softmax and <b>", "the perplexity", "the perplexity", "")]
        linked = [[part.text for part in cell.parts if isinstance(part, Link)] for cell in cells]
        assert linked == [[], ["perplexity"], [], []]
        assert "".join(map(inline, cells)).startswith("A softmax and &lt;b&gt;the <a href=")
        assert cells[3].parts == ()
    assert "<a " not in inline(Linker("another table").rich("softmax and perplexity"))
    assert "/glossary" not in terms("The perplexity.")


def test_cells_of_tables_hold_links_and_nothing_unescaped() -> None:
    rich = rich_terms("<b>A</b> softmax & more")
    assert [part.text for part in rich.parts if isinstance(part, Link)] == ["softmax"]
    drawn = html(TextTable(("a", "b"), [("x", rich)], caption="t", widths=(50, 50)))
    assert "<b>" not in drawn
    assert escape("<b>A</b> ") in drawn
    assert 'href="/glossary?term=softmax" title="Softmax:' in drawn


def test_every_name_that_may_be_linked_leads_to_its_term() -> None:
    for term in TERMS:
        for name in term.names if term.linked else ():
            st.session_state.clear()
            result = [where for piece, where in Linker(name).pieces(f"Here {name} stands.") if where is not None]
            assert result == [term], name


def test_common_words_are_not_linked() -> None:
    assert terms("The token, the key and the value of an encoder.") == "The token, the key and the value of an encoder."


def test_tooltips_end_nothing() -> None:
    for term in TERMS:
        title = ui.tooltip(term)
        assert '"' not in title
        assert "\n" not in title


def test_an_unknown_field_or_neighbor_is_refused(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(glossary, "DATA", tmp_path)
    file = tmp_path / "glossary.toml"
    for bad in ('see = ["nowhere"]', 'tpyo = "x"'):
        file.write_text(f'[[terms]]\nslug = "a"\nname = "A"\ntext = "A."\n{bad}\n')
        with pytest.raises(BadData):
            glossary.terms.__wrapped__()
    file.write_text('[[terms]]\nslug = "a"\nname = "A"\n')
    with pytest.raises(BadData, match="text: is missing"):
        glossary.terms.__wrapped__()
