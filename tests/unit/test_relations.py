"""Treebanks and their reader; heads against grammar, with word-level attention worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from core.attention.roles import treebank
from core.attention.roles.relations import (
    DIRECTIONS,
    LABELS,
    RelationCounts,
    Tally,
    better_directions,
    links,
    references,
)
from core.attention.roles.treebank import ROOT, SHIPPED, Sentence, files, read_treebank
from core.attention.tokens import align, word_weights
from core.checkpoints.spec import Checkpoint, CheckpointSpec, wilson
from core.content import content
from core.errors import TreebankRefused
from core.language.tokens import tokenize
from core.language.types import Token
from tests import tiny

WORDPIECE, BYTES, META = tiny.wordpiece_tokenizer(), tiny.bytelevel_tokenizer(), tiny.metaspace_tokenizer()
SPEC = CheckpointSpec("dir-tiny", "tiny", None, "encoder", "masked-lm", "directory", "a test", "-", True)


def sentence(
    words: str, heads: list[int], relations: str, upos: str = "", clusters: tuple[tuple[int, ...], ...] = ()
) -> Sentence:
    forms = tuple(words.split())
    kinds = tuple(upos.split()) or ("X",) * len(forms)
    spaces = (True,) * len(forms)
    return Sentence("a", forms, kinds, tuple(heads), tuple(relations.split()), spaces, clusters)


DOG = sentence("the old dog", [2, 2, ROOT], "det amod root")


def judge(
    of: Sentence, rows: list[list[float]], *, causal: bool = False, belongs: NDArray[Any] | None = None
) -> tuple[RelationCounts, ...]:
    """The scores of a model with one head and these weights."""
    tally = Tally(1, 1, causal=causal)
    size = len(of.words)
    tally.add(of, np.array([[rows]], dtype=np.float32), np.eye(size, dtype=np.float32) if belongs is None else belongs)
    return tally.counted()


def counted(found: tuple[RelationCounts, ...], relation: str, direction: int = 0) -> tuple[int, int]:
    """(right, n) of the only head."""
    names = (DIRECTIONS[direction], "mention to antecedent")
    entry = next((entry for entry in found if entry.relation == relation and entry.direction in names), None)
    return (0, 0) if entry is None else (int(entry.right[0, 0]), entry.n)


def test_to_a_split_word_is_the_sum_and_from_it_the_mean() -> None:
    weights = np.array([[[[0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [0.25, 0.5, 0.25]]]], dtype=np.float32)
    belongs = np.array([[1, 1, 0], [0, 0, 1]], dtype=np.float32)
    expected = [[(0.1 + 0.2 + 0.3 + 0.4) / 2, (0.7 + 0.3) / 2], [0.75, 0.25]]
    assert word_weights(weights, belongs)[0, 0] == pytest.approx(np.array(expected))


def test_words_without_a_token_have_no_weights() -> None:
    belongs = np.array([[1, 1], [0, 0]], dtype=np.float32)
    assert word_weights(np.full((1, 1, 2, 2), 0.5, dtype=np.float32), belongs)[0, 0].tolist() == [[1, 0], [0, 0]]


def test_the_strongest_link_is_compared_in_both_directions_without_the_word_itself() -> None:
    tally = judge(DOG, [[0.9, 0.04, 0.06], [0.6, 0.1, 0.3], [0.1, 0.4, 0.5]])
    # "the" looks at "dog" most of all others; "old" looks at "the".
    assert counted(tally, "det") == (1, 1)
    assert counted(tally, "modifier") == (0, 1)
    # "the" is looked at most by "old" (0.6), "old" by "dog" (0.4).
    assert counted(tally, "det", 1) == (0, 1)
    assert counted(tally, "modifier", 1) == (1, 1)
    assert counted(tally, "any") == counted(tally, "any", 1) == (1, 2)
    best = better_directions(tally)["modifier"]
    assert (best.direction, best.accuracy, best.offset, best.baseline) == (DIRECTIONS[1], 1.0, 1, 1.0)
    assert "obj" not in better_directions(tally)


def test_special_tokens_are_no_choice() -> None:
    belongs = np.zeros((3, 5), dtype=np.float32)
    belongs[[0, 1, 2], [1, 2, 3]] = 1
    row = [0.4, 0.05, 0.02, 0.1, 0.43]
    tally = judge(DOG, [row] * 5, belongs=belongs)
    assert counted(tally, "det") == counted(tally, "modifier") == (1, 1)


def test_a_weight_of_zero_is_no_link() -> None:
    first = sentence("dog the", [ROOT, 0], "root det")
    assert counted(judge(first, [[1, 0], [0, 1]]), "det") == (0, 1)
    assert counted(judge(first, [[1, 0], [0.1, 0.9]]), "det") == (1, 1)


def test_a_causal_model_is_evaluated_on_links_to_the_left() -> None:
    # see(0) -> dogs(2) with "big": "see" is left of "dogs", "big" left of its head.
    see = sentence("see big dogs", [ROOT, 2, 0], "root amod obj")
    tally = judge(see, [[1, 0, 0], [0.5, 0.5, 0], [0.5, 0.3, 0.2]], causal=True)
    assert counted(tally, "obj") == (1, 1)
    assert counted(tally, "obj", 1) == (0, 0)
    assert counted(tally, "modifier") == (0, 0)
    assert counted(tally, "modifier", 1) == (1, 1)
    assert counted(tally, "any") == counted(tally, "any", 1) == (1, 1)


def test_where_directions_have_links_of_their_own_the_surer_one_is_best() -> None:
    tally = Tally(1, 1, causal=True)
    before = sentence("he runs", [1, ROOT], "nsubj root")
    after = sentence("runs he", [ROOT, 0], "root nsubj")
    weights = np.array([[[[1, 0], [0.5, 0.5]]]], dtype=np.float32)
    for _ in range(9):
        tally.add(before, weights, np.eye(2, dtype=np.float32))
    tally.add(after, weights, np.eye(2, dtype=np.float32))
    best = better_directions(tally.counted())["nsubj"]
    assert (best.direction, best.n) == (DIRECTIONS[1], 9)


def test_an_owners_link_starts_from_its_s_which_is_no_preposition() -> None:
    ball = sentence("the girl 's ball in town", [1, 3, 1, ROOT, 5, 3], "det nmod:poss case root case nmod")
    pairs = links(ball)
    assert pairs["possessor"] == ((2, 3),)
    assert pairs["preposition"] == ((4, 5),)
    assert links(sentence("her ball", [1, ROOT], "nmod:poss root"))["possessor"] == ((0, 1),)


def test_subtypes_and_punctuation_stay_out() -> None:
    pairs = links(sentence("was seen off .", [1, ROOT, 1, 1], "aux:pass root compound:prt punct"))
    assert pairs["passive"] == ((0, 1),)
    assert pairs["particle"] == ((2, 1),)
    assert pairs["aux"] == pairs["compound"] == ()
    assert pairs["any"] == ((0, 1), (2, 1))


TOM = sentence(
    "Tom fed dogs and he called him",
    [1, ROOT, 1, 5, 5, 1, 5],
    "nsubj root obj cc nsubj conj obj",
    "PROPN VERB NOUN CCONJ PRON VERB PRON",
    ((0, 4), (2, 6)),
)


def test_an_antecedent_is_sought_among_the_names_nouns_and_pronouns_before() -> None:
    assert references(TOM) == ((4, (0, 2), frozenset({0})), (6, (0, 2, 4), frozenset({2})))
    rows = np.zeros((7, 7))
    rows[4, [0, 1, 2, 6]] = [0.2, 0.5, 0.1, 0.2]  # the verb and what comes later are no candidates
    rows[6, [0, 2, 4]] = [0.1, 0.3, 0.6]
    tally = judge(TOM, rows.tolist())
    assert counted(tally, "coreference") == (1, 2)
    best = better_directions(tally)["coreference"]
    # One noun back is wrong twice; two nouns back is right twice.
    assert (best.offset, best.baseline_right) == (-2, 2)


def test_any_earlier_mention_is_an_antecedent() -> None:
    three = sentence("he he he", [ROOT, 0, 0], "root conj conj", "PRON PRON PRON", ((0, 1, 2),))
    assert [antecedents for _, _, antecedents in references(three)] == [{0}, {0, 1}]


@pytest.mark.parametrize(
    ("right", "n", "expected"),
    [(0, 10, (0.0, 0.2775)), (5, 10, (0.2366, 0.7634)), (10, 10, (0.7225, 1.0)), (0, 0, (0.0, 1.0))],
)
def test_wilsons_interval(right: int, n: int, expected: tuple[float, float]) -> None:
    assert wilson(right, n) == pytest.approx(expected, abs=5e-5)


def test_every_relation_is_explained() -> None:
    assert list(content("attention", "roles").front["relation"]) == list(LABELS)


@pytest.mark.parametrize("tokenizer", [WORDPIECE, BYTES, META])
def test_pieces_make_up_their_words(tokenizer: Any) -> None:
    words = ("The", "cat", "sat", "on", "Anna", "'s", "gardenmat", ",", "and", "looked", ".")
    spaces = (True, True, True, True, False, True, False, True, True, False, True)
    many = (0,) * len(words)
    sentence = Sentence("a", words, words, many, words, spaces)
    tokens = tokenize(Checkpoint(None, tokenizer, SPEC), sentence.text)  # type: ignore[arg-type]
    belongs = align(sentence, tokens)
    assert belongs.shape == (len(words), len(tokens))
    assert belongs.sum(0).max() == 1
    assert not belongs[:, [token.special for token in tokens]].any()
    assert belongs[6].sum() > 1
    for word, row in zip(words, belongs, strict=True):
        pieces = "".join(token.text for token, here in zip(tokens, row, strict=True) if here)
        assert pieces.lower().replace("[unk]", "'").replace("<unk>", "'") == word.lower()


def test_a_token_belongs_to_the_word_that_it_begins_in() -> None:
    not_ = Sentence("a", ("can", "not"), ("AUX", "PART"), (ROOT, 0), ("root", "advmod"), (False, True))
    belongs = align(not_, [Token(1, "cannot", "cannot", 0, 6)])
    assert belongs.tolist() == [[1], [0]]
    tally = Tally(1, 1, causal=False)
    tally.add(not_, np.ones((1, 1, 1, 1), dtype=np.float32), belongs)
    assert tally.counted() == ()


GOOD = """\
# sent_id = one
# text = Ann sees her dog.
1\tAnn\tAnn\tPROPN\t_\t_\t2\tnsubj\t_\tCoref=1
2\tsees\tsee\tVERB\t_\t_\t0\troot\t_\t_
3\ther\ther\tPRON\t_\t_\t4\tnmod:poss\t_\tCoref=1
4\tdog\tdog\tNOUN\t_\t_\t2\tobj\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

