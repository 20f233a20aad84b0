"""Tokenizers step by step and trained on a pasted text: by hand, at their limits, and beside the library."""

from __future__ import annotations

from math import exp, isclose, log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from core.errors import InputTooLong, InputUnusable
from core.tokenizers import bpe, train, unigram, wordpiece
from core.tokenizers import train as learn
from core.tokenizers.samples import TALE, TALE_TEST

RANKS = {("l", "o"): 0, ("lo", "w"): 1, ("e", "r"): 2, ("low", "er"): 3}
PIECES = ("un", "##aff", "##able", "##a", "##ff", "aff", "a", "u")
# P(hug) = 0.1, P(hu) = 0.2 and so on: sums by hand below.
CHANCES = {"h": 0.1, "u": 0.1, "g": 0.1, "hu": 0.2, "ug": 0.3, "hug": 0.015}
SCORES = {piece: log(p) for piece, p in CHANCES.items()}


def test_merges_come_in_the_order_in_which_they_were_learned() -> None:
    steps = bpe.merges("lower", RANKS)
    assert [(step.left, step.right, step.rank) for step in steps] == [
        ("l", "o", 0),
        ("lo", "w", 1),
        ("e", "r", 2),
        ("low", "er", 3),
    ]
    assert [step.pieces for step in steps][1] == ("low", "e", "r")
    assert steps[0].candidates == 2  # l o and e r
    assert steps[-1].pieces == ("lower",)
    # of equal pairs the left one is joined first; a word without known pairs stays in letters
    assert [(step.at, step.pieces) for step in bpe.merges("aaa", {("a", "a"): 0})] == [(0, ("aa", "a"))]
    assert bpe.merges("xyz", RANKS) == ()
    assert [bpe.encode(word, RANKS) for word in ("xyz", "")] == [("x", "y", "z"), ()]


LETTERS = st.text(alphabet="abc", min_size=1, max_size=14)


@st.composite
def merged(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Merges of a vocabulary that can be learned: each half is a letter or an earlier merge's token."""
    symbols = ["a", "b", "c"]
    pairs: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 9))):
        pair = draw(st.tuples(st.sampled_from(symbols), st.sampled_from(symbols)))
        if pair not in pairs:
            pairs.append(pair)
            symbols.append("".join(pair))
    return pairs


@given(merged(), LETTERS)
def test_bpe_is_the_library_s(pairs: list[tuple[str, str]], word: str) -> None:
    names = dict.fromkeys(["a", "b", "c", *map("".join, pairs)])
    model = models.BPE({name: i for i, name in enumerate(names)}, pairs)
    expected = [token.value for token in model.tokenize(word)]
    assert list(bpe.encode(word, {pair: rank for rank, pair in enumerate(pairs)})) == expected


def test_wordpiece_takes_the_longest_piece_and_says_what_it_tried() -> None:
    match = wordpiece.match("unaffable", PIECES)
    assert match.pieces == ("un", "##aff", "##able")
    # unaffable, unaffabl, ... unaf, una, un: eight looks; then seven letters down to three: five; then one.
    assert [entry.found for entry in match.tries].index(True) == 7
    assert len(match.tries) == 8 + 5 + 1
    assert match.tries[8].piece == "##affable"


def test_a_word_with_one_strange_letter_is_unknown_as_a_whole() -> None:
    match = wordpiece.match("unaffxble", PIECES)
    assert match.pieces is None
    assert match.tries[-1] == wordpiece.Try(5, 6, "##x", False)


def test_words_past_the_limit_are_unknown_at_once() -> None:
    assert wordpiece.match("a" * 101, {"a", "##a"}).tries == ()
    assert wordpiece.match("a" * 100, {"a", "##a"}).pieces == ("a", *["##a"] * 99)
    assert wordpiece.match("", PIECES).pieces == ()


@given(
    st.sets(st.text(alphabet="abc", min_size=1, max_size=4)), st.sets(st.text("abc", min_size=1, max_size=4)), LETTERS
)
def test_wordpiece_is_the_library_s(first: set[str], later: set[str], word: str) -> None:
    pieces = ["[UNK]", *sorted(first), *(f"##{piece}" for piece in sorted(later))]
    model = models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    expected = [token.value for token in model.tokenize(word)]
    result = wordpiece.match(word, set(pieces[1:])).pieces
    assert (["[UNK]"] if result is None else list(result)) == expected


