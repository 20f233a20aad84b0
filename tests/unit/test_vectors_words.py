"""Words among the tokens of a text: where they stand, their vectors, and maps over words."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import checkpoints
from core.attention import capture
from core.attention.roles import rolefiles
from core.attention.tokens import belonging, word_weights
from core.attention.trace import AttentionMap
from core.attention.word_maps import WordAttention, in_words, sharpest, strongest, word_attention, words_of
from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.figures.heads import ModelWeights, word_bars
from core.language.types import Token
from core.theme import LIGHT
from core.vectors.contextual import sense_separation
from core.vectors.occurrences import (
    EXAMPLES,
    MAX_LINE,
    MAX_LINES,
    Line,
    clean_word,
    find_occurrences,
    find_word,
    missing_note,
    parse,
    tokens_within,
    words,
)
from core.vectors.reading import Reading


def letters(text: str) -> Reading:
    """A reading in which every letter is a token and layer l has the vector (position, l)."""
    tokens = tuple(Token(ord(letter), letter, letter, i, i + 1) for i, letter in enumerate(text) if letter != " ")
    states = np.array([[[token.start, layer] for token in tokens] for layer in range(3)], dtype=np.float32)
    return Reading(text, tokens, states)


def test_a_line_may_have_a_sense() -> None:
    parsed = parse("game | They play.\n\n  The play ends. \n | no sense\nnothing |  ")
    assert parsed == (Line(1, "game", "They play."), Line(2, "", "The play ends."), Line(3, "", "no sense"))


def test_only_the_first_bar_parts() -> None:
    assert parse("a | b | c")[0] == Line(1, "a", "b | c")


@pytest.mark.parametrize("text", ["", " \n ", "sense |", "|\n|"])
def test_no_sentence_is_said(text: str) -> None:
    with pytest.raises(InputEmpty):
        parse(text)


def test_what_is_too_long_is_said_with_its_number() -> None:
    with pytest.raises(InputTooLong, match="Line 2 has 161 characters"):
        parse("short\n" + "a" * (MAX_LINE + 1))
    with pytest.raises(InputTooLong, match="17 lines"):
        parse("a word\n" * (MAX_LINES + 1))
    with pytest.raises(InputTooLong, match="before the bar"):
        parse("s" * 21 + " | a word")


@pytest.mark.parametrize(
    ("word", "text", "found"),
    [
        ("play", "Play a play, replay, plays; play.", ((0, 4), (7, 11), (28, 32))),
        ("play", "display playing", ()),
        ("an", "an_an an", ((6, 8),)),
        ("naïve", "So naïve!", ((3, 8),)),
        ("银行", "我去银行取钱", ((2, 4),)),
        ("בית", "בבית בית", ((5, 8),)),
        ("don't", "I don't.", ((2, 7),)),
        ("a.b", "axb a.b", ((4, 7),)),
        ("😀", "a 😀 b", ((2, 3),)),
    ],
)
def test_where_a_word_stands(word: str, text: str, found: tuple[tuple[int, int], ...]) -> None:
    assert find_word(word, text) == found


@given(st.text(min_size=1, max_size=6), st.text(max_size=40))
def test_what_is_found_is_the_word(word: str, text: str) -> None:
    for start, end in find_word(word, text):
        assert text[start:end].lower() == word.lower() or len(text[start:end]) == len(word)


def test_a_word_is_checked() -> None:
    assert clean_word("  play ") == "play"
    for word, error in (("", InputEmpty), ("  ", InputEmpty), ("w" * 31, InputTooLong), ("...", InputUnusable)):
        with pytest.raises(error):
            clean_word(word)


def test_a_word_of_several_pieces_has_their_mean() -> None:
    word_occurrences = find_occurrences("ab", parse("ab c\nx\nc ab ab"), letters)
    assert [occurrence.name for occurrence in word_occurrences.occurrences] == ["1", "3a", "3b"]
    assert word_occurrences.vectors[0, :, 0].tolist() == [0.5, 2.5, 5.5]  # the mean of the positions of its two letters
    assert word_occurrences.vectors[2, :, 1].tolist() == [2, 2, 2]
    assert word_occurrences.missing_lines == (2,)
    assert "line 2" in missing_note(word_occurrences)
    with pytest.raises(InputUnusable, match="occurs in none of the 2 sentences"):
        find_occurrences("z", parse("a\nb"), letters)
    with pytest.raises(InputUnusable, match="occurs in no sentence here"):
        find_occurrences("z", parse("a"), letters)
    with pytest.raises(InputUnusable, match="occurs 32 times"):
        find_occurrences("a", parse("a a\n" * 16), letters)


def test_all_words_without_marks() -> None:
    occurrences = words(parse("ab, c!\nd"), letters)
    assert occurrences.texts == ("ab", "c", "d")
    assert occurrences.lines == (1, 1, 2)
    with pytest.raises(InputUnusable):
        words(parse("!!"), letters)


def test_tokens_that_touch_a_span() -> None:
    tokens = [Token(0, "x", "x", s, e) for s, e in ((0, 2), (2, 4), (4, 6), (-1, -1))]
    assert tokens_within(tokens, 1, 4) == (0, 1)
    assert tokens_within(tokens, 2, 3) == (1,)


def test_every_ready_word_stands_in_all_its_sentences() -> None:
    assert next(iter(EXAMPLES)) == "play"
    for word, text in EXAMPLES.items():
        lines = parse(text)
        assert all(len(find_word(word, line.text)) == 1 for line in lines), word
        senses = [line.sense for line in lines]
        assert all(senses.count(sense) >= 2 for sense in senses), word
        assert len(set(senses)) >= (5 if word == "play" else 4)


def test_senses_by_hand() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float32)
    separation = sense_separation(vectors, ["a", "a", "b", ""], 0.25)
    root = 0.5**0.5
    assert separation.same == pytest.approx(1)
    assert separation.other == pytest.approx((0 + 0 + 3 * root) / 5)
    assert separation.nearest == 1  # of the two with company; b is alone
    assert separation.baseline == 0.25
    same = np.ones((3, 2), dtype=np.float32)
    assert sense_separation(same, ["a", "a", "b"], None).nearest is None  # equal vectors have no nearest


TEXT = "The cat sat."


def token(text: str, start: int, *, special: bool = False, continues: bool = False) -> Token:
    return Token(1, text, text, start, start + len(text), special, continues)


def test_marks_are_words_and_many_words_are_refused() -> None:
    assert [word.text for word in words_of(" The  cat's mat. ")] == ["The", "cat's", "mat", "."]
    with pytest.raises(InputTooLong, match="41 words and marks"):
        words_of("a " * 41)
    with pytest.raises(InputEmpty):
        words_of(" \n ")


def test_what_stands_before_the_sentence_belongs_to_no_word() -> None:
    # "do: " is a task; of "unkind" two pieces begin in the word.
    tokens = [token("do", 0), token(":", 2), token("un", 4), token("kind", 6), token("man", 11)]
    membership = belonging([4, 11], [*tokens, token("</s>", -1, special=True)])
    assert membership.tolist() == [[0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0]]


def test_weights_of_tokens_are_summed_and_their_rows_averaged() -> None:
    weights = np.array([[[[0.5, 0.25, 0.25], [0.1, 0.3, 0.6], [0.2, 0.2, 0.6]]]], dtype=np.float32)
    belongs = np.array([[1, 1, 0], [0, 0, 1]], dtype=np.float32)
    expected = [[(0.75 + 0.4) / 2, (0.25 + 0.6) / 2], [0.4, 0.6]]
    assert word_weights(weights, belongs)[0, 0] == pytest.approx(np.array(expected))
    # The same rows over another text of two words, of which the middle token is none.
    other = np.array([[1, 0, 0], [0, 0, 1]], dtype=np.float32)
    assert word_weights(weights, belongs, other)[0, 0] == pytest.approx(np.array([[0.3, 0.425], [0.2, 0.6]]))


def test_the_rest_and_what_was_never_computed() -> None:
    weights = np.array([[[[1.0, 0.0, 0.0], [0.4, 0.6, 0.0], [0.5, 0.2, 0.3]]]], dtype=np.float32)
    causal = np.tri(3, dtype=np.bool_)[None, None]
    attention_map = AttentionMap("decoder", ("<s>", "a", "b"), ("<s>", "a", "b"), weights, causal)
    belongs = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.float32)  # no token begins in the third word
    words = words_of("a b c")
    made = WordAttention("x", in_words(attention_map, words, words, belongs, belongs))
    assert made.attention_map.weights[0, 0] == pytest.approx(np.array([[0.6, 0, 0], [0.2, 0.3, 0], [0, 0, 0]]))
    assert made.attention_map.computed(0, 0).tolist() == [[True, False, False], [True, True, False], [False] * 3]
    assert made.rest[0, 0] == pytest.approx([0.4, 0.5, 0.0])


@pytest.mark.parametrize(("slug", "kind"), [("bert", "encoder"), ("gpt2", "decoder"), ("t5", "encoder")])
def test_every_branch_has_the_words_of_the_sentence_as_axes(checkpoint_dir: Path, slug: str, kind: str) -> None:
    checkpoint = checkpoints.load(f"dir-tiny-{slug}")
    made = word_attention(checkpoint, TEXT)
    assert made.attention_map.kind == kind
    assert made.attention_map.key_tokens == made.attention_map.query_tokens == ("The", "cat", "sat", ".")
    rows = made.attention_map.weights.sum(-1) + made.rest
    computed = made.attention_map.computed(0, 0).any(1)
    assert rows[..., computed] == pytest.approx(1, abs=1e-5)
    trace = capture(checkpoint, TEXT, target=TEXT if slug == "t5" else None)
    assert made.attention_map.weights.shape[:2] == trace.maps[0].weights.shape[:2]
    upper = np.triu_indices(4, 1)
    assert made.attention_map.computed(0, 0)[upper].any() == (kind == "encoder")


def test_a_tokenizer_without_offsets_is_refused(checkpoint_dir: Path) -> None:
    checkpoint = checkpoints.load("dir-tiny-bert")
    slow = SimpleNamespace(tokenizer=SimpleNamespace(is_fast=False), spec=checkpoint.spec)
    with pytest.raises(InputUnusable, match="does not say where in the text its tokens stand"):
        word_attention(slow, TEXT)  # type: ignore[arg-type]


def test_the_strongest_head_is_the_measured_one_or_that_of_the_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 4
    weights = np.full((1, 2, n, n), 1 / n, dtype=np.float32)
    weights[0, 1] = np.roll(np.eye(n), -1, axis=1)  # head 2 looks at the word before
    words = tuple("abcd")
    made = WordAttention("nobody", AttentionMap("encoder", words, words, weights))
    assert strongest(made, "previous") == (0, 1)
    assert sharpest(made.attention_map) == (0, 1)
    monkeypatch.setattr(rolefiles, "roles", lambda _: {"previous": np.array([[0.9, 0.1]])})
    assert strongest(made, "previous") == (0, 0)
    monkeypatch.setattr(rolefiles, "roles", lambda _: {"previous": np.zeros((3, 3))})  # of another model
    assert strongest(made, "previous") == (0, 1)
    lower = AttentionMap("decoder", words, words, np.tri(n, dtype=np.float32)[None, None] / n)
    assert strongest(WordAttention("nobody", lower), "next") is None


def test_bars_stand_over_the_same_words_and_text_stays_text() -> None:
    rows = [
        ModelWeights("A <b>", "#0072B2", np.array([0.2, 0.5]), np.array([True, True]), 0.3),
        ModelWeights("B", "#D55E00", np.array([1.0, 0.0]), np.array([True, False]), 0.0),
    ]
    figure = word_bars(["<i>the</i>", "cat"], 0, rows, theme=LIGHT)
    assert [list(bar.y) for bar in figure.data[::2]] == [[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]]
    assert list(figure.data[0].x) == ["1 · &lt;i&gt;the&lt;/i&gt;", "2 · cat", "other tokens"]
    assert list(figure.data[3].x) == ["2 · cat"]  # never computed in B
    assert figure.layout.annotations[0].text == "<b>A &lt;b&gt;</b>"
