"""The big table: fourteen columns for every system, filtered, sorted, downloaded; and the words that differ."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from core import anatomy, catalogue
from core.anatomy.sheet import (
    COLUMNS,
    MISSING,
    Cell,
    Filter,
    SheetRow,
    chosen,
    cited,
    marked,
    ordered,
    sheet,
    sheet_table,
)
from core.ui.catalogue.table import pins_table, sheet_html
from core.ui.glossary import Linker
from core.ui.tables import html as table_html

ALL = [column.slug for column in COLUMNS]


def row(slug: str) -> SheetRow:
    return next(row for row in sheet() if row.system.slug == slug)


def slugs(rows: list[SheetRow]) -> list[str]:
    return [row.system.slug for row in rows]


def test_every_system_has_every_column_with_a_source_or_a_word_on_its_lack() -> None:
    assert len(sheet()) == len(catalogue.systems())
    for sheet_row in sheet():
        assert list(sheet_row.cells) == ALL
        for slug, cell in sheet_row.cells.items():
            if not cell.lines:
                assert cell.text == MISSING
            elif slug != "name":
                assert cell.citations, (sheet_row.system.slug, slug)


def test_bert_as_published_and_as_counted() -> None:
    cell = row("bert").cells["parameters"]
    assert cell.lines == (
        "base: published 110M, counted 109,482,240",
        "large: published 340M, counted 335,141,888",
    )
    assert cell.evidence == "paper, computed here"
    assert row("bert").parameters == anatomy.counts("bert")["base"] == 109_482_240
    assert row("bert").words == 30_522
    assert row("t5").words == 32_128


def test_what_no_text_tells_is_missing_and_not_a_statement() -> None:
    bare = catalogue.get("ernie-2.0")
    assert "not found by us" in bare.budget.text.lower()  # the record says so in its own words
    assert row("ernie-2.0").cells["training"] == Cell(())


def test_a_size_that_is_withheld_is_not_one_that_nobody_looked_for() -> None:
    cell = row("gpt-4").cells["parameters"]
    assert cell.text.startswith("No architecture of GPT-4 was published")
    assert "“including model size”" in cell.text
    assert [citation.key for citation in cell.citations] == ["gpt-4-report"]


def test_filters() -> None:
    rows = sheet()
    assert slugs(chosen(rows, Filter(within={"name": "gpt-2"}))) == ["gpt-2"]  # others speak of it in other cells
    assert slugs(chosen(rows, Filter())) == slugs(list(rows))
    result = slugs(chosen(rows, Filter(within={"tokeniser": "wordpiece"})))
    assert "bert" in result
    assert "gpt-2" not in result
    assert slugs(chosen(rows, Filter(within={"tokeniser": "WORDPIECE"}))) == result
    first, other = (set(slugs(chosen(rows, Filter(anywhere=word)))) for word in ("rotary", "2,048"))
    assert set(slugs(chosen(rows, Filter(anywhere="rotary 2,048")))) == first & other
    decoders = slugs(chosen(rows, Filter(branch="decoder")))
    assert set(decoders) == {system.slug for system in catalogue.by_branch("decoder")}
    years = {first.system.year for first in chosen(rows, Filter(first=2019, last=2020))}
    assert years == {2019, 2020}
    live = {first.system.slug for first in chosen(rows, Filter(live=True))}
    assert live == {system.slug for system in catalogue.systems() if system.live.exact}
    assert chosen(rows, Filter(anywhere="xyzzy")) == []


def test_orders() -> None:
    rows = sheet()
    counts = [entry.parameters for entry in ordered(rows, "parameters", reverse=True) if entry.parameters]
    assert counts == sorted(counts, reverse=True)
    for column, count in (("vocabulary", lambda entry: entry.words), ("parameters", lambda entry: entry.parameters)):
        up, down = ([count(entry) for entry in ordered(rows, column, reverse=way)] for way in (False, True))
        unknown = up.count(0)
        assert unknown
        assert up[-unknown:] == down[-unknown:] == [0] * unknown  # unknown is not small
        assert up[:-unknown] == down[:-unknown][::-1] == sorted(up[:-unknown])
    names = [entry.system.name.casefold() for entry in ordered(rows, "name")]
    assert names == sorted(names)
    ages = [(entry.system.year, entry.system.month) for entry in ordered(rows, "")]
    assert ages == sorted(ages)
    for reverse in (False, True):  # what is not known stands last either way
        filled = [bool(entry.cells["batch"].lines) for entry in ordered(rows, "batch", reverse=reverse)]
        assert filled == sorted(filled, reverse=True)


def test_csv_reads_back_with_a_source_beside_every_property() -> None:
    lines = list(csv.reader(io.StringIO(sheet_table(sheet(), ["name", "objective", "batch"]).csv())))
    assert lines[0] == ["Name", "Name: read in", "Objective", "Objective: read in", "Batch", "Batch: read in"]
    assert len(lines) == 1 + len(sheet())
    bert = next(line for line in lines if line[0].startswith("BERT;"))
    assert bert[2] == catalogue.get("bert").objective.text
    assert bert[3] == cited(catalogue.get("bert").citation("bert-paper"))
    assert "Paper: " in bert[3]


def test_html_escapes_everything() -> None:
    nasty = Cell(("</td><script>alert(1)</script> \"'&",))
    odd = replace(row("bert"), cells={**row("bert").cells, "objective": nasty, "data": nasty})
    pins = pins_table([odd, row("gpt-2")], ALL, Linker("pins"))
    for html in (sheet_html([odd], ALL, Linker("table")), table_html(pins)):
        assert "<script>" not in html
        assert "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("text", "others", "new"),
    [
        ("ReLU.", ["GELU."], ["ReLU."]),
        ("GELU.", ["GELU."], []),
        ("Post-norm, epsilon 1e-12.", ["post-norm; epsilon 1e-5"], ["1e-12."]),
        ("one two three four", ["one four"], ["two three"]),
        ("one two", ["two", "one"], []),
        ("one two", [], []),
        ("15% of words", ["15 of words"], ["15%"]),
    ],
)
def test_marked_words(text: str, others: list[str], new: list[str]) -> None:
    runs = marked(text, others)
    assert "".join(run for run, _ in runs) == text
    assert [run.strip() for run, is_new in runs if is_new] == new


def test_pins_mark_what_differs_and_say_so() -> None:
    linker = Linker("pins")
    html = table_html(pins_table([row("bert"), row("roberta")], ["activation", "vocabulary", "unknown"], linker))
    assert "<mark>" in html
    assert "differs" in html
    same = table_html(pins_table([row("bert"), row("bert")], ["activation"], linker))
    assert "the same" in same
    assert "<mark>" not in same


@pytest.mark.parametrize(("column", "marks"), [("tokeniser", False), ("vocabulary", True)])
def test_a_text_that_differs_in_nearly_every_word_has_no_marks(column: str, marks: bool) -> None:
    html = table_html(pins_table([row("bert"), row("roberta")], [column], Linker("pins")))
    assert "differs" in html
    assert ("<mark>" in html) is marks
