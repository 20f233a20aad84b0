"""Regular expressions of a host's tokenizer: published ones and quick ones are accepted, others are not."""

from __future__ import annotations

import time

import pytest

from core.checkpoints.tokenizer_file import slow

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
