"""The timeline: it opens filled, every control and link does what it says, and nonsense gets a sentence."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from html import escape
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.figures.lineage import family
from core.ui.catalogue.timeline import family_table, growth, steps
from core.ui.glossary import Linker
from core.ui.tables import inline
from tests.pages import html_of, opened, protos, shown

FAMILY = family()


def page(**query: str) -> AppTest:
    return opened("catalogue", **query)


def picture(at: AppTest) -> dict[str, Any]:
    """What the component was given."""
    (proto,) = [proto for proto in protos(at, "bidi_component") if proto.component_name.endswith("atlas_timeline")]
    return dict(json.loads(proto.json))


def names(at: AppTest) -> set[str]:
    return {node["name"] for node in picture(at)["nodes"]}


@pytest.mark.usefixtures("open_tables")
def test_it_opens_filled() -> None:
    at = page()
    assert at.title[0].value == "Catalogue"
    assert not at.warning
    data = picture(at)
    assert {node["slug"] for node in data["nodes"]} == {entry.slug for entry in FAMILY}
    assert (data["until"], data["chosen"]) == (FAMILY[-1].at, None)
    assert "**Notice** These are the largest counted systems of each year" in shown(at)
    assert at.dataframe[0].value["name"].tolist() == [entry.name for entry in FAMILY]
    assert not at.subheader


def test_a_link_carries_the_whole_view() -> None:
    at = page(axis="size", branches="decoder", line="gpt-2", year="2019", month="6")
    data = picture(at)
    assert data["sign"].startswith("size")
    assert (data["until"], data["chosen"]) == (2019 * 12 + 5, "gpt-2")
    assert {"GPT", "GPT-2", "GPT-3", "Transformer"} <= names(at)
    assert not {"BERT", "T5"} & names(at)
    assert "later systems counted here is larger" not in shown(at)
    assert at.subheader[0].value == "Line of descent of GPT\\-2"
    assert "GPT → GPT-2" in html_of(at)
    assert at.query_params["axis"] == "size"
    assert "RoBERTa" not in re.sub(r"<a [^>]*>", "", html_of(at))  # tooltips of terms may name it


def test_a_line_is_shown_whole_whatever_its_branches() -> None:
    shown_names = names(page(branches="encoder-decoder", line="roberta"))
    assert {"Transformer", "BERT", "RoBERTa", "Longformer", "T5"} <= shown_names
    assert "GPT-2" not in shown_names
    shown_names = names(page(branches="efficient"))  # a system counts wherever it is listed
    assert {"Longformer", "ALBERT", "Transformer-XL"} <= shown_names
    assert not {"BERT", "GPT-2"} & shown_names


def test_the_steps_of_a_line_are_its_changes_in_order() -> None:
    line = tuple(entry for entry in FAMILY if entry.slug in ("transformer", "bert", "roberta"))
    rows = steps(line, Linker("line"))
    said = [getattr(row[0][0], "text", row[0][0]) for row in rows]
    assert said == ["Transformer → BERT", "BERT → RoBERTa"]
    assert rows[1][1] == "July 2019"
    change = next(entry.change for entry in FAMILY if entry.slug == "roberta")
    assert re.sub(r"<[^>]*>", "", inline(rows[1][2])) == escape(change)


@pytest.mark.parametrize(("year", "until"), [("1950", FAMILY[0].at), ("2099", FAMILY[-1].at)])
def test_a_year_beyond_both_ends_shows_the_end_and_says_so(year: str, until: int) -> None:
    at = page(year=year)
    assert picture(at)["until"] == until
    assert f"begins in {FAMILY[0].date}" in shown(at)


def test_no_branch_at_all_is_said() -> None:
    at = page(branches="")
    assert "No branch is chosen" in shown(at)
    assert not any(proto.component_name.endswith("atlas_timeline") for proto in protos(at, "bidi_component"))


def test_the_menu_lights_a_line_and_puts_it_out() -> None:
    at = page()
    menu = at.selectbox[0]
    menu.set_value("bert").run()
    assert picture(at)["chosen"] == "bert"
    assert at.query_params["line"] == "bert"
    at.selectbox[0].set_value("").run()
    assert picture(at)["chosen"] is None
    assert "line" not in at.query_params


def test_growth_is_told_in_numbers_that_can_be_checked() -> None:
    sizes = {"gpt": 100_000_000, "gpt-2": 1_000_000_000, "bert": 300_000_000, "xlnet": 200_000_000}
    some = tuple(
        replace(entry, sizes=(("only", sizes[entry.slug]),)) for entry in FAMILY if entry.slug in sizes
    )  # June 2018, October 2018, February 2019, June 2019
    assert growth(some) == (
        "These are the largest counted systems of each year, by the year of the first paper: "
        "300 M parameters in 2018 (BERT), 1.00 B in 2019 (GPT-2). "
        "The largest growth factor is 3.3, from 2018 to 2019. The one later system counted here is not larger. "
        "Most are small: half of the 4 systems with a known size have no size above 200 M."
    )
    assert "Most stayed" not in growth(some[:3])
    assert growth(some[:1]).startswith("Nothing to compare yet")


def test_the_file_has_every_row_with_sizes_in_full() -> None:
    rows = list(csv.DictReader(io.StringIO(family_table(FAMILY).csv())))
    assert len(rows) == len(FAMILY)
    bert = next(row for row in rows if row["slug"] == "bert")
    assert bert["smallest size (parameters)"] == "109482240"
    assert (bert["year"], bert["month"], bert["parent"]) == ("2018", "10", "transformer")
