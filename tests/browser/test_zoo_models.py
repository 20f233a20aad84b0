"""What each bundled model of the zoo was trained for, tried by a person: change something, see it change, go on."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.conftest import Visitor, pick


def test_electra_samples_again_and_the_link_keeps_the_sample(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=electra")
    expect(page.get_by_text("Right verdicts:", exact=False)).to_be_visible()
    page.get_by_role("button", name="Sample again").click()
    expect(page).to_have_url(re.compile("seed=1"))
    expect(page.get_by_text("Sample 2.", exact=False)).to_be_visible()
    chips = page.get_by_role("group", name="Tokens of the sentence; choose words for the generator to fill")
    chips.get_by_role("button", name="feast").click()
    expect(page.get_by_text("You chose the words.", exact=False)).to_be_visible()
    expect(page.get_by_text("Hidden tokens: 1.", exact=False)).to_be_visible()


def test_bart_finds_the_order_of_sentences_again(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder-decoder?{urlencode({'system': 'bart', 'damage': 'permute'})}")
    expect(page.get_by_text("Rebuilt word for word.")).to_be_visible()
    pick(page.get_by_role("combobox", name="Damage"), re.compile("Delete tokens"))
    expect(page).to_have_url(re.compile("damage=delete"))
    expect(page.get_by_text("of the original's 12 words", exact=False)).to_be_visible()
    page.get_by_role("button", name="Damage it another way").click()
    expect(page).to_have_url(re.compile("seed="))
    visitor.settle()
    expect(page.get_by_role("textbox", name="Text in")).to_have_value(re.compile("^The king had three sons"))


def test_ctrl_goes_on_differently_under_each_code(visitor: Visitor) -> None:
    page = visitor.open(f"/decoder?{urlencode({'system': 'ctrl', 'text': 'The king', 'length': 12})}")
    for code in ("Story", "Encyclopedia", "Dialogue", "Reviews", "French", "German"):
        expect(page.get_by_text(code, exact=True).first).to_be_visible()
    box = page.get_by_role("textbox", name="Which code has this text?")
    box.fill("Je ne sais pas où il est allé hier soir.")
    box.press("Control+Enter")
    expect(page.get_by_text("French explains these", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile("passage="))


def test_m2m_100_goes_by_way_of_english(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder-decoder?{urlencode({'system': 'm2m-100', 'task': 'fr-de'})}")
    expect(page.get_by_text("At once, and by way of English")).to_be_visible()
    box = page.get_by_role("textbox", name="Text in")
    box.fill("Tu viens avec nous ?")
    box.press("Control+Enter")
    expect(page.get_by_text("Are you coming with us?", exact=False).first).to_be_visible()
    expect(page.get_by_text("The two answers differ.")).to_be_visible()
    pick(page.get_by_role("combobox", name="Task"), re.compile("Translate English to German"))
    expect(page).to_have_url(re.compile("task=en-de|system=m2m-100"))
    expect(page.get_by_text("At once, and by way of English")).to_have_count(0)
    visitor.settle()


def test_xlm_finds_a_word_in_the_other_language(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=xlm")
    beside = page.get_by_role("figure", name=re.compile("^Guesses: with the other sentence beside it"))
    expect(beside.first).to_contain_text("cat")
    box = page.get_by_role("textbox", name="French, saying the same")
    box.fill("Le chien dort sur la chaise.")
    box.press("Enter")
    expect(beside.first).to_contain_text("dog")
    visitor.settle()


def test_byt5_sets_spelling_right(visitor: Visitor) -> None:
    page = visitor.open("/encoder-decoder?system=byt5")
    box = page.get_by_role("textbox", name="Text in")
    box.fill("teh cat sat on hte mat.")
    box.press("Control+Enter")
    expect(page.get_by_text("The cat sat on the mat.", exact=False).first).to_be_visible()
    visitor.settle()


def test_the_block_of_llama_turns_queries_and_keys(visitor: Visitor) -> None:
    page = visitor.open(f"/attention?{urlencode({'tab': 'block', 'model': 'atlas-llama'})}")
    expect(page.get_by_text("queries, turned", exact=False).first).to_be_visible()
    expect(page.get_by_text("keys, turned", exact=False).first).to_be_visible()
