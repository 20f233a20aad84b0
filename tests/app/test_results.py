"""The page of results: every question and case, its link, the table with its filters, and nonsense in the link."""

from __future__ import annotations

import csv
import io
import re

import pytest

from core.catalogue.questions import choices, questions
from core.catalogue.results import COLUMNS, of_system, results
from core.ui.catalogue.questions import figures_table
from core.ui.facts import main_results
from tests.pages import described, html_of, link, opened, protos, shown, widget

CASES = list({case.kind: (question.slug, case.slug) for question in questions() for case in question.cases}.values())
"""One of each kind of picture."""


def test_the_page_opens_with_a_picture_a_table_and_no_query() -> None:
    at = opened("catalogue", tab="questions")
    assert not at.warning
    (chart,) = protos(at, "plotly_chart")
    assert "GPT-2 1542M, 1.56 B parameters, 17.48" in chart.alt
    assert "17.48" in html_of(at)
    assert "**Try**" in shown(at)
    assert "**Notice**" in shown(at)
    assert link(at) == {"tab": "questions"}


@pytest.mark.parametrize(("question", "case"), CASES, ids=["-".join(pair) for pair in CASES])
def test_every_kind_of_case_draws(question: str, case: str) -> None:
    at = opened("catalogue", tab="questions", question=question, case=case)
    assert not at.warning
    assert len(protos(at, "plotly_chart")) == 1
    assert html_of(at).count('scope="row"') >= 2
    wanted = {"question": question, "case": case}
    first = questions()[0]
    kept = {
        name: value
        for name, value in wanted.items()
        if not (name == "question" and value == first.slug)
        and not (name == "case" and value == next(q for q in questions() if q.slug == question).cases[0].slug)
    }
    assert {**kept, **link(at)} == {**link(at), **kept}


def test_choosing_writes_the_link_and_another_question_forgets_case_and_measure() -> None:
    at = opened("catalogue", tab="questions")
    widget(at.selectbox, "Paper").set_value("bytes").run()
    widget(at.selectbox, "Measured on").set_value("drop.not-stated.f1").run()
    assert link(at) == {"tab": "questions", "case": "bytes", "measure": "drop.not-stated.f1"}
    widget(at.selectbox, "Question").set_value("objective").run()
    assert not at.warning
    assert link(at) == {"tab": "questions", "question": "objective"}
    widget(at.selectbox, "Paper").set_value("bart").run()
    assert link(at) == {"tab": "questions", "question": "objective", "case": "bart"}
    assert "lower is better" in html_of(at)


def test_what_crosses_papers_or_versions_says_so_under_the_picture() -> None:
    said = shown(opened("catalogue", tab="questions", question="leaders"))
    assert re.search(r"These figures come from \d papers", said)
    assert "ensembles" in said
    said = shown(opened("catalogue", tab="questions", question="versions"))
    assert "in more than one version: earlier version, later version" in said
    assert "does not name the split" in said
    assert "papers, which trained" not in shown(opened("catalogue", tab="questions", question="objective"))


def test_disagreeing_figures_lead_to_sources() -> None:
    at = opened("catalogue", tab="questions", question="versions", case="distilbert-readme")
    assert 'href="/glossary?tab=corrections"' in html_of(at)
    assert "only 84.7 gives the printed mean" in html_of(at)
    assert 'href="/glossary?tab=corrections"' not in html_of(opened("catalogue", tab="questions", question="recipe"))


@pytest.mark.usefixtures("open_files")
def test_one_file_has_every_figure_with_its_source() -> None:
    at = opened("catalogue", tab="questions")
    assert any(f"all {len(results()):,} figures" in button.label for button in protos(at, "download_button"))
    head, *lines = csv.reader(io.StringIO(figures_table(results()).csv()))
    assert tuple(head) == (*COLUMNS, "source title", "source address")
    assert len(lines) == len(results()) > 1000
    row = dict(zip(head, lines[0], strict=True))
    assert row["source title"]
    assert row["value"] == results()[0].printed


def test_a_systems_page_lists_five_of_its_figures_and_leads_to_all() -> None:
    at = opened("encoder", system="bert", facts="open")
    page = html_of(at)
    assert 'href="/catalogue?tab=questions"' in page
    assert f"All {len(of_system('bert'))} figures of BERT" in page
    picked = main_results("bert", of_system("bert"))
    assert len(picked) == 5
    assert len({row.measure for row in picked}) == 5
    assert all(row.paper == "bert" for row in picked)
    for row in picked:
        assert f">{row.printed}<" in page


def test_every_question_offers_only_measures_that_a_link_may_carry() -> None:
    longest = max(len(m.slug) for q in questions() for c in q.cases for m in choices(c))
    assert longest < 120


@pytest.mark.parametrize(
    "wrong",
    [
        {"question": "scale", "case": "bart"},
        {"question": "objective", "measure": "glue.test.average-of-the-leaderboard"},
    ],
)
def test_a_case_or_a_measure_of_another_choice_gets_a_sentence(wrong: dict[str, str]) -> None:
    at = opened("catalogue", tab="questions", **wrong)
    assert len(at.warning) == 1


def test_pass_at_k_on_own_results() -> None:
    at = opened("results", tab="pass-at-k", passed="1 0", n="2", k="1")  # where it was
    assert "pass@1 = 25.0%" in shown(at)
    at.text_input[0].set_value("3").run()
    assert "is no number of passed samples" in shown(at)


def test_continuations_are_ranked_by_sum_and_by_mean() -> None:
    at = opened("generation", tab="ranking", candidates="ran.\nran home, and she was happy.")  # where it was
    assert link(at) == {"system": "codex", "demo": "ranking", "candidates": "ran.\nran home, and she was happy."}
    at = opened("decoder", system="codex", demo="ranking")
    assert "Line 1 has the highest sum (4 tokens), line 5 the highest mean (24 tokens)" in shown(at)
    assert "4. ate the moon" in described(at)
    widget(at.text_area, "Continuations, one on each line").set_value("one").run()
    assert "at least two continuations" in shown(at)
