"""Treebanks: the reader, its refusals, and the one that is shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.attention.roles import treebank
from core.attention.roles.treebank import ROOT, SHIPPED, files, read
from core.errors import TreebankRefused

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
    (sentence,) = read(write(tmp_path, GOOD))
    assert sentence.words == ("Ann", "sees", "her", "dog", ".")
    assert sentence.lemmas[1] == "see"
    assert sentence.upos[2] == "PRON"
    assert sentence.heads == (1, ROOT, 3, 1, 1)
    assert sentence.relations == ("nsubj", "root", "nmod:poss", "obj", "punct")
    assert sentence.clusters == ((0, 2),)
    assert sentence.text == "Ann sees her dog."
    assert sentence.spans == ((0, 3), (4, 8), (9, 12), (13, 16), (16, 17))


def test_the_words_of_a_range_are_read_and_empty_nodes_are_skipped(tmp_path: Path) -> None:
    first, second = read(write(tmp_path, GOOD + RANGES))
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
        ("2\tobj", "9\tobj", "“dog” hangs on a word that is not there"),
        ("2\tobj", "_\tobj", "“dog” hangs on a word that is not there"),
        ("2\tobj", "3\tobj", "in a circle at “her”"),
        ("2\tobj", "4\tobj", "in a circle at “her”"),
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
        list(read(write(tmp_path, GOOD.replace(old, new))))
    said = str(refused.value)
    assert reason in said
    assert said.startswith("some.conllu, ")
    assert "one" in said or "first" in said
    assert said.endswith(".")


def test_the_sentence_after_a_good_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(TreebankRefused, match=r"some.conllu, the sentence after one: this is no CoNLL-U"):
        list(read(write(tmp_path, GOOD + "1\n")))


def test_files_that_are_no_treebank_get_a_sentence(tmp_path: Path) -> None:
    for text, reason in (("", "holds no sentence"), ("# text = nothing\n", "is this a CoNLL-U file?")):
        with pytest.raises(TreebankRefused, match=reason):
            list(read(write(tmp_path, text)))
    (tmp_path / "picture.conllu").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TreebankRefused, match="not text in UTF-8"):
        list(read(tmp_path / "picture.conllu"))
    with pytest.raises(TreebankRefused, match="cannot be read"):
        list(read(tmp_path))


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
    sentences = list(read(SHIPPED))
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
    for s in read(SHIPPED):
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
