"""The laboratory of masks: words of a link, axes, what is changed by hand, counts, and what reaches whom."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import catalogue
from core.attention.masks import axes, board, kinds
from core.attention.masks.board import MOST_EDITS, attended, build_board, mask_table
from core.attention.masks.kinds import KINDS, ChosenMask, format_mask, parse_mask, usual
from core.errors import AtlasError, OutOfRange
from core.patterns import (
    causal,
    content_stream,
    count,
    dilated,
    full,
    global_at,
    mask,
    query_stream,
    random_order,
    segments,
    union,
    window,
)


def text(n: int, padded: int = 0) -> axes.Axes:
    return axes.one_text(axes.numbered(n), padded)


# words


def test_words_by_hand() -> None:
    assert parse_mask("causal") == ChosenMask("causal")
    assert parse_mask("window-3") == ChosenMask("window", (3, 2))
    assert parse_mask("window-3").title == "Window"
    assert format_mask(ChosenMask("window", (2, 2))) == "window"
    assert format_mask(parse_mask("global-0")) == "global"
    assert parse_mask("global-5-0-5").numbers == (0, 5)
    assert parse_mask("padding-4").padded == 4
    assert {key: ChosenMask(key, usual(key)).layout for key in ("cross", "row")} == {"cross": "two", "row": "image"}


@pytest.mark.parametrize("key", KINDS)
def test_every_mask_has_words_and_can_be_written_and_read(key: str) -> None:
    choice = ChosenMask(key, usual(key))
    assert parse_mask(format_mask(choice)) == choice
    words = kinds.describe(key)
    assert all((words.purpose, words.formula, words.attempt, words.notice))
    for slug in (*words.systems, *words.papers):
        catalogue.get(slug)
    assert words.systems or words.others
    assert words.papers or words.paper
    for symbol in (part for latex, _ in words.symbols for part in latex.split(", ")):
        assert symbol.removesuffix(" x") in words.formula


@given(st.text(alphabet="abcdeilnorstuwx.-0123456789_é ", max_size=60))
def test_any_word_is_read_or_refused_in_a_sentence(raw: str) -> None:
    try:
        choice = parse_mask(raw)
    except OutOfRange as error:
        sentence = str(error)
    else:
        sentence = "." if parse_mask(format_mask(choice)) == choice else ""
    assert sentence.endswith(".")


NONSENSE = (
    "causal. causal.nor.full causal.and window--3 window-1-2-3 window-٣ window-99999999 bigbird-4-2 fixed-2-3 "
    "convolution-4 cross.and.causal row.and.padding full.or.full.or.full.or.full __class__"
)


@pytest.mark.parametrize("raw", ["", "x" * 300, *NONSENSE.split()])
def test_nonsense_is_refused(raw: str) -> None:
    with pytest.raises(OutOfRange):
        parse_mask(raw)


# axes


def test_a_sentence_is_cut_into_words_and_marks() -> None:
    text = " ".join(axes.split("The king's ring, “golden”… costs 3€."))
    assert text == "The king's ring , “ golden ” … costs 3 € ."
    assert axes.split("  ") == ()
    assert axes.split("नमस्ते दुनिया") == ("नमस्ते", "दुनिया")


def test_axes_are_cut_and_refused() -> None:
    assert len(text(80).keys) == 64
    padded = text(80, 4)
    assert padded.keys == (*axes.numbered(60), *(axes.PAD,) * 4)
    image = axes.picture(("a", "b", "c"), 2, 2)
    assert image.keys == ("a", "b", "1|1", "1|2", "2|1", "2|2")
    assert axes.picture(("a",), 5, 2).caption == 1
    for call in (
        lambda: axes.one_text(()),
        lambda: text(3, 64),
        lambda: axes.picture(axes.numbered(64), 20, 7),
    ):
        with pytest.raises(AtlasError):
            call()


# the board


@pytest.mark.parametrize(
    ("word", "pattern"),
    [
        ("full", full),
        ("window-1-0", window(1, 0)),
        ("dilated-1-3", dilated(1, 3)),
        ("segment-3-1", segments(3, 1)),
        ("global-4", global_at([4])),
        ("permutation-3", content_stream(random_order(9, 3), 9)),
        ("permutation-3-1", query_stream(random_order(9, 3), 9)),
    ],
)
def test_a_word_is_its_predicate(word: str, pattern: object) -> None:
    assert (build_board(parse_mask(word), text(9)).allowed == mask(pattern, 9)).all()  # type: ignore[arg-type]


def test_padding_is_counted_from_the_end() -> None:
    board = build_board(parse_mask("padding-2"), text(4, 2))
    assert board.allowed.astype(int).tolist() == [[1, 1, 1, 1, 0, 0]] * 6


def test_cells_are_toggled_by_hand() -> None:
    board = build_board(parse_mask("causal"), text(3), (1, 8, 1, 99, -1))
    assert board.flips == (1, 8)
    assert board.allowed.astype(int).tolist() == [[1, 1, 0], [1, 1, 0], [1, 1, 0]]
    assert board.pattern.astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert (board.count, board.share, board.empty_rows) == (6, 6 / 9, ())
    assert build_board(parse_mask("causal"), text(3), (0,)).empty_rows == (0,)
    assert len(build_board(parse_mask("full"), text(40), range(1000)).flips) == MOST_EDITS


def test_two_texts_make_a_rectangle() -> None:
    board = build_board(parse_mask("cross"), axes.two_texts(("le", "roi"), ("the", "king", ".")))
    assert board.allowed.astype(int).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_the_mask_as_a_table() -> None:
    rows = list(
        csv.reader(io.StringIO(mask_table(build_board(parse_mask("causal"), axes.one_text(("=1+1", 'a"b,')))).csv()))
    )
    assert rows == [["query / key", "0 =1+1", '1 a"b,'], ["0 =1+1", "1", "0"], ['1 a"b,', "1", "1"]]
    assert attended([True, False], ("a", "b")) == "a"
    assert (attended([True, True], ("a", "b")), attended([False], ("a",))) == ("all", "none")


def test_published_counts() -> None:
    def scores(word: str, found: axes.Axes) -> int:
        return count(parse_mask(word).pattern(found), len(found.keys))

    def published(n: int) -> axes.Axes:
        return axes.Axes("text", ("",) * n, ("",) * n)

    assert scores("full", published(512)) == 512**2  # BERT
    assert scores("causal", published(1024)) == 1024 * 1025 // 2  # GPT-2
    # GPT-Neo's local layers: a window of 255 before the token, itself included 256
    assert scores("window-255-0", published(2048)) == 2048 * 256 - 255 * 256 // 2
    # Longformer's band of 513
    assert scores("window-256-256", published(4096)) == 4096 * 513 - 256 * 257
    image = axes.Axes("image", ("",) * 1280, ("",) * 1280, caption=256, side=32)  # DALL-E
    shared = 256 * 257 // 2 + 1024 * 256
    assert scores("row", image) == shared + 1024 * 33 - 32 * 33 // 2
    assert scores("column", image) == shared + 1024 * 33 // 2


# influence


def test_levels_of_a_window_by_hand() -> None:
    expected = [[0, 1, 2, 3], [1, 0, 1, 2], [2, 1, 0, 1], [3, 2, 1, 0]]
    assert board.levels(mask(window(1), 4)).tolist() == expected


@pytest.mark.parametrize(("side", "layers"), [(1, 1), (1, 5), (2, 3), (3, 4)])
def test_a_window_reaches_as_far_as_the_formula_says(side: int, layers: int) -> None:
    n = 2 * side * layers + 11
    now = board.receptive_field(board.levels(mask(window(side), n)), layers)
    assert now[n // 2].sum() == 2 * side * layers + 1  # l × w, both sides together, and the token


def test_a_dilated_window_never_leaves_its_class() -> None:
    levels = board.levels(mask(dilated(1, 2), 9))
    assert (levels[0, 1::2] == board.NEVER).all()
    assert levels[0, ::2].tolist() == [0, 1, 2, 3, 4]


def test_what_is_enough() -> None:
    assert board.layers_needed(board.levels(mask(full, 6))) == 1
    assert board.layers_needed(board.levels(mask(causal, 6))) == 1
    assert (board.levels(mask(causal, 6))[0, 1:] == board.NEVER).all()
    assert board.layers_needed(board.levels(mask(window(0), 6))) == 0
    assert board.layers_needed(board.levels(mask(window(1), 64))) == 63
    assert board.layers_needed(board.levels(mask(union(window(1), global_at([0])), 64))) == 2
    assert board.layers_needed(board.levels(build_board(parse_mask("strided-4"), text(20)).allowed)) == 2
    assert board.layers_needed(board.levels(build_board(parse_mask("fixed-4-1"), text(20)).allowed)) == 2
    # columns alone never meet, in any number of layers; a cell by hand lets the future in
    image = axes.picture((), 0, 4)
    assert (board.levels(build_board(parse_mask("column"), image).allowed) == board.NEVER).sum() > 120
    assert board.levels(build_board(parse_mask("causal"), text(4), (3,)).allowed)[0].tolist() == [0, 2, 2, 1]


def test_memory_reaches_further_with_every_layer() -> None:
    levels = board.levels(mask(segments(4, 4), 16))
    assert [int(levels[15, place]) for place in (12, 8, 4, 0)] == [1, 1, 2, 3]
    assert (board.levels(mask(segments(4, 0), 16))[15, :12] == board.NEVER).all()


@given(st.integers(2, 12), st.integers(0, 99))
def test_a_query_stream_never_learns_its_own_word(n: int, seed: int) -> None:
    order = random_order(n, seed)
    levels = board.query_stream_levels(mask(query_stream(order, n), n), mask(content_stream(order, n), n))
    assert (np.diag(levels) == board.NEVER).all()
    assert (levels <= 1).all()  # what can come comes in one layer
    assert ((levels == 1) == mask(query_stream(order, n), n)).all()


def test_a_query_stream_goes_through_the_content_below() -> None:
    query = np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
    content = np.array([[1, 0, 0], [0, 1, 1], [0, 0, 1]], dtype=bool)
    assert board.query_stream_levels(query, content).tolist() == [[-1, 1, 2], [-1, -1, -1], [-1, -1, -1]]


def test_across_two_texts() -> None:
    causal_mask = mask(causal, 3)
    assert (board.cross_levels(np.ones((3, 4), dtype=bool), causal_mask) == 1).all()
    cross = np.array([[1, 0], [0, 0], [0, 1]], dtype=bool)
    assert board.cross_levels(cross, causal_mask).tolist() == [[1, -1], [2, -1], [2, 1]]
