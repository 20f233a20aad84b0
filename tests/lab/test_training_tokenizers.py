"""Tokenizers that are trained here: the order of their vocabularies, and merges by hand."""

from __future__ import annotations

import json

from lab import tokenizers as plain_bpe


def test_wordpiece_numbers_its_characters_in_the_same_order_in_every_process() -> None:
    """The library's own order is that of a hash table, which each process seeds anew."""
    tokenizer = plain_bpe.wordpiece(iter(["banana bandana cabana", "zebra kayak"]), 40)
    vocab = tokenizer.get_vocab()
    inside = [piece for piece in sorted(vocab, key=vocab.__getitem__) if piece.startswith("##") and len(piece) == 3]
    assert inside == sorted(inside)
    assert [vocab[name] for name in plain_bpe.BERT.values()] == list(range(5))
    assert tokenizer.encode("banana [MASK] cabana").tokens[2] == "[MASK]"


def test_its_merges_are_learned_by_count_and_end_at_words() -> None:
    """Of “ab ab abc”, ab</w> has two and ab before c one: a b</w> is joined first, then a b, then ab c</w>."""
    tokenizer = plain_bpe.plain_bpe(lambda: ["ab ab abc"], 20)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    assert [tuple(pair) for pair in merges] == [("a", "b</w>"), ("a", "b"), ("ab", "c</w>")]
    assert tokenizer.encode("abc ab").tokens == ["abc</w>", "ab</w>"]
    assert tokenizer.decode(tokenizer.encode("abc ab").ids) == "abc ab"
    assert tokenizer.encode("abx").tokens == ["ab", "<unk>"]
    assert tokenizer.get_added_tokens_decoder() == {}
    pieces_ = "<unk> b</w> c</w> a b c ab</w> ab abc</w>"
    assert sorted(tokenizer.get_vocab(), key=tokenizer.token_to_id) == pieces_.split()