"""
RANGES = """\
# sent_id = two
# text = They don't run, but I'll.
1\tThey\tthey\tPRON\t_\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\t_\t_\t4\tadvmod\t_\t_
4\trun\trun\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
5\t,\t,\tPUNCT\t_\t_\t7\tpunct\t_\t_
6\tbut\tbut\tCCONJ\t_\t_\t7\tcc\t_\t_
7-8\tI'll\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
7\tI\tI\tPRON\t_\t_\t4\tconj\t_\t_
8\t'll\twill\tAUX\t_\t_\t7\torphan\t_\t_
8.1\trun\trun\tVERB\t_\t_\t_\t_\t4:conj\t_
9\t.\t.\tPUNCT\t_\t_\t4\tpunct\t_\t_

"""


def write(folder: Path, text: str) -> Path:
    path = folder / "some.conllu"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_sentence_is_read_with_words_from_0(tmp_path: Path) -> None:
    (sentence,) = read_treebank(write(tmp_path, GOOD))
    assert sentence.words == ("Ann", "sees", "her", "dog", ".")
    assert sentence.upos[2] == "PRON"
    assert sentence.heads == (1, ROOT, 3, 1, 1)
    assert sentence.relations == ("nsubj", "root", "nmod:poss", "obj", "punct")
    assert sentence.clusters == ((0, 2),)
    assert sentence.text == "Ann sees her dog."
    assert sentence.spans == ((0, 3), (4, 8), (9, 12), (13, 16), (16, 17))


def test_the_words_of_a_range_are_read_and_empty_nodes_are_skipped(tmp_path: Path) -> None:
    first, second = read_treebank(write(tmp_path, GOOD + RANGES))
    assert first.sent_id == "one"
    assert second.words == ("They", "do", "n't", "run", ",", "but", "I", "'ll", ".")
    assert second.text == "They don't run, but I'll."
    assert second.spans[7] == (21, 24)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("\n4\tdog", "\n6\tdog", "not numbered one after another"),
        ("2\tobj", "0\troot", "2 roots, not one"),
        ("0\troot", "1\tnsubj", "0 roots, not one"),
        ("0\troot", "0\tdep", "by its head or by its relation, but not by both"),
        ("2\tobj", "9\tobj", "“dog” has a head that is not in the sentence"),
        ("2\tobj", "_\tobj", "“dog” has a head that is not in the sentence"),
        ("2\tobj", "3\tobj", "form a cycle at “her”"),
        ("2\tobj", "4\tobj", "form a cycle at “her”"),
        ("SpaceAfter=No", "_", "the words make “Ann sees her dog .”, but"),
        ("# text = Ann sees her dog.\n", "", "but “# text” says “”"),
        ("# sent_id = one\n", "", "the first sentence: there is no line “# sent_id = ...”"),
        ("2\tobj", "2\tdobj", "“dog” has the relation dobj"),
        ("NOUN", "NN", "“dog” has the part of speech NN"),
        ("Coref=1\n2", "Coref=2\n2", "only mention with Coref=2"),
        ("\t2\tobj\t_\tSpaceAfter=No", "\t2\tobj", "word 4 has 8 of the ten columns"),
        ("4\tdog", "_\tdog", "a line has no number"),
        ("2\tobj", "two\tobj", "this is no CoNLL-U"),
        ("4\tdog\tdog\tNOUN", "dog", "this is no CoNLL-U"),
    ],
)
def test_what_is_not_a_tree_is_refused_with_file_sentence_and_reason(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    assert GOOD.count(old) == 1
    with pytest.raises(TreebankRefused) as refused:
        list(read_treebank(write(tmp_path, GOOD.replace(old, new))))
    said = str(refused.value)
    assert reason in said
    assert said.startswith("some.conllu, ")
    assert "one" in said or "first" in said
    assert said.endswith(".")


def test_the_sentence_after_a_good_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(TreebankRefused, match=r"some.conllu, the sentence after one: this is no CoNLL-U"):
        list(read_treebank(write(tmp_path, GOOD + "1\n")))


def test_files_that_are_no_treebank_get_a_sentence(tmp_path: Path) -> None:
    for text, reason in (("", "holds no sentence"), ("# text = nothing\n", "is this a CoNLL-U file?")):
        with pytest.raises(TreebankRefused, match=reason):
            list(read_treebank(write(tmp_path, text)))
    (tmp_path / "picture.conllu").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TreebankRefused, match="not text in UTF-8"):
        list(read_treebank(tmp_path / "picture.conllu"))
    with pytest.raises(TreebankRefused, match="cannot be read"):
        list(read_treebank(tmp_path))


def test_a_folder_is_its_files_in_order(tmp_path: Path) -> None:
    with pytest.raises(TreebankRefused, match="no file or folder"):
        files(tmp_path / "nowhere")
    with pytest.raises(TreebankRefused, match="no file that ends in"):
        files(tmp_path)
    for name in ("b.conllu", "a.conllu", "c.txt"):
        (tmp_path / name).write_text(GOOD)
    assert [path.name for path in files(tmp_path)] == ["a.conllu", "b.conllu"]
    assert files(tmp_path / "c.txt") == (tmp_path / "c.txt",)


def test_the_shipped_treebank_is_what_its_readme_says() -> None:
    sentences = list(read_treebank(SHIPPED))
    corefer = sum(bool(sentence.clusters) for sentence in sentences)
    words = sum(len(sentence.words) for sentence in sentences)
    assert len(sentences) >= 80
    assert corefer >= 40
    assert treebank.count(SHIPPED) == len(sentences)
    readme = (SHIPPED.parent / "README.md").read_text()
    assert f"{len(sentences)} English sentences, {words:,} words" in readme
    assert f"In {corefer} of them" in readme
    assert len({sentence.sent_id for sentence in sentences}) == len({s.text for s in sentences}) == len(sentences)


def test_the_shipped_annotation_agrees_with_itself() -> None:
    """Rules of the guidelines that a slip of the hand would break."""
    allowed = {
        "det": {"DET"},
        "case": {"ADP", "PART"},
        "punct": {"PUNCT"},
        "cc": {"CCONJ"},
        "aux": {"AUX"},
        "cop": {"AUX"},
        "aux:pass": {"AUX"},
        "mark": {"SCONJ", "PART"},
        "amod": {"ADJ", "VERB"},
        "advmod": {"ADV", "PART"},
        "compound:prt": {"ADP"},
        "compound": {"NOUN", "PROPN"},
        "nummod": {"NUM"},
        "nmod:poss": {"PRON", "NOUN", "PROPN"},
    }
    leaves = {"det", "case", "punct", "cc", "aux", "aux:pass", "cop", "mark", "compound:prt"}
    for s in read_treebank(SHIPPED):
        hanging = [[s.relations[i] for i, head in enumerate(s.heads) if head == word] for word in range(len(s.words))]
        for i, (relation, head) in enumerate(zip(s.relations, s.heads, strict=True)):
            assert s.upos[i] in allowed.get(relation, treebank.UPOS), (s.sent_id, s.words[i])
            assert relation not in leaves or not hanging[i], (s.sent_id, s.words[i])
            if relation in ("nsubj:pass", "obl:agent"):
                assert "aux:pass" in hanging[head], (s.sent_id, s.words[i])
            if relation == "obl:agent" or (relation == "nmod" and s.upos[i] == "NOUN"):
                assert "case" in hanging[i], (s.sent_id, s.words[i])
            if relation in ("det", "amod", "nmod:poss", "compound", "nummod"):
                assert head > i, (s.sent_id, s.words[i])
            low, high = sorted((i, head))
            crossing = [
                j for j, other in enumerate(s.heads) if other >= 0 and low < min(j, other) < high < max(j, other)
            ]
            assert head == ROOT or not crossing, (s.sent_id, s.words[i])
        assert all(s.upos[i] in {"NOUN", "PROPN", "PRON"} for mentions in s.clusters for i in mentions), s.sent_id
