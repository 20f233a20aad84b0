"""Small tokenisers learnt from a pasted text: what they learn, how they cut at every size, what they refuse."""

from __future__ import annotations

import pytest

from core.errors import InputTooLong, InputUnusable
from core.tokenizers import train
from core.tokenizers.samples import TALE, TALE_TEST

FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


def test_a_small_vocabulary_grows_and_the_text_shrinks() -> None:
    found = train.train(TALE, "bpe")
    sizes = [stage.size for stage in found.stages]
    tokens = [stage.tokens for stage in found.stages]
    assert sizes == sorted(sizes)
    assert tokens == sorted(tokens, reverse=True)
    assert found.smallest == len({sign for word in found.words for sign in word})
    for size in (found.smallest, 80, found.largest):
        again = sum(
            len(cut_) * n for cut_, n in zip(found.tokenize(found.words, size), found.words.values(), strict=True)
        )
        stage = next(one for one in reversed(found.stages) if one.size <= size)
        assert again == stage.tokens


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_the_other_kinds_count_what_they_cut(kind: train.Kind) -> None:
    found = train.train(TALE, kind)
    for stage in found.stages:
        again = sum(
            len(one) * n for one, n in zip(found.tokenize(found.words, stage.size), found.words.values(), strict=True)
        )
        assert again == stage.tokens
    assert found.stages[0].tokens > found.stages[-1].tokens


def test_words_know_what_stands_before_them() -> None:
    assert train.words_of("It’s  late.", "bpe") == ["▁It", "’", "s", "▁late", "."]
    assert train.words_of("It’s  late.", "wordpiece") == ["It", "’", "s", "late", "."]


def test_letters_that_were_never_seen_are_unknown() -> None:
    found = train.train("aba ab", "bpe")
    assert [(piece.text, piece.known) for piece in found.tokenize(["▁az"], 9)[0]] == [
        ("▁", True),
        ("a", True),
        ("z", False),
    ]
    found = train.train("aba ab", "wordpiece")
    assert [(piece.text, piece.known) for piece in found.tokenize(["az"], 9)[0]] == [("az", False)]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("text", ["a", "a\x00b a\x00b", "א ב ג א", FAMILY, "</script>"])
def test_strange_texts_train_or_say_why_not(text: str, kind: train.Kind) -> None:
    found = train.train(text, kind)
    assert found.stages
    assert found.tokenize(train.words_of(TALE_TEST, kind), 100)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_a_text_without_words_or_too_long_gets_a_sentence(kind: train.Kind) -> None:
    with pytest.raises(InputUnusable):
        train.train("  \n ", kind)
    with pytest.raises(InputTooLong):
        train.train("x" * 10_000, kind)
