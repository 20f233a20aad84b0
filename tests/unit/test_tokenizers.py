"""Tokenizers: what is cut, told and lost, in figures; and files that would take minutes are refused."""

from __future__ import annotations

import time
from math import exp, isclose
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import anatomy
from core.checkpoints.tokenizer_file import slow
from core.errors import AtlasError, InputEmpty, InputTooLong
from core.figures import tree
from core.theme import DARK, LIGHT
from core.tokenizers import bpe, unigram, wordpiece
from core.tokenizers.cut import Lost, Tokenization, cut, lost, measured, normalized, words
from core.tokenizers.known import FAMILIES, TokenizerInfo, end_of_word, engine, known, piece_scores, ranks
from core.tokenizers.samples import MOST, SAMPLES, languages, whole
from core.tokenizers.share import counted, shares

HERE = {one.slug: one for one in known()}
FAMILY = "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{ZERO WIDTH JOINER}\N{GIRL}"


def pieces(slug: str, text: str) -> list[str]:
    return [token.piece for token in cut(HERE[slug], text).tokens]


def test_every_kind_is_here_and_equal_files_are_one() -> None:
    assert [tokenizer_info.family for tokenizer_info in known()] == sorted(
        (tokenizer_info.family for tokenizer_info in known()), key=list(FAMILIES).index
    )
    assert {tokenizer_info.family for tokenizer_info in known()} == set(FAMILIES)
    shared = HERE["atlas-bert"]
    assert {"Atlas BERT", "Atlas ALBERT", "Atlas XLNet"} <= set(shared.models)
    assert "atlas-albert" not in HERE
    assert HERE["minilm"].size == 30522
    assert HERE["minilm"].models[0] == "MiniLM"
    assert HERE["atlas-gpt-2"].family == "bpe"
    assert HERE["atlas-byt5"].family == HERE["atlas-reformer"].family == "bytes"


def test_another_folder_s_tokenizer_is_listed_and_a_broken_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from core.checkpoints import registry

    specs = registry.available()
    good, bad = tmp_path / "good", tmp_path / "bad"
    for folder in (good, bad):
        folder.mkdir()
    file = HERE["atlas-xlm"].file
    other = file.read_text(encoding="utf-8").replace('"lowercase":true', '"lowercase":false')
    (good / "tokenizer.json").write_text(other.replace('"lowercase": true', '"lowercase": false'), encoding="utf-8")
    (bad / "tokenizer.json").write_text("{}", encoding="utf-8")
    mine = [
        replace(specs[0], slug=folder.name, name=folder.name, source="directory", location=str(folder), ready=True)
        for folder in (good, bad)
    ]
    monkeypatch.setattr(registry, "available", lambda: (*specs, *mine))
    slugs = {tokenizer_info.slug for tokenizer_info in known()}
    assert "good" in slugs
    assert "bad" not in slugs


def test_one_word_under_every_kind_by_hand() -> None:
    assert pieces("minilm", "Owls!") == ["owls", "!"]
    assert pieces("atlas-byt5", "é!") == ["Ã", "©", "!"]
    assert [token.text for token in cut(HERE["atlas-byt5"], "é!").tokens] == ["‹c3›", "‹a9›", "!"]
    assert [token.id for token in cut(HERE["characters"], "aé").tokens] == [97, 233]
    assert pieces("words", "The owl xyzzy.") == ["the", "owl", "[UNK]", "."]


def test_plain_bpe_marks_the_end_of_a_word_and_keeps_capitals() -> None:
    tokenization = cut(HERE["bpe"], "The owl, the 猫!")
    assert [token.piece for token in tokenization.tokens] == [
        "The</w>",
        "owl</w>",
        ",</w>",
        "the</w>",
        "<unk>",
        "!</w>",
    ]
    assert [token.text for token in tokenization.tokens] == ["The", "owl", ",", "the", "<unk>", "!"]
    assert tokenization.unknown == {4}
    assert lost(tokenization).unknown == ("猫",)
    *inside, last = cut(HERE["bpe"], "xowlx owl").tokens
    assert [token.continuation for token in inside[:2]] == [False, True]
    assert (last.piece, last.continuation) == ("owl</w>", False)
    assert "owl</w>" not in [token.piece for token in inside]


