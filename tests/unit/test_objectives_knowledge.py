"""Phrases and entities by a plain rule, and units that a visitor marks."""

import numpy as np

from core.objectives import knowledge


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


def test_a_unit_is_hidden_whole_and_shares_its_fate() -> None:
    tokens = [f"t{i}" for i in range(20)]
    units = [(2, 3, 4), (8, 9), (15,)]
    seen = set()
    for seed in range(200):
        example = knowledge.corrupt(tokens, units, ["x"], np.random.default_rng(seed))
        asked = set(example.asked)
        # 15 % of twenty are three tokens: the unit of three, or the other two together.
        assert asked in ({2, 3, 4}, {8, 9, 15})
        for unit in units:
            assert len({example.source[place].change for place in unit}) == 1
        seen.add((len(asked & {2, 3, 4}), example.source[8].change))
    assert {(3, "kept"), (0, "masked"), (0, "random"), (0, "unchanged")} == seen


def test_without_units_nothing_is_asked() -> None:
    assert knowledge.corrupt(["a", "b"], [], ["x"], np.random.default_rng(0)).asked == ()
    assert knowledge.corrupt(["a", "b"], [(0, 1)], ["x"], np.random.default_rng(0), fixed=(1,)).asked == ()