def test_the_lattice_of_hug_by_hand() -> None:
    lattice = unigram.lattice("hug", SCORES)
    assert unigram.ways(lattice) == 4
    # h u g: .001   hu g: .02   h ug: .03   hug: .015
    assert isclose(exp(unigram.total(lattice)), 0.066)
    paths = unigram.nbest(lattice, 9)
    assert [path.pieces for path in paths] == [("h", "ug"), ("hu", "g"), ("hug",), ("h", "u", "g")]
    assert [round(exp(path.score), 6) for path in paths] == [0.03, 0.02, 0.015, 0.001]
    assert unigram.best(lattice) == paths[0]
    weights = dict(zip([edge.piece for edge in lattice.edges], unigram.weights(lattice), strict=True))
    assert isclose(weights["ug"], 0.03 / 0.066)
    assert isclose(weights["h"], 0.031 / 0.066)
    assert isclose(weights["g"], 0.021 / 0.066)
    empty = unigram.lattice("", SCORES)
    assert (unigram.ways(empty), unigram.best(empty), unigram.total(empty)) == (1, unigram.Path((), 0.0), 0.0)


def test_alpha_zero_makes_all_segmentations_equally_likely() -> None:
    lattice = unigram.lattice("hug", SCORES)
    assert isclose(exp(unigram.total(lattice, 0.0)), 4)
    random = Random(1)
    drawn = [unigram.sample(lattice, random, 0.0).pieces for _ in range(2000)]
    assert all(abs(drawn.count(pieces) / 2000 - 0.25) < 0.05 for pieces in set(drawn))


def test_samples_come_as_often_as_they_are_likely() -> None:
    lattice = unigram.lattice("hug", SCORES)
    random = Random(1)
    drawn = [unigram.sample(lattice, random).pieces for _ in range(4000)]
    assert abs(drawn.count(("h", "ug")) / 4000 - 0.03 / 0.066) < 0.03
    assert abs(drawn.count(("h", "u", "g")) / 4000 - 0.001 / 0.066) < 0.01
    assert {unigram.sample(lattice, random, 5.0).pieces for _ in range(5)} <= {("h", "ug"), ("hug",), ("hu", "g")}


def test_a_strange_character_costs_ten_more_than_the_rarest_piece() -> None:
    lattice = unigram.lattice("hux", SCORES)
    assert [edge.known for edge in lattice.edges] == [True, True, True, False]
    assert isclose(lattice.edges[-1].score, log(0.015) - 10)
    assert unigram.best(lattice).pieces == ("hu", "x")
    fused = unigram.best(unigram.lattice("hu猫犬hu", SCORES)).tokens
    assert [(token.piece, token.start, token.end, token.known) for token in fused] == [
        ("hu", 0, 2, True),
        ("猫犬", 2, 4, False),
        ("hu", 4, 6, True),
    ]


@given(
    st.dictionaries(
        st.text("abc", min_size=1, max_size=4), st.floats(-12, -0.5, allow_nan=False), min_size=1, max_size=12
    ),
    st.text("abcd", min_size=1, max_size=12),
)
def test_unigram_s_best_is_the_library_s_and_the_probabilities_add_up(scores: dict[str, float], text: str) -> None:
    vocabulary = [("<unk>", -20.0), *scores.items()]
    tokenizer = Tokenizer(models.Unigram(vocabulary, 0, False))
    lattice = unigram.lattice(text, dict(vocabulary))
    best = unigram.best(lattice)
    assert list(best.pieces) == tokenizer.encode(text).tokens
    every = unigram.nbest(lattice, 5000)
    assert len(every) == unigram.ways(lattice)
    assert isclose(sum(exp(path.score - unigram.total(lattice)) for path in every), 1, rel_tol=1e-9)
    assert all(0 <= weight <= 1 + 1e-9 for weight in unigram.weights(lattice))


def test_the_merges_of_the_paper_s_small_dictionary() -> None:
    course = learn.learn({"low·": 5, "lower·": 2, "newest·": 6, "widest·": 3}, 100)
    # counts by hand: e s, s t and t · stand nine times each (6 + 3), l o and o w seven times (5 + 2)
    assert (course.merges[0].merged, course.merges[0].count) == ("es", 9)
    assert [merge.count for merge in course.merges[:5]] == [9, 9, 9, 7, 7]
    assert course.merges[2].merged == "est·"
    assert course.merges[4].merged == "low"
    assert course.start == 5 * 4 + 2 * 6 + 6 * 7 + 3 * 7
    assert course.merges[0].tokens == course.start - 9
    assert min(merge.count for merge in course.merges) == 2
    # a a stands twice in each of two words, and joined from the left leaves aa a twice
    first = learn.learn({"aaa": 2}, 10).merges[0]
    assert (first.count, first.tokens) == (4, 4)


