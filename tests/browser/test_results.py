"""A journey through the results: a question, another paper, Back, the table and its file, and a system's page."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Visitor, pick


def test_from_a_question_to_another_paper_and_back(visitor: Visitor) -> None:
    page = visitor.open("/results")
    expect(page.get_by_role("figure", name=re.compile("WikiText-103.*GPT-2 1542M"))).to_be_visible()
    pick(page.get_by_role("combobox", name="Question"), re.compile(r"What did the objective buy\?"))
    expect(page).to_have_url(re.compile("question=objective"))
    expect(
        page.get_by_role("figure", name=re.compile(r"left to right, without next sentence 77.8 \(−10.7\)"))
    ).to_be_visible()
    pick(page.get_by_role("combobox", name="Paper"), re.compile("BART: five corruptions"))
    expect(page.get_by_role("figure", name=re.compile("document rotation 17.14"))).to_be_visible()
    expect(page.get_by_role("table", name="XSum: perplexity")).to_contain_text("document rotation")
    visitor.settle()
    page.wait_for_timeout(600)  # a person's pace: what comes sooner after a change is taken for a click under way
    page.go_back()
    expect(page.get_by_role("figure", name=re.compile("SQuAD 1.1, dev: F1"))).to_be_visible()


def test_from_a_systems_page_to_its_figures_and_a_file(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=albert&tab=facts")
    link = page.get_by_role("link", name=re.compile(r"All \d+ figures of ALBERT"))
    link.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/results\?.*system=albert"))
    table = page.get_by_role("table", name="Figures as papers print them")
    expect(table.get_by_role("rowheader").first).to_contain_text("ALBERT")
    pick(page.get_by_role("combobox", name="Split"), "training")
    expect(page).to_have_url(re.compile("split=training"))
    expect(table.get_by_role("rowheader")).to_have_count(8)
    visitor.settle()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download CSV").click()
    lines = waiting.value.path().read_text(encoding="utf-8").splitlines()
    assert len(lines) == 9
    assert lines[0].startswith("system,variant,size,")


def test_two_versions_at_400_pixels_by_a_link(telephone: Visitor) -> None:
    page = telephone.open("/results?question=versions&measure=cola.not-stated.matthews-correlation")
    expect(page.get_by_role("figure", name=re.compile(r"DistilBERT, base 42.5 → 51.3 \(\+8.8\)"))).to_be_visible()
    expect(page.get_by_text("in more than one version", exact=False)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
