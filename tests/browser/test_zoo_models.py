"""What each bundled model of the zoo was trained for, tried by a person: change something, see it change, go on."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from playwright.sync_api import expect

from tests.browser.conftest import Visitor


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


def test_bert2bert_makes_one_sentence_of_two(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder-decoder?{urlencode({'system': 'bert2bert', 'length': 30})}")
    expect(page.get_by_text("What each written token looked at")).to_be_visible()
    box = page.get_by_role("textbox", name="Text in")
    box.fill("It was late. The children did not want to go to bed.")
    box.press("Control+Enter")
    expect(page).to_have_url(re.compile("It(\\+|%20)was(\\+|%20)late"))
    expect(page.get_by_text("The model chose its end token.", exact=False)).to_be_visible()


def test_distilbert_stands_beside_its_teacher(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=distilbert&demo=beside")
    expect(page.get_by_text("Atlas BERT", exact=False).first).to_be_visible()
    expect(page.get_by_role("figure", name=re.compile("Atlas DistilBERT")).first).to_be_visible()
    expect(page.get_by_role("figure", name=re.compile("Atlas BERT")).first).to_be_visible()


def test_bart_finds_the_order_of_sentences_again(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder-decoder?{urlencode({'system': 'bart', 'damage': 'permute'})}")
    expect(page.get_by_text("Rebuilt word for word.")).to_be_visible()
    page.get_by_role("combobox", name="Damage").click()
    page.get_by_role("option", name="Delete tokens").click()
    expect(page).to_have_url(re.compile("damage=delete"))
    expect(page.get_by_text("of the original's 12 words", exact=False)).to_be_visible()
    page.get_by_role("button", name="Damage it another way").click()
    expect(page).to_have_url(re.compile("seed="))
    visitor.settle()
    expect(page.get_by_role("textbox", name="Text in")).to_have_value(re.compile("^The king had three sons"))


def test_albert_answers_after_each_pass(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=albert&demo=passes")
    for number in range(1, 5):
        expect(page.get_by_role("figure", name=f"After pass {number}")).to_be_visible()
    box = page.get_by_role("textbox", name="Sentence with [MASK] in place of a word")
    box.fill("The children play in the [MASK].")
    box.press("Enter")
    expect(page).to_have_url(re.compile("children"))
    box.fill("no mask here")
    box.press("Enter")
    expect(page.get_by_test_id("stAlert")).to_be_visible()
    expect(box).to_have_value("no mask here")


def test_xlnet_finds_words_in_another_order(visitor: Visitor) -> None:
    page = visitor.open("/decoder?system=xlnet")
    expect(page.get_by_role("figure", name=re.compile("^Guesses in step 1"))).to_be_visible()
    page.get_by_role("button", name="Right to left", exact=True).click()
    expect(page).to_have_url(re.compile("words="))
    visitor.settle()
    page.get_by_role("radio", name="The model's own guess").click()
    expect(page).to_have_url(re.compile("fed=own"))
    visitor.settle()


def test_ctrl_goes_on_differently_under_each_code(visitor: Visitor) -> None:
    page = visitor.open(f"/decoder?{urlencode({'system': 'ctrl', 'text': 'The king', 'length': 12})}")
    for code in ("Story", "Encyclopedia", "Dialogue", "Reviews", "French", "German"):
        expect(page.get_by_text(code, exact=True).first).to_be_visible()
    box = page.get_by_role("textbox", name="Which code has this text?")
    box.fill("Je ne sais pas où il est allé hier soir.")
    box.press("Control+Enter")
    expect(page.get_by_text("French explains these", exact=False)).to_be_visible()
    expect(page).to_have_url(re.compile("passage="))


def test_longformer_makes_a_word_global(visitor: Visitor) -> None:
    page = visitor.open("/efficient?system=longformer&tokens=512")
    expect(page.get_by_text("1 of them global", exact=False)).to_be_visible()
    box = page.get_by_role("textbox", name="Words that become global")
    box.fill("Max")
    box.press("Enter")
    expect(page).to_have_url(re.compile("words=Max"))
    expect(page.get_by_text(re.compile("[2-9] of them global"))).to_be_visible()
    expect(page.get_by_text("Your global tokens move", exact=False)).to_be_visible()
    visitor.settle()


def test_transformer_xl_tells_what_its_memory_saves(visitor: Visitor) -> None:
    page = visitor.open("/decoder?system=transformer-xl")
    expect(page.get_by_text("After the first segment a token costs", exact=False)).to_be_visible()
    page.get_by_role("radio", name="32", exact=True).click()
    expect(page).to_have_url(re.compile("segment=32"))
    visitor.settle()
    box = page.get_by_role("textbox", name="Text, longer than a segment")
    box.fill("Too short.")
    box.press("Control+Enter")
    expect(page.get_by_text("so there is nothing to remember", exact=False)).to_be_visible()
    page.get_by_role("radio", name="Token by token").click()
    expect(page).to_have_url(re.compile("demo=text"))
    visitor.settle()


def test_m2m_100_goes_by_way_of_english(visitor: Visitor) -> None:
    page = visitor.open(f"/encoder-decoder?{urlencode({'system': 'm2m-100', 'task': 'fr-de'})}")
    expect(page.get_by_text("At once, and by way of English")).to_be_visible()
    box = page.get_by_role("textbox", name="Text in")
    box.fill("Tu viens avec nous ?")
    box.press("Control+Enter")
    expect(page.get_by_text("Are you coming with us?", exact=False).first).to_be_visible()
    expect(page.get_by_text("The two answers differ.")).to_be_visible()
    page.get_by_role("combobox", name="Task").click()
    page.get_by_role("option", name="Translate English to German").click()
    expect(page).to_have_url(re.compile("task=en-de|system=m2m-100"))
    expect(page.get_by_text("At once, and by way of English")).to_have_count(0)
    visitor.settle()


def test_reformer_meets_more_with_more_rounds(visitor: Visitor) -> None:
    page = visitor.open("/efficient?system=reformer")
    expect(page.get_by_text("With 1 round a byte meets", exact=False)).to_be_visible()
    page.get_by_role("combobox", name="Rounds").click()
    page.get_by_role("option", name="8", exact=True).click()
    expect(page).to_have_url(re.compile("rounds=8"))
    expect(page.get_by_text("With 8 rounds a byte meets", exact=False)).to_be_visible()
    page.get_by_role("radio", name="What more reading helps").click()
    expect(page).to_have_url(re.compile("demo=reading"))
    visitor.settle()


def test_deberta_guesses_without_a_part_of_its_attention(visitor: Visitor) -> None:
    page = visitor.open("/encoder?system=deberta&demo=parts")
    for part in ("content to content", "content to position", "position to content"):
        expect(page.get_by_text(f"Without {part}", exact=True)).to_be_visible()
    box = page.get_by_role("textbox", name="Sentence, perhaps with [MASK] in place of a word")
    box.fill("Once upon a [MASK] there lived a king.")
    box.press("Enter")
    expect(page).to_have_url(re.compile("Once"))
    expect(page.get_by_role("figure", name=re.compile("^Whole"))).to_contain_text("time")
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


def test_gpt_neo_goes_on_and_looks_back_a_little_in_every_second_layer(visitor: Visitor) -> None:
    page = visitor.open(f"/decoder?{urlencode({'system': 'gpt-neo', 'text': 'Once upon a', 'length': 5})}")
    expect(page.get_by_text("Atlas GPT-Neo", exact=False).first).to_be_visible()
    expect(page.get_by_text("time", exact=False).first).to_be_visible()
    visitor.settle()


def test_llama_goes_on_and_its_block_turns_queries_and_keys(visitor: Visitor) -> None:
    page = visitor.open(f"/decoder?{urlencode({'system': 'llama', 'text': 'Once upon a', 'length': 5})}")
    expect(page.get_by_text("Atlas Llama", exact=False).first).to_be_visible()
    expect(page.get_by_text("Step 1: what could have come here")).to_be_visible()
    page = visitor.open(f"/attention?{urlencode({'tab': 'block', 'model': 'atlas-llama'})}")
    expect(page.get_by_text("queries, turned", exact=False).first).to_be_visible()
    expect(page.get_by_text("keys, turned", exact=False).first).to_be_visible()
