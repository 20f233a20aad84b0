"""One sentence for three models: words over tokens by hand, what belongs to no word, which head is shown."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from core import checkpoints
from core.attention import capture
from core.attention.roles import rolefiles
from core.attention.tokens import belonging, word_weights
from core.attention.trace import AttentionMap
from core.attention.word_maps import WordAttention, in_words, sharpest, strongest, word_attention, words_of
from core.errors import InputEmpty, InputTooLong, InputUnusable
from core.figures.heads import Row, word_bars
from core.language.types import Token
from core.theme import LIGHT

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
    found = belonging([4, 11], [*tokens, token("</s>", -1, special=True)])
    assert found.tolist() == [[0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0]]


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
    found = AttentionMap("decoder", ("<s>", "a", "b"), ("<s>", "a", "b"), weights, causal)
    belongs = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.float32)  # no token begins in the third word
    words = words_of("a b c")
    made = WordAttention("x", in_words(found, words, words, belongs, belongs))
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
    known = made.attention_map.computed(0, 0).any(1)
    assert rows[..., known] == pytest.approx(1, abs=1e-5)
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
        Row("A <b>", "#0072B2", np.array([0.2, 0.5]), np.array([True, True]), 0.3),
        Row("B", "#D55E00", np.array([1.0, 0.0]), np.array([True, False]), 0.0),
    ]
    figure = word_bars(["<i>the</i>", "cat"], 0, rows, theme=LIGHT)
    assert [list(bar.y) for bar in figure.data[::2]] == [[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]]
    assert list(figure.data[0].x) == ["1 · &lt;i&gt;the&lt;/i&gt;", "2 · cat", "other tokens"]
    assert list(figure.data[3].x) == ["2 · cat"]  # never computed in B
    assert figure.layout.annotations[0].text == "<b>A &lt;b&gt;</b>"