def test_a_vocabulary_is_cut_off_where_it_is_asked() -> None:
    course = learn.learn({"low·": 5, "lower·": 2}, 100)
    assert course.alphabet == ("e", "l", "o", "r", "w", "·")
    assert course.vocabulary(7) == (*course.alphabet, course.merges[0].merged)
    assert course.vocabulary(1) == course.alphabet
    assert course.at(7) == 1
    assert course.at(6) == 0
    assert len(learn.learn({"low·": 5, "lower·": 2}, 8).merges) == 2


def test_wordpiece_learns_pieces_that_go_on() -> None:
    course = learn.learn({"abab": 3, "ab": 1}, 100, prefix="##")
    assert set(course.alphabet) == {"a", "##a", "##b"}
    assert course.merges[0].merged == "ab"
    assert course.merges[0].count == 4
    # then ab ##a and ##a ##b stand three times each, and the second has the smaller numbers
    assert [merge.merged for merge in course.merges] == ["ab", "##ab", "abab"]


@given(st.lists(st.text("abcde", min_size=1, max_size=9), min_size=1, max_size=12), st.integers(5, 40))
def test_merges_are_the_library_s_for_bpe(words: list[str], most: int) -> None:
    import json
    from collections import Counter

    from tokenizers import pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=most, min_frequency=2, show_progress=False)
    tokenizer.train_from_iterator([" ".join(words)], trainer)
    expected = [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
    assert [(merge.left, merge.right) for merge in learn.learn(Counter(words), most).merges] == expected


@pytest.mark.parametrize("size", [8, 12, 20])
def test_a_course_s_vocabulary_is_the_course_to_that_size(size: int) -> None:
    words = {"the": 9, "then": 4, "there": 3, "hen": 5, "other": 2, "rhetoric": 2}
    learning = learn.learn(words, 200, "##")
    assert set(learn.learn(words, size, "##").vocabulary(size)) == set(learning.vocabulary(size))


FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


def test_a_small_vocabulary_grows_and_the_text_shrinks() -> None:
    trained = train.train(TALE, "bpe")
    sizes = [stage.size for stage in trained.stages]
    tokens = [stage.tokens for stage in trained.stages]
    assert sizes == sorted(sizes)
    assert tokens == sorted(tokens, reverse=True)
    assert trained.smallest == len({sign for word in trained.words for sign in word})
    for size in (trained.smallest, 80, trained.largest):
        again = sum(
            len(cut_) * n for cut_, n in zip(trained.tokenize(trained.words, size), trained.words.values(), strict=True)
        )
        stage = next(entry for entry in reversed(trained.stages) if entry.size <= size)
        assert again == stage.tokens


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_the_other_kinds_count_what_they_cut(kind: train.TokenizerKind) -> None:
    trained = train.train(TALE, kind)
    for stage in trained.stages:
        again = sum(
            len(entry) * n
            for entry, n in zip(trained.tokenize(trained.words, stage.size), trained.words.values(), strict=True)
        )
        assert again == stage.tokens
    assert trained.stages[0].tokens > trained.stages[-1].tokens


def test_words_know_what_stands_before_them() -> None:
    assert train.words_of("It’s  late.", "bpe") == ["▁It", "’", "s", "▁late", "."]
    assert train.words_of("It’s  late.", "wordpiece") == ["It", "’", "s", "late", "."]


def test_letters_outside_the_training_text_are_unknown() -> None:
    trained = train.train("aba ab", "bpe")
    assert [(piece.text, piece.known) for piece in trained.tokenize(["▁az"], 9)[0]] == [
        ("▁", True),
        ("a", True),
        ("z", False),
    ]
    trained = train.train("aba ab", "wordpiece")
    assert [(piece.text, piece.known) for piece in trained.tokenize(["az"], 9)[0]] == [("az", False)]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
@pytest.mark.parametrize("text", ["a", "a\x00b a\x00b", "א ב ג א", FAMILY, "</script>"])
def test_strange_texts_train_or_say_why_not(text: str, kind: train.TokenizerKind) -> None:
    trained = train.train(text, kind)
    assert trained.stages
    assert trained.tokenize(train.words_of(TALE_TEST, kind), 100)


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_a_text_without_words_or_too_long_gets_a_sentence(kind: train.TokenizerKind) -> None:
    with pytest.raises(InputUnusable):
        train.train("  \n ", kind)
    with pytest.raises(InputTooLong):
        train.train("x" * 10_000, kind)