def test_pieces_say_where_they_stand_and_whether_they_go_on() -> None:
    tokenization = cut(HERE["atlas-gpt-2"], "The blacksmith")
    assert "".join((" " if t.leading_space else "") + t.text for t in tokenization.tokens) == "The blacksmith"
    assert [(t.start, t.end) for t in tokenization.tokens][:2] == [(0, 3), (4, 9)]
    assert [t.continuation for t in tokenization.tokens] == [False, False, True, True]
    assert tokenization.characters == 14 / 4
    assert cut(HERE["atlas-byt5"], "é").bytes == 1.0


def test_a_mark_that_somebody_types_is_special() -> None:
    tokenization = cut(HERE["atlas-bert"], "a [MASK] b")
    assert [token.special for token in tokenization.tokens] == [False, True, False]
    assert not tokenization.unknown


TEXTS = (
    *(" ", " \t\n ", "\x00", FAMILY, "שלום עולם", "مرحبا", "</script><script>alert(1)</script>", "\u202eabc", "\ufffd"),
    *("a" * 200, "# **x** $y$ [a](b) `c`", "e\u0301", "x" * 3000, *SAMPLES.values()),
)


@pytest.mark.parametrize("slug", sorted(HERE))
def test_whatever_is_typed_is_cut_and_told(slug: str) -> None:
    for text in TEXTS:
        tokenization = cut(HERE[slug], text)
        assert all(0 <= token.start <= token.end <= len(text) for token in tokenization.tokens)
        said = lost(tokenization).summary()
        assert said
        if tokenization.by.family in ("bytes", "characters"):
            assert tokenization.decoded == text
            assert said == "lossless round trip"
        if tokenization.by.family == "bytes":
            marks = sum(
                len(token.piece) - 1 for token in tokenization.tokens if token.special
            )  # </s> typed is one token
            assert tokenization.count == len(text.encode()) - marks
        if tokenization.by.family == "bpe" and tokenization.decoded != text:
            assert tokenization.decoded == " " + text  # BART's puts a blank before every text


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=40))
def test_bytes_come_back_from_every_text_and_nothing_breaks(text: str) -> None:
    for slug in ("atlas-byt5", "atlas-gpt-2"):
        assert cut(HERE[slug], text).decoded == text
    for slug in ("minilm", "atlas-t5", "words"):
        assert lost(cut(HERE[slug], text)).summary()


def test_what_is_lost_is_counted() -> None:
    lost_pieces = lost(cut(HERE["minilm"], "Zoé  saw THE owl, 3 xyz"))
    assert lost_pieces.capitals == 4
    assert lost_pieces.accents == 1
    assert lost_pieces.spaces_removed == 1
    assert not lost_pieces.unknown
    assert lost(cut(HERE["atlas-xlm"], "Café")).accents == 0
    assert lost(cut(HERE["atlas-bert"], "a\x07b c")).dropped == 1
    assert lost(cut(HERE["atlas-bert"], "the 猫 sat")).unknown == ("猫",)
    assert lost(cut(HERE["atlas-t5"], "ﬁve")).rewritten != ()
    assert lost(cut(HERE["atlas-t5"], "a  b")) == Lost(True)


def test_the_check_of_a_text_keeps_spaces_and_replaces_lone_surrogates() -> None:
    assert whole(" \ta\x00 ") == " \ta\x00 "
    assert whole("a\ud83db") == "a\ufffdb"
    with pytest.raises(InputEmpty):
        whole("")
    with pytest.raises(InputTooLong, match="10,000"):
        whole("x" * 10_000)
    assert len(whole("x" * MOST)) == MOST


WORDS = ("woodcutters", "unbelievably", "naïve", "猫", "x", "misunderstandings", "Donaudampfschiff", "''''")


