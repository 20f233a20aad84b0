"""Next tokens, objectives with one answer for a pair, shuffled words, and replaced tokens."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputUnusable
from core.language.text import sentences, two_parts
from core.objectives import causal, knowledge, replaced, word_order
from core.objectives.example import Cell, Example, Label, tally
from core.objectives.sentence_pairs import next_sentence, three_orders

A, B, C = ["a1", "a2"], ["b1", "b2", "b3"], ["c1"]


def test_the_next_sentence_follows_in_half_of_the_examples() -> None:
    rng = np.random.default_rng(0)
    drawn = [next_sentence(A, B, C, rng) for _ in range(2000)]
    # four standard errors of a half over 2000 draws: 4 * sqrt(.25 / 2000) = .045
    assert np.mean([example.labels[0].answer == 0 for example in drawn]) == pytest.approx(0.5, abs=0.045)


def test_three_answers_are_equally_likely() -> None:
    rng = np.random.default_rng(1)
    drawn = [three_orders(A, B, C, rng) for _ in range(3000)]
    for answer, count in Counter(example.labels[0].answer for example in drawn).items():
        assert count / 3000 == pytest.approx(1 / 3, abs=0.035), answer


@given(st.integers(3, 60), st.integers(0, 2**32))
def test_shuffled_trigrams_hold_the_same_tokens(count: int, seed: int) -> None:
    tokens = [f"t{i}" for i in range(count)]
    example = word_order.corrupt(tokens, ["x"], np.random.default_rng(seed), rate=0)
    runs: dict[int, list[int]] = {}
    for place, cell in enumerate(example.source):
        if cell.group is not None:
            runs.setdefault(cell.group, []).append(place)
    assert runs
    for places in runs.values():
        assert len(places) == 3
        assert places[2] - places[0] == 2
        stands = [example.source[place].token for place in places]
        assert stands != [tokens[place] for place in places]
        assert sorted(stands) == sorted(tokens[place] for place in places)
        assert [tokens[example.source[place].origin or 0] for place in places] == stands


def test_windows_avoid_what_is_closed() -> None:
    assert word_order.windows(8, {0, 4}) == (1, 5)
    assert word_order.windows(2, ()) == ()


def test_five_percent_of_the_trigrams_are_shuffled() -> None:
    # 102 tokens have 100 windows of three, so five are drawn; masks are left out here.
    rng = np.random.default_rng(2)
    tokens = [f"t{i}" for i in range(102)]
    counts = [
        len({c.group for c in word_order.corrupt(tokens, ["x"], rng, rate=0).source if c.group is not None})
        for _ in range(200)
    ]
    assert np.mean(counts) == pytest.approx(5, abs=0.15)


def test_three_equal_tokens_stay_and_are_targets() -> None:
    example = word_order.corrupt(["ha"] * 3, ["x"], np.random.default_rng(0), rate=0)
    assert [(cell.token, cell.target, cell.change) for cell in example.source] == [("ha", "ha", "unchanged")] * 3


def test_a_right_sample_counts_as_original() -> None:
    tokens = ["[CLS]", "the", "king", "ate", "[SEP]"]
    example = replaced.corrupt(tokens, {2: "king", 3: "sat"}, fixed=(0, 4))
    assert [cell.target for cell in example.source] == [None, "original", "original", "replaced", None]
    assert [cell.change for cell in example.source] == ["special", "none", "unchanged", "replaced", "special"]
    assert [cell.token for cell in example.source] == ["[CLS]", "the", "king", "sat", "[SEP]"]
    assert example.original == tuple(tokens)


def test_sentences_end_with_their_marks() -> None:
    assert sentences("He came. Did she? “No!” he said. Mr. X") == (
        "He came.",
        "Did she?",
        "“No!”",
        "he said.",
        "Mr.",
        "X",
    )
    assert sentences("王来了。他笑了。") == ("王来了。", "他笑了。")
    assert sentences("3.14 is pi") == ("3.14 is pi",)
    assert sentences("") == ()


def test_a_text_is_cut_into_two_parts() -> None:
    assert two_parts("One. Two. Three.") == ("One. Two.", "Three.", "")
    first, second, note = two_parts("The king gave his daughter a ring, and she thanked him.")
    assert (first, second) == ("The king gave his daughter a ring,", "and she thanked him.")
    assert note
    assert two_parts("aa bb cc dd")[:2] == ("aa bb", "cc dd")
    with pytest.raises(InputUnusable):
        two_parts("word")


def test_a_tally_counts_positions_by_corruption() -> None:
    def make(rng: np.random.Generator) -> Example:
        rng.random()
        cells = (
            Cell("[CLS]", change="special"),
            Cell("m", "a", "masked", group=1),
            Cell("b"),
            Cell("c", "c", "unchanged"),
        )
        return Example(("a", "b", "c"), cells, labels=(Label("?", ("y", "n"), 1),))

    tallied = tally(make, draws=3)
    assert (tallied.draws, tallied.tokens, tallied.changes.total(), tallied.groups) == (3, 9, 6, 3)
    assert tallied.share == pytest.approx(2 / 3)
    assert tallied.change("masked") == 0.5
    assert tallied.change("random") == 0
    assert tallied.answers == {1: 3}


def test_every_token_is_predicted_from_those_before_it() -> None:
    example = causal.corrupt(["the", "cat", "sat"], "<s>")
    assert [(cell.token, cell.target) for cell in example.source] == [("<s>", "the"), ("the", "cat"), ("cat", "sat")]
    assert [cell.origin for cell in example.source] == [None, 0, 1]
    assert np.array_equal(example.visible[0].allowed, [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    assert [cell.target for cell in causal.corrupt(["the", "cat", "sat"]).source] == ["cat", "sat"]


def _words(text: str) -> list[str]:
    return text.split()


def _said(words: list[str], runs: tuple[tuple[int, ...], ...]) -> list[str]:
    return [" ".join(words[i] for i in run) for run in runs]


def test_entities_begin_with_a_capital_or_a_digit() -> None:
    words = _words("Harry Potter is a series of novels by Joanne Rowling , begun in 1990 . She lived in Porto .")
    assert _said(words, knowledge.entities(words)) == ["Harry Potter", "Joanne Rowling", "1990", "Porto"]


def test_the_first_word_of_a_sentence_is_no_entity_by_itself() -> None:
    words = _words("Yesterday I met Anna . The Queen smiled . In London it rained .")
    assert _said(words, knowledge.entities(words)) == ["Anna", "Queen", "London"]


def test_phrases_stand_between_function_words_and_verbs() -> None:
    words = _words("The king gave his daughter a golden ring and she thanked him with all her heart .")
    assert _said(words, knowledge.phrases(words)) == ["The king", "his daughter", "a golden ring", "all her heart"]
    assert knowledge.phrases(["go", "to", "bed"]) == ()
    assert knowledge.phrases([]) == ()


def test_typed_units_are_found_without_case_and_never_overlap() -> None:
    words = _words("The Golden ring , the golden ring and the king ' s ring")
    assert knowledge.marked(words, ["golden ring", "ring", "the golden", ""]) == ((1, 2), (5, 6), (12,))
    assert knowledge.marked(words, ["king's ring"]) == ((9, 10, 11, 12),)
    assert knowledge.marked(words, ["(", "no such thing", "the golden ring and the king's ring and more"]) == ()


def test_a_unit_is_masked_whole_with_one_replacement() -> None:
    tokens = [f"t{i}" for i in range(20)]
    units = [(2, 3, 4), (8, 9), (15,)]
    seen = set()
    for seed in range(200):
        example = knowledge.corrupt(tokens, units, ["x"], np.random.default_rng(seed))
        asked = set(example.targets)
        # 15% of twenty are three tokens: the unit of three, or the other two together.
        assert asked in ({2, 3, 4}, {8, 9, 15})
        for unit in units:
            assert len({example.source[place].change for place in unit}) == 1
        seen.add((len(asked & {2, 3, 4}), example.source[8].change))
    assert {(3, "none"), (0, "masked"), (0, "random"), (0, "unchanged")} == seen


def test_without_units_there_is_no_target() -> None:
    assert knowledge.corrupt(["a", "b"], [], ["x"], np.random.default_rng(0)).targets == ()
    assert knowledge.corrupt(["a", "b"], [(0, 1)], ["x"], np.random.default_rng(0), fixed=(1,)).targets == ()
