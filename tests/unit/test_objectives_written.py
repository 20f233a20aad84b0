"""Objectives with a decoder, an order or a prefix: nothing is lost, the targets rebuild the text, values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputUnusable
from core.objectives import denoising, gaps, permutation, prefix, sentinels, t5_compared, translation, unified
from core.objectives.example import Cell, Example

TEXTS = st.integers(2, 60).map(lambda n: [f"w{i}" for i in range(n)])
SENTENCES = st.lists(st.integers(1, 8), min_size=1, max_size=6).map(
    lambda sizes: [[f"w{i}.{j}" for j in range(size)] for i, size in enumerate(sizes)]
)
SEEDS = st.integers(0, 2**31 - 1)


def targets(cells: tuple[Cell, ...]) -> list[str | None]:
    return [cell.target for cell in cells]


def one_behind(example: Example) -> bool:
    """Each decoder position reads the target of the previous position."""
    return [cell.token for cell in example.decoder[1:]] == targets(example.decoder)[:-1]


def masks_fit(example: Example) -> bool:
    sides = {"encoder": (example.source, example.source), "decoder": (example.decoder, example.decoder)}
    sides["cross"] = (example.decoder, example.source)
    return all(
        seen.queries == tuple(c.token for c in sides[seen.kind][0])
        and seen.keys == tuple(c.token for c in sides[seen.kind][1])
        and seen.allowed.shape == (len(seen.queries), len(seen.keys))
        for seen in example.visible
    )


# Span corruption


class Drawn:
    """A generator that gives these rows, one a call."""

    def __init__(self, *rows: list[int]) -> None:
        self.rows = iter(rows)

    def permutation(self, count: int) -> np.ndarray:
        row = next(self.rows)
        assert len(row) == count
        return np.asarray(row)


def test_a_span_corruption_by_hand() -> None:
    """Three of ten tokens masked in spans of 2 and 1, seven unmasked in spans of 2 and 5, sampled in that order."""
    text = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week"]
    drawn = Drawn([1, 0], [1, 0, 2, 3, 4, 5])
    example = sentinels.corrupt(text, drawn, rate=0.3, mean=1.5)  # type: ignore[arg-type]
    read = " ".join(cell.token for cell in example.source)
    assert read == "Thank you <extra_id_0> me to your party last <extra_id_1> </s>"
    asked = " ".join(str(cell.target) for cell in example.decoder)
    assert asked == "<extra_id_0> for inviting <extra_id_1> week <extra_id_2> </s>"
    assert " ".join(cell.token for cell in example.decoder) == f"<pad> {asked}".removesuffix(" </s>")
    assert [cell.change for cell in example.source].count("masked") == 2


@given(TEXTS, SEEDS, st.floats(0.05, 0.5), st.floats(1.0, 8.0))
def test_spans_are_as_many_and_as_long_as_published(text: list[str], seed: int, rate: float, mean: float) -> None:
    hidden = sentinels.noise_mask(len(text), np.random.default_rng(seed), rate, mean)
    count = min(max(round(len(text) * rate), 1), len(text) - 1)
    assert len(hidden) == len(text)
    assert hidden.sum() == count
    assert not hidden[0]
    assert hidden[-1]
    runs = int((np.diff(hidden.astype(int)) == 1).sum())
    assert runs == min(max(round(count / mean), 1), count, len(text) - count)


@given(TEXTS, SEEDS)
def test_the_answer_to_a_span_corruption_rebuilds_the_text(text: list[str], seed: int) -> None:
    example = sentinels.corrupt(text, np.random.default_rng(seed))
    answer = targets(example.decoder)
    assert one_behind(example)
    assert masks_fit(example)
    assert answer[-1] == "</s>"
    fillings: dict[str, list[str]] = {}
    for token in answer[:-1]:
        if token.startswith("<extra"):
            fillings[token] = []
        else:
            fillings[list(fillings)[-1]].append(token)
    marks = [cell.token for cell in example.source if cell.change == "masked"]
    assert list(fillings) == [f"<extra_id_{i}>" for i in range(len(marks) + 1)]
    assert marks == list(fillings)[:-1]
    rebuilt = [word for cell in example.source[:-1] for word in fillings.get(cell.token, [cell.token])]
    assert rebuilt == text


def test_every_division_is_equally_likely() -> None:
    """Five in three parts: 6 ways; each about 100 times of 600."""
    rng = np.random.default_rng(0)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(600):
        parts = tuple(sentinels.division(5, 3, rng).tolist())
        counts[parts] = counts.get(parts, 0) + 1
    assert sorted(counts) == [(1, 1, 3), (1, 2, 2), (1, 3, 1), (2, 1, 2), (2, 2, 1), (3, 1, 1)]
    assert min(counts.values()) > 70


def test_a_span_corruption_needs_two_tokens_and_enough_sentinels() -> None:
    with pytest.raises(InputUnusable, match="single token"):
        sentinels.corrupt(["one"], np.random.default_rng(0))
    with pytest.raises(InputUnusable, match="sentinels"):
        sentinels.corrupt(["w"] * 400, np.random.default_rng(0), rate=0.5, mean=1.0)


# BART


@given(SENTENCES, SEEDS, st.sets(st.sampled_from(denoising.KINDS)))
def test_what_denoising_writes_is_the_text(sentences: list[list[str]], seed: int, kinds: set[str]) -> None:
    example = denoising.corrupt(sentences, np.random.default_rng(seed), kinds)
    text = [word for sentence in sentences for word in sentence]
    assert list(example.original) == text
    assert targets(example.decoder) == [*text, "</s>"]
    assert one_behind(example)
    assert masks_fit(example)
    assert (example.source[0].token, example.source[-1].token) == ("<s>", "</s>")
    inner = example.source[1:-1]
    assert all(cell.token == text[cell.origin] for cell in inner if cell.origin is not None and cell.token != "<mask>")
    origins = [cell.origin for cell in inner if cell.origin is not None]
    assert len(set(origins)) == len(origins)
    if not kinds & {"mask", "delete", "infill"}:
        assert sorted(origins) == list(range(len(text)))
    if kinds <= {"mask", "delete", "infill"}:
        assert origins == sorted(origins)


def test_each_corruption_of_bart_marks_what_it_did() -> None:
    text = [["a", "b", "c"], ["d", "e"]]

    def made(*kinds: str) -> list[tuple[str, str]]:
        cells = denoising.corrupt(text, np.random.default_rng(1), kinds).source[1:-1]
        return [(cell.token, cell.change) for cell in cells]

    assert made() == [(word, "none") for word in "abcde"]
    assert made("permute") == [(word, "moved") for word in "deabc"]
    assert {change for _, change in made("rotate")} == {"moved"}
    assert len(made("delete")) < 5
    hidden = made("mask")
    assert len(hidden) == 5
    assert all((token == "<mask>") == (change == "masked") for token, change in hidden)


def test_a_mask_of_an_empty_span_counts_as_inserted() -> None:
    draws = (denoising.corrupt([["a", "b", "c"]], np.random.default_rng(seed), ["infill"]) for seed in range(40))
    rows = {tuple((cell.token, cell.change) for cell in example.source[1:-1]) for example in draws}
    assert (("a", "none"), ("<mask>", "inserted"), ("b", "none"), ("<mask>", "masked")) in rows
    assert {change for row in rows for _, change in row} == {"none", "masked", "inserted"}


def test_denoising_says_what_it_cannot_do() -> None:
    with pytest.raises(InputUnusable):
        denoising.corrupt([], np.random.default_rng(0))


# Prefix


@given(TEXTS, SEEDS)
def test_a_prefix_and_its_targets_are_the_text(text: list[str], seed: int) -> None:
    example = prefix.corrupt(text, np.random.default_rng(seed))
    asked = [cell.target for cell in example.source if cell.target is not None]
    given_part = text[: len(text) - len(asked)]
    assert given_part + asked == text
    assert 1 <= len(given_part) < len(text)
    allowed = example.visible[0].allowed
    assert allowed[:, : len(given_part)].all()
    assert not np.triu(allowed[:, len(given_part) :], k=1 - len(given_part)).any()


def test_a_prefix_of_two_by_hand() -> None:
    example = prefix.corrupt(["a", "b", "c", "d"], np.random.default_rng(0), 2)
    assert targets(example.source) == [None, "c", "d"]
    assert example.visible[0].allowed.astype(int).tolist() == [[1, 1, 0], [1, 1, 0], [1, 1, 1]]
    with pytest.raises(InputUnusable):
        prefix.corrupt(["a"], np.random.default_rng(0))


# Gap sentences


def test_rouge_by_hand() -> None:
    """Shared: the (2 of 2 and 3), cat: 3. Sizes 4 and 6: F1 = 2 · 3 / 10. As sets {the, cat}: 2 · 2 / (3 + 5)."""
    single, others = ["the", "cat", "the", "mat"], ["the", "the", "the", "cat", "is", "here"]
    assert gaps.rouge1(single, others) == pytest.approx(0.6)
    assert gaps.rouge1(single, others, unique=True) == pytest.approx(2 * 2 / (3 + 4))
    assert gaps.rouge1(single, single) == 1.0
    assert gaps.rouge1(single, []) == 0.0


def test_words_are_counted_without_case_and_marks() -> None:
    assert gaps.words(["The", "cat", ",", "7", "."]) == ["the", "cat", "7"]


def test_the_principal_sentence_is_the_one_that_says_the_rest() -> None:
    text = [["a", "b", "c"], ["a", "b", "x"], ["q", "r", "s"]]
    # each against the other two: 2·2/9, 2·2/9, 0
    assert gaps.rouge_scores(text) == pytest.approx([4 / 9, 4 / 9, 0.0])
    rng = np.random.default_rng(0)
    assert gaps.choose(text, rng) == (0,)
    assert gaps.choose(text, rng, "lead", 0.7) == (0, 1)
    # one after the other: with 0 taken, adding 1 leaves {q r s}: 0; adding 2 leaves {a b x}: 2·2/9
    assert gaps.rouge_scores(text, (0,)) == pytest.approx([0.0, 0.0, 4 / 9])
    assert gaps.choose(text, rng, "seq-orig", 0.7) == (0, 2)
    assert gaps.choose(text, rng, "ind-orig", 0.7) == (0, 1)


@given(SENTENCES.filter(lambda sentences: len(sentences) > 1), SEEDS, st.sampled_from(list(gaps.GapChoice.__args__)))  # type: ignore[attr-defined]
def test_gap_sentences_and_what_is_left_are_the_text(
    sentences: list[list[str]], seed: int, how: gaps.GapChoice
) -> None:
    example = gaps.corrupt(sentences, gaps.choose(sentences, np.random.default_rng(seed), how))
    written: dict[int, list[str]] = {}
    for place, cell in enumerate(example.decoder[1:]):
        written.setdefault(cell.segment, []).append(str(example.decoder[place].target))
    rebuilt: list[str] = []
    for cell in example.source[:-1]:
        rebuilt += written[cell.segment] if cell.change == "masked" else [cell.token]
    assert rebuilt == [word for sentence in sentences for word in sentence]
    assert len(written) == min(max(round(0.3 * len(sentences)), 1), len(sentences) - 1)
    assert one_behind(example)
    assert masks_fit(example)


def test_gap_sentences_need_a_sentence_beside_them() -> None:
    with pytest.raises(InputUnusable, match="two sentences"):
        gaps.corrupt([["a", "b"]], ())


# Permutation


def test_the_papers_order_3_2_4_1() -> None:
    """Yang et al., figure 1, with positions from 1: all four predicted, one after the other."""
    example = permutation.corrupt(["a", "b", "c", "d"], [2, 1, 3, 0], 1)
    content, query = (seen.allowed.astype(int).tolist() for seen in example.visible)
    assert content == [[1, 1, 1, 1], [0, 1, 1, 0], [0, 0, 1, 0], [0, 1, 1, 1]]
    assert query == [[0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]]
    assert example.order == (2, 1, 3, 0)


@given(TEXTS, SEEDS, st.floats(1.0, 8.0))
def test_predicted_tokens_are_their_own_targets(text: list[str], seed: int, k: float) -> None:
    framed = ["[CLS]", *text, "[SEP]"]
    frame = [0, len(framed) - 1]
    order = 1 + np.random.default_rng(seed).permutation(len(text))
    example = permutation.corrupt(framed, order.tolist(), k, frame)
    assert [cell.token for cell in example.source] == framed
    assert all(cell.target in (None, cell.token) for cell in example.source)
    assert set(example.targets) == set(example.order)
    assert not set(frame) & set(example.order)
    assert len(example.order) == permutation.target_count(len(text), k)
    content, query = (seen.allowed for seen in example.visible)
    assert np.diag(content).all()
    assert not any(query[place, place] for place in example.order)
    first, last = example.order[0], example.order[-1]
    context = set(range(len(framed))) - set(example.order)
    assert {int(key) for key in np.flatnonzero(query[first])} == context
    assert int(query[last].sum()) == len(framed) - 1


def test_one_token_in_six_is_predicted() -> None:
    assert [permutation.target_count(n) for n in (1, 6, 12, 60)] == [1, 1, 2, 10]
    assert permutation.target_count(5, 1.0) == 5


def test_an_order_of_nothing_is_refused() -> None:
    with pytest.raises(InputUnusable):
        permutation.corrupt(["[CLS]"], [], special=[0])


# Translation


WORDS = ["x", "y", "z"]


@given(TEXTS, TEXTS, SEEDS, st.floats(0.05, 0.9))
def test_a_pair_keeps_its_frame_and_its_words(first: list[str], second: list[str], seed: int, rate: float) -> None:
    example = translation.corrupt(first, second, WORDS, np.random.default_rng(seed), rate=rate)
    assert list(example.original) == ["</s>", *first, "</s>", "</s>", *second, "</s>"]
    rebuilt = [cell.target or cell.token for cell in example.source]
    assert rebuilt == list(example.original)
    frame = {0, len(first) + 1, len(first) + 2, len(example.source) - 1}
    assert all((example.source[at].token, example.source[at].target) == ("</s>", None) for at in frame)
    assert example.targets
    assert [cell.position for cell in example.source] == [*range(len(first) + 2), *range(len(second) + 2)]
    assert [cell.segment for cell in example.source] == [0] * (len(first) + 2) + [1] * (len(second) + 2)


def test_one_side_of_a_pair_has_the_same_corruption() -> None:
    example = translation.corrupt(["a", "b"], ["c", "d", "e"], WORDS, np.random.default_rng(0), rate=0.9)
    assert translation.alone(example, 1).source == example.source[4:]
    with pytest.raises(InputUnusable):
        translation.corrupt([], ["c"], WORDS, np.random.default_rng(0))


# UniLM


def test_the_papers_five_tokens_under_its_four_masks() -> None:
    """Section 2.3: in [SOS] t1 t2 [EOS] t3 t4 t5 [EOS] t1 and t2 attend to the first four, t4 to the first six."""
    seen = unified.attention_mask("seq2seq", 8, 4)
    assert seen[:4].astype(int).tolist() == [[1, 1, 1, 1, 0, 0, 0, 0]] * 4
    assert seen[5].astype(int).tolist() == [1, 1, 1, 1, 1, 1, 0, 0]
    assert unified.attention_mask("both", 3, 1).all()
    assert unified.attention_mask("left", 3, 0).astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert unified.attention_mask("right", 3, 0).astype(int).tolist() == [[1, 1, 1], [0, 1, 1], [0, 0, 1]]


@given(TEXTS, TEXTS, SEEDS, st.sampled_from(list(unified.SHARES)))
def test_masked_cells_give_the_original_text(
    first: list[str], second: list[str], seed: int, kind: unified.UnifiedMask
) -> None:
    example = unified.corrupt(first, second, WORDS, np.random.default_rng(seed), kind)
    assert [cell.target or cell.token for cell in example.source] == list(example.original)
    assert [token for token in example.original if not token.startswith("[")] == first + second
    assert example.targets
    assert all(not example.original[at].startswith("[") for at in example.targets)
    assert len(example.targets) <= 0.15 * (len(first) + len(second)) + 1
    groups: dict[int | None, list[int]] = {}
    for at in example.targets:
        groups.setdefault(example.source[at].group, []).append(at)
    assert all(places == list(range(places[0], places[0] + len(places))) for places in groups.values())
    assert max(map(len, groups.values())) <= 3


def test_the_kinds_come_with_their_published_shares() -> None:
    rng = np.random.default_rng(0)
    drawn = [unified.sample_mask(rng) for _ in range(3000)]
    for kind, share in unified.SHARES.items():
        assert abs(drawn.count(kind) / 3000 - share) < 0.03
    assert sum(unified.SHARES.values()) == pytest.approx(1.0)


def test_a_mask_for_two_texts_needs_two() -> None:
    with pytest.raises(InputUnusable, match="two texts"):
        unified.corrupt(["a"], [], WORDS, np.random.default_rng(0), "seq2seq")
    with pytest.raises(InputUnusable):
        unified.corrupt([], [], WORDS, np.random.default_rng(0), "left")
    assert unified.corrupt(["a"], [], WORDS, np.random.default_rng(0), "left").original == ("[SOS]", "a", "[EOS]")


def test_the_objectives_that_t5_compared_come_from_one_choice_of_tokens() -> None:
    text = [f"w{n}" for n in range(40)]
    result = t5_compared.compared([*text, "[X]"], ["random"], np.random.default_rng(2), special=("[X]",))
    assert tuple(result) == t5_compared.KINDS
    text.append("[X]")
    assert [*result["prefix"][0], *result["prefix"][1]] == text
    assert sorted(result["shuffle"][0]) == sorted(text)
    masked = [at for at, token in enumerate(result["mass"][0]) if token == t5_compared.MASK]
    gone = [text[at] for at in masked]
    assert len(gone) > 2
    assert "[X]" not in gone
    assert list(result["drop"][1]) == gone
    assert list(result["drop"][0]) == [token for token in text if token not in gone]
    assert {at for at, token in enumerate(result["bert"][0]) if token != text[at]} == set(masked)
    source, target = result["replace"]
    assert [token for token in target if not token.startswith("<")] == gone
    assert [token for token in source if token.startswith("<")] == [t for t in target if t.startswith("<")][:-1]