@pytest.mark.parametrize("word", WORDS)
def test_steps_end_where_the_library_ends(word: str) -> None:
    for tokenizer_info in known():
        if tokenizer_info.family not in ("bpe", "letter-bpe", "wordpiece", "unigram"):
            continue
        for part in words(tokenizer_info, word):
            expected = [token.value for token in engine(tokenizer_info).model.tokenize(part)]
            if tokenizer_info.family == "bpe":
                assert list(bpe.encode(list(part), ranks(tokenizer_info))) == expected
            elif tokenizer_info.family == "letter-bpe":
                ends = bpe.encode(bpe.symbols(part, end_of_word(tokenizer_info)), ranks(tokenizer_info))
                listed = engine(tokenizer_info).get_vocab(with_added_tokens=False)
                assert [piece if piece in listed else "<unk>" for piece in ends] == expected
            elif tokenizer_info.family == "wordpiece":
                pieces = wordpiece.match(part, engine(tokenizer_info).get_vocab(with_added_tokens=False)).pieces
                assert (list(pieces) if pieces else ["[UNK]"]) == [
                    piece.replace("<unk>", "[UNK]") for piece in expected
                ]
            else:
                path = unigram.best(unigram.lattice(part, piece_scores(tokenizer_info)))
                assert list(path.pieces) == expected


def test_bpe_gets_the_space_before_a_word_and_wordpiece_gets_lowercase() -> None:
    assert words(HERE["atlas-gpt-2"], "Owls") == ("ĠOwls",)
    assert words(HERE["atlas-bert"], "Ówls x") == ("owls", "x")
    assert words(HERE["atlas-t5"], "owls") == ("▁owls",)


@pytest.mark.parametrize("text", ["", "   ", "\n", "x" * 41])
def test_a_word_that_cannot_be_followed_gets_a_sentence(text: str) -> None:
    for slug in ("atlas-gpt-2", "atlas-bert", "atlas-t5"):
        with pytest.raises(AtlasError):
            words(HERE[slug], text)


def test_scores_are_logarithms_of_probabilities() -> None:
    log_probabilities = piece_scores(HERE["atlas-t5"])
    assert sum(exp(score) for score in log_probabilities.values() if score < 0) == pytest.approx(1, abs=0.02)
    assert {piece for piece, score in log_probabilities.items() if score == 0} == {"<pad>", "</s>", "<unk>"}


def test_the_languages_are_parallel_and_only_bytes_always_work() -> None:
    names = languages()
    assert names[0].slug == "english"
    assert 8 <= len(names) <= 12
    assert len({entry.slug for entry in names}) == len(names)
    chinese = next(entry for entry in names if entry.slug == "chinese")
    for entry in names:
        assert entry.text == entry.text.strip()
        assert not cut(HERE["atlas-byt5"], entry.text).unknown
    mine, english = cut(HERE["atlas-byt5"], chinese.text), cut(HERE["atlas-byt5"], names[0].text)
    assert isclose(measured(mine, "characters", english), 1 / 3)
    assert measured(mine, "bytes", english) == 1
    assert measured(mine, "tokens", english) == len(chinese.text.encode()) / len(names[0].text)
    assert cut(HERE["atlas-bert"], chinese.text).unknown


def test_shares_are_the_published_ones() -> None:
    known_ = {(share.slug, share.size): share for share in shares()}
    # ByT5's paper prints 66% for mT5 base, 27% for xl and 16% for xxl
    assert [round(100 * known_["mt5", size].share) for size in ("base", "xl", "xxl")] == [66, 27, 16]
    assert known_["bert", "base"].embeddings == 30522 * 768
    assert known_["bert", "base"].output == 0
    assert known_["llama", "7B"].output == 32000 * 4096
    assert known_["xlnet", "base"].output == 32000  # only the bias: the matrix is the one that reads
    assert known_["byt5", "small"].share < 0.002
    assert known_["dall-e", "12B"].vocabulary == 16384  # image tokens are no words
    assert known_["dall-e", "12B"].output == 16384 * 3968 + 16384
    assert all(0 <= share.share < 1 for share in shares())
    assert counted(anatomy.tree("elmo"))[0] == 0


def test_pictures_hold_what_they_are_given() -> None:
    steps = bpe.merges("lower", {("l", "o"): 0, ("lo", "w"): 1})
    merged = tree.merge_tree(
        list("lower"), [(step.at, step.left + step.right, step.rank) for step in steps], theme=LIGHT
    )
    assert [a.text for a in merged.layout.annotations] == ["<b>lo</b>", "<b>low</b>"]
    assert list(merged.data[-1].x) == [0.5, 1.25]
    assert list(merged.data[-1].y) == [1, 2]
    match = wordpiece.match("<b>", {"<", "##b", "##>"})
    picture = tree.tries("<b>", match.tries, theme=LIGHT)
    assert sum(len(trace.base) for trace in picture.data) == len(match.tries)
    assert "<b>" not in picture.to_json()
    web = unigram.lattice("ab", {"a": -1.0, "b": -1.0, "ab": -1.5})
    arcs = tree.lattice("ab", web.edges, unigram.weights(web), unigram.best(web).edges, theme=DARK)
    assert len(arcs.data) == len(web.edges) + 1
    assert [a.text for a in arcs.layout.annotations] == ["<b>ab</b>"]


