"""The page that compares: the big table, pins, two trees, and everything that one can type or link."""

from __future__ import annotations

import re

import pytest
from streamlit.testing.v1 import AppTest

from core import catalogue
from core.anatomy.sheet import COLUMNS
from tests.pages import described, html_of, opened, protos, shown, widget


def rows(at: AppTest) -> int:
    return html_of(at).count('aria-label="Sources of ')


def test_every_system_is_in_the_table_with_fourteen_columns() -> None:
    at = opened("catalogue", tab="table")
    assert not at.warning
    assert rows(at) == len(catalogue.systems())
    assert html_of(at).count('<th scope="col">') == 14 == len(COLUMNS)


def test_words_branch_and_column_filter_and_stand_in_the_link() -> None:
    at = opened("catalogue", tab="table")
    widget(at.text_input, "Search").set_value("rotary").run()
    few = rows(at)
    assert 0 < few < len(catalogue.systems())
    assert at.query_params["any"] in ("rotary", ["rotary"])
    widget(at.text_input, "Search").set_value("").run()
    widget(at.text_input, "Tokenization").set_value("wordpiece").run()
    assert "Sources of BERT" in html_of(at)
    assert "Sources of GPT-2" not in html_of(at)
    widget(at.selectbox, "Branch").set_value("decoder").run()
    assert "Sources of BERT" not in html_of(at)
    assert at.query_params["branch"] in ("decoder", ["decoder"])
    assert at.query_params["in-tokeniser"] in ("wordpiece", ["wordpiece"])


def test_a_link_restores_filters_columns_order_and_pins() -> None:
    at = opened(
        "catalogue",
        tab="table",
        columns="activation,data",
        sort="parameters",
        order="down",
        pins="bert,gpt-2",
        **{"from": "2019"},
    )
    assert not at.warning
    html = html_of(at)
    sheet = html[html.index("atlas-sheet") :]
    assert sheet.count('<th scope="col">') == 3
    assert "BERT and GPT-2" in shown(at)
    assert "BERT and GPT-2, property by property" in html
    assert 'Sources of BERT"' not in html  # it is of 2018, and stays pinned all the same
    order = [system.slug for system in catalogue.systems() if system.year >= 2019]
    assert rows(at) == len(order)
    assert sheet.index('Sources of GPT-3"') < sheet.index('Sources of GPT-2"')


def test_a_term_is_linked_where_it_stands_first_in_the_pinned_systems_or_in_the_table() -> None:
    at = opened("catalogue", tab="table", pins="bert,gpt-2")
    pinned = next(proto.body for proto in protos(at, "html") if 'class="atlas-table"' in proto.body)
    linked = re.findall(r'href="/glossary\?term=([\w-]+)"', pinned)
    assert linked
    everywhere = re.findall(r"/glossary\?term=([\w-]+)", html_of(at))
    assert all(everywhere.count(term) == 1 for term in linked)


def test_two_pins_lead_to_their_trees() -> None:
    at = opened("catalogue", tab="table", pins="gpt-2,llama", any="rotary")
    button = next(button for button in at.button if "Module trees" in button.label)
    button.click().run()
    assert "GPT-2 small" in html_of(at)
    assert at.query_params["tab"] in ("trees", ["trees"])
    assert at.query_params["pins"] in ("gpt-2,llama", ["gpt-2,llama"])  # the table is as it was left


def test_nothing_found_is_a_sentence() -> None:
    at = opened("catalogue", tab="table", any="xyzzy")
    assert "None of the" in at.info[0].value
    assert rows(at) == 0


def test_two_trees_open_with_an_example_and_no_torch_is_needed() -> None:
    at = opened("catalogue", tab="trees")
    assert not at.warning
    assert "BERT base" in html_of(at)
    assert "ALBERT base" in html_of(at)
    assert "atlas-two" in html_of(at)
    assert len(protos(at, "plotly_chart")) == 2
    assert "Treemap of BERT base by parameters. The largest component is feed-forward, 52%" in described(at)
    assert "Treemap of ALBERT base by parameters." in described(at)


def test_another_system_starts_with_its_usual_size() -> None:
    at = opened("catalogue", tab="trees", left="bert", **{"left-size": "large"})
    assert "BERT large" in html_of(at)
    widget(at.selectbox, "From").set_value("gpt-2").run()
    assert "GPT-2 small" in html_of(at)
    assert "left-size" not in at.query_params
    widget(at.selectbox, "To").set_value("gpt-2").run()
    assert "<details open" not in html_of(at)  # nothing differs


def test_only_differences_leaves_out_what_is_the_same() -> None:
    at = opened("catalogue", tab="trees", left="bert", right="roberta", rows="differences")
    html = html_of(at)
    assert html.count("<details") == 1
    assert "token embeddings" in html
    assert "queries" not in html
    at = opened("catalogue", tab="trees", left="bert", right="bert", rows="differences")
    assert "No component differs" in at.info[0].value


def test_a_tree_leads_to_its_parents() -> None:
    at = opened("encoder", system="roberta", tab="tree")
    links = [proto for proto in protos(at, "page_link") if proto.page == "catalogue"]
    assert len(links) == 1
    assert "left=bert&right=roberta" in links[0].query_string


def test_a_search_too_long_is_refused_and_years_in_the_wrong_order_are_swapped() -> None:
    at = opened("catalogue", tab="table", any="x" * 900)
    assert "80 fit here" in at.warning[0].value
    at = opened("catalogue", tab="table", **{"from": "2100", "to": "1900"})
    assert rows(at) == len(catalogue.systems())


@pytest.mark.usefixtures("open_tables")
def test_all_systems_and_where_published_figures_part_ways() -> None:
    at = opened("calculators", tab="systems")  # where it was
    assert at.header[0].value == "Sizes and costs"
    _, costs, deviations = (table.value for table in at.dataframe)
    assert set(costs["system"]) == {system.name for system in catalogue.systems() if system.sizes}
    (m2m,) = deviations[deviations["size"] == "418M"].to_dict("records")
    assert "418.3 million" in m2m["why"]
    assert m2m["share"] == pytest.approx(0.158, abs=5e-4)
    at = opened("catalogue", tab="sizes", every="yes")
    assert len(at.dataframe[1].value) == sum(len(system.sizes) for system in catalogue.systems())


def test_sizes_are_bars_of_the_systems_that_a_link_names() -> None:
    at = opened("encoder", system="bert", tab="tree", drawing="sizes")  # where they were
    assert not at.warning
    assert "Parameters by role of 2 networks. The largest is BERT large with 335.1 million" in described(at)
    at = opened("catalogue", tab="sizes", systems="gpt-4")
    assert "GPT-4" not in widget(at.multiselect, "Systems").options
    assert at.warning
