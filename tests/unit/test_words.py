"""Words and characters of any script: what joins stays together."""

from __future__ import annotations

from pathlib import Path

import pytest

from core import checkpoints
from core.attention.masks import axes
from core.content import parse
from core.figures.heatmap import tokens
from core.figures.labels import label
from core.language.fill_mask import fill_mask, prepare, refill
from core.language.guesses import same_word
from core.language.side_by_side import split
from core.language.tokens import tokenize
from core.objectives.knowledge import marked
from core.tokenizers.train import words_of
from core.ui.demos.masking import judge_of
from core.words import WORDS, code_points, counted, distinct, is_word, visible

TEXTS = {
    "अपने पोस्ट।": ["अपने", "पोस्ट", "।"],
    "می\u200cخواهم": ["می\u200cخواهم"],
    "cafe\u0301 A cafẹ\u0301": ["cafe\u0301", "A", "cafẹ\u0301"],
    "👩\u200d👩\u200d👧 ❤\ufe0f!": ["👩\u200d👩\u200d👧", "❤\ufe0f", "!"],
    "ප්\u200dරකාශක 🇩🇪": ["ප්\u200dරකාශක", "🇩🇪"],
}


@pytest.mark.parametrize(("text", "words"), TEXTS.items())
def test_all_that_splits_words_keeps_marks_and_joiners(text: str, words: list[str]) -> None:
    assert WORDS.findall(text) == words
    assert [word.text for word in split(text)] == words
    assert list(axes.split(text)) == words
    assert "".join(words_of(text, "wordpiece")) == "".join(words)
    assert marked(words, [words[0]]) == ((0,),)


def test_a_word_of_a_training_text_is_no_shorter_than_typed() -> None:
    assert words_of("अपने पोस्ट, हिन्दी", "unigram") == ["▁अपने", "▁पोस्ट", ",", "▁हिन्दी"]
    assert is_word("हिन्दी")
    assert not is_word("a b")


@pytest.mark.parametrize(
    ("text", "at", "rest"), [("अपने पोस्ट", 1, " पोस्ट"), ("A cafẹ\u0301 is good", 2, " is good"), ("قَلَمٌ هنا", 1, " هنا")]
)
def test_a_span_holds_the_marks_that_the_tokenizer_dropped(text: str, at: int, rest: str) -> None:
    checkpoint = checkpoints.load("minilm")
    sentence = prepare(checkpoint, text, (at,))
    parts = refill(sentence, fill_mask(checkpoint, text, positions=(at,)))
    assert parts[-1].text == rest


def test_an_unknown_word_keeps_what_was_typed() -> None:
    token = tokenize(checkpoints.load("minilm"), "I saw a 💩 here")[4]
    assert (token.text, token.replaced, token.original) == ("[UNK]", "💩", "💩")
    assert tokenize(checkpoints.load("minilm"), "a [UNK]")[2].replaced is None


def test_what_a_model_reads_otherwise_is_said() -> None:
    checkpoint = checkpoints.load("minilm")
    long = "a" * 101
    assert prepare(checkpoint, f"one\ntwo [SEP] 💩 {long} [MASK]").notes == (
        "This model reads a line break as a space.",
        "“[SEP]” is a special token of this model; it reads the mark, not the letters.",
        "“💩” is not in the vocabulary, so the model reads [UNK] in its place.",
        f"“{'a' * 29}…” is longer than 100 characters, so the model reads [UNK] in its place.",
    )
    assert prepare(checkpoint, "a plain sentence").notes == ()


def test_a_guess_at_an_unknown_word_is_compared_with_what_was_typed() -> None:
    checkpoint = checkpoints.load("minilm")
    text = "I saw a 💩 here"
    judge = judge_of(prepare(checkpoint, text).tokens, fill_mask(checkpoint, text, positions=(4,)))
    assert judge("💩").startswith("Right")
    assert judge("unk").startswith("Wrong: the original is “💩”")


def test_guesses_in_scripts_with_vowel_signs_differ() -> None:
    assert same_word("पोस्ट", "पोस्ट!")
    assert not same_word("पोस्ट", "पिसाट")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\u0301", "◌\u0301"),
        ("a \u0301", "a ◌\u0301"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d👧", "👩\u200d👧"),
        ("a\u200db", "a‹u+200d›b"),
        (" the\n", "␣the⏎"),
    ],
)
def test_what_cannot_be_seen_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_numbers_with_nouns_and_code_points() -> None:
    assert [counted(n, "token") for n in (0, 1, 2048)] == ["0 tokens", "1 token", "2,048 tokens"]
    assert counted(2, "class", "classes") == "2 classes"
    assert code_points("e\u0301") == "U+0065 U+0301"


def test_equal_names_are_told_apart() -> None:
    assert distinct(["the", "cat", "the", "the (2)", "the"]) == ["the", "cat", "the (3)", "the (2)", "the (4)"]
    assert list(tokens(["the", "cat", "the"]).axis["labelalias"].values()) == ["the", "cat", "the (2)"]
    assert label("a %{x} <b>") == "a %&#123;x} &lt;b&gt;", "no hover template fills it in"


def test_after_one_a_noun_is_singular() -> None:
    said = parse('+++\ntitle = "x"\n+++\n## A\n**{{n}}** tokens, {{n}} more words of {{n}} or so.\n', Path("a.md"))
    assert said.part("A", n=1) == "**1** token, 1 more word of 1 or so."
    assert said.part("A", n=2) == "**2** tokens, 2 more words of 2 or so."