@pytest.mark.parametrize(
    ("slug", "text", "said"),
    [
        ("atlas-bart", "ප්\u200dරකාශක", "spaces inserted at 1 position"),
        ("atlas-t5", "？……", "“？” became “?” and 2 more"),
        ("atlas-t5", "ﬁne ① Ⅷ ½", "“ﬁ” became “fi” and 3 more"),
        ("atlas-t5", "cafe\u0301", "1 character with other code points"),
        ("minilm", "cafe\u0301", "1 accent lost"),
        ("minilm", "İstanbul IŞIK ılık", "5 capitals lost; 2 accents lost"),
        ("minilm", "हिन्दी", "1 combining mark lost"),
        ("minilm", "a\nb", "“⏎” became “␣”"),
        ("minilm", "[UNK] 💩 x", "1 unknown token (“💩”)"),
        ("atlas-t5", "a\nb", "1 unknown token (“⏎”)"),
    ],
)
def test_losses_count_what_readers_call_characters(slug: str, text: str, said: str) -> None:
    assert lost(cut(HERE[slug], text)).summary() == said


def test_what_a_normalizer_drops_is_known() -> None:
    assert normalized(HERE["minilm"], "Hacía") == "hacia"
    assert normalized(HERE["atlas-gpt-2"], "Hacía") == "Hacía"


def test_a_text_without_pieces_is_wholly_lost() -> None:
    nothing = Tokenization(TokenizerInfo("x", "x", "wordpiece", 1, (), None), " ", (), frozenset(), "")
    assert nothing.characters == 1.0
    assert lost(nothing).spaces_removed == 1


CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
QUICK = {
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "Llama 3": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{SPACES}",
    "GPT-4o": rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{CONTRACTIONS}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
    rf"{CONTRACTIONS}?|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{SPACES}",
    "DeepSeek": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{SPACES}",
    "BLOOM": r" ?[^(\s|[.,!?…。，、।۔،])]+",
    "T5": " {2,}",
    "CLIP": r"<\|startoftext\|>|<\|endoftext\|>|'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",
    "words and marks": r"\w+|[^\w\s]+",
    "a class in a class": r"[一-龥&&[^龥]]+|(?:[^xy]*[xy])",
    "nothing": "",
}
SLOW = {
    "a minute for 3,000 letters": r"[a-z]+[a-z]*\d",
    "a group repeated": r"(a+)+$",
    "alternatives repeated": r"(a|a)*$",
    "a group repeated a few times": r"(?:\p{L}+\s?){2,9}$",
    "three runs of blanks": r"\s*\s*\s*x",
    "options": "a?" * 30 + "a" * 30,
    "repetitions in groups": r"(a*|b)c*",
    "a look ahead": r"x*(?=y*z)",
    "repeated twice": r"a{1,9}{1,9}",
    "a reference": r"(\w)\1",
    "a group that calls itself": r"(?<n>a|b\g<n>c)",
    "a condition": r"(?(1)a|b)",
    "half an escape": "\\",
    "three that may be in vain": "a*b|c*d|(?:e*f)",
    "a published one continued": r"\s*[\r\n]+x*",
    "too long": "a" * 1_001,
}


@pytest.mark.parametrize("name", QUICK)
def test_published_patterns_are_accepted_and_quick(name: str) -> None:
    from tokenizers import Regex, pre_tokenizers

    assert not slow(QUICK[name])
    if QUICK[name]:
        split = pre_tokenizers.Split(Regex(QUICK[name]), "isolated")
        begin = time.process_time()
        for piece in ("a", "A", "b\u0301", "語", " ", "\n ", "x", ".", "1", "'s"):
            split.pre_tokenize_str((piece * 4_000)[:4_000] + "!")
        assert time.process_time() - begin < 10


@pytest.mark.parametrize("name", SLOW)
def test_patterns_that_may_take_minutes_are_not(name: str) -> None:
    assert slow(SLOW[name])
