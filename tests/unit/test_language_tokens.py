"""A visitor's text at the gate, its tokens as people see them, and a part of it that fits."""

from __future__ import annotations

from typing import Any

import pytest
import transformers

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong
from core.language.text import LONGEST, clean, last_window, window
from core.language.tokens import Wording, describe, known_ids, label, pieces_of, read_piece, style, tokenize, words
from core.words import visible
from tests import tiny, tinyfamilies


def _with(tokenizer: Any) -> Checkpoint:
    return Checkpoint(None, tokenizer, tinyfamilies.spec_of("tiny", "masked-lm"))  # type: ignore[arg-type]


WORDPIECE, BYTES, META = tiny.wordpiece_tokenizer(), tiny.bytelevel_tokenizer(), tiny.metaspace_tokenizer()


def test_styles_are_recognized() -> None:
    assert [style(t) for t in (WORDPIECE, BYTES, META)] == ["wordpiece", "byte-level", "sentencepiece"]


@pytest.mark.parametrize(
    ("piece", "kind", "expected"),
    [
        ("##ing", "wordpiece", ("ing", False, True)),
        ("##", "wordpiece", ("##", False, False)),
        ("Ġthe", "byte-level", ("the", True, False)),
        ("Ċ", "byte-level", ("\n", False, False)),
        ("Ã©", "byte-level", ("é", False, False)),
        ("ðŁ", "byte-level", ("‹f0 9f›", False, False)),
        ("▁the", "sentencepiece", ("the", True, False)),
        ("<0x0A>", "sentencepiece", ("\n", False, False)),
        ("<0xC3>", "sentencepiece", ("‹c3›", False, False)),
        ("<0x0A>", "wordpiece", ("<0x0A>", False, False)),
        ("the</w>", "end-of-word", ("the", False, False)),
        ("日本", "byte-level", ("日本", False, False)),
    ],
)
def test_pieces_read_without_their_marks(piece: str, kind: Any, expected: tuple[str, bool, bool]) -> None:
    assert read_piece(piece, kind) == expected


@pytest.mark.parametrize("tokenizer", [WORDPIECE, BYTES, META])
@pytest.mark.parametrize("text", ["The cat sat.", "Le chat dort", "  the dog", "dogs, cats and mats"])
def test_offsets_point_at_the_words(tokenizer: Any, text: str) -> None:
    for token in tokenize(_with(tokenizer), text):
        if not token.special and token.start >= 0:
            assert text[token.start : token.end].lower() == token.text.lower()


@pytest.mark.parametrize("tokenizer", [WORDPIECE, BYTES, META])
def test_pieces_of_one_word_share_its_number(tokenizer: Any) -> None:
    text = "garden gardencat, dog"
    tokens = tokenize(_with(tokenizer), text, special=False)
    numbers = words(tokens)
    said: dict[int, str] = {}
    for token, number in zip(tokens, numbers, strict=True):
        if token.text:
            said[number] = said.get(number, "") + token.text
    assert "gardencat" in said.values()
    assert "," in said.values()
    assert len(tokens) > len(said)


def test_leading_spaces_are_marked_where_the_vocabulary_knows_them() -> None:
    assert [t.leading_space for t in tokenize(_with(BYTES), "The cat")] == [False, True]
    assert not any(t.leading_space for t in tokenize(_with(WORDPIECE), "The cat"))


def test_special_tokens_have_no_offsets_in_the_text() -> None:
    tokens = tokenize(_with(WORDPIECE), "the cat")
    assert [t.special for t in tokens] == [True, False, False, True]
    assert (tokens[0].start, tokens[-1].end) == (-1, -1)


def test_an_emoji_in_bytes_is_one_word() -> None:
    tokens = tokenize(_with(BYTES), "🤖")
    assert [t.text for t in tokens] == ["‹f0›", "‹9f›", "‹a4›", "‹96›"]
    assert words(tokens) == (0, 0, 0, 0)


def test_describing_bare_ids_needs_no_text() -> None:
    ids = BYTES("The cat")["input_ids"]
    assert [t.text for t in describe(BYTES, ids)] == ["The", "cat"]


def test_labels_are_never_blank() -> None:
    for tokenizer in (WORDPIECE, BYTES, META):
        assert all(label(tokenizer, i).strip() for i in range(len(tokenizer)))
    assert visible(" a\nb") == "␣a⏎b"


def _byte_fallback(decoder: Any) -> Any:
    """Two words, and a piece for each byte; of ▁ alone there is no piece, of Ġ there is."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁cat", "▁dog", "Ġ"]
    vocabulary = {name: number for number, name in enumerate(names)}
    backend = Tokenizer(models.BPE(vocabulary, [], byte_fallback=True, unk_token="<unk>"))
    backend.decoder = decoder
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>")


class _Slow(transformers.PythonBackend):
    """A slow tokenizer, which raises an error for an id that it does not know, as SentencePiece does."""

    pieces = ("<unk>", "▁the", "▁cat", "s")

    @property
    def vocab_size(self) -> int:
        return len(self.pieces)

    def get_vocab(self) -> dict[str, int]:
        return {piece: number for number, piece in enumerate(self.pieces)}

    def _convert_token_to_id(self, token: str) -> int:
        return self.get_vocab().get(token, 0)

    def _convert_id_to_token(self, index: int) -> str:
        return self.pieces[index]


def test_an_id_beyond_the_tokenizer_has_its_number() -> None:
    """A model's table may be longer than its tokenizer's vocabulary, so such an id may be predicted."""
    for tokenizer in (WORDPIECE, BYTES, META, _Slow(unk_token="<unk>")):
        beyond, last = len(tokenizer) + 7, len(tokenizer) - 2
        shown = f"‹id {beyond}›"
        assert pieces_of(tokenizer, [last, beyond])[1] == label(tokenizer, beyond) == shown
        assert [token.text for token in describe(tokenizer, [last, beyond])][1] == shown
        wording = Wording(tokenizer)
        assert wording.token(beyond) == shown
        assert wording.text([last, beyond]) == wording.text([last])
        assert known_ids(tokenizer, [last, beyond]) == [last]


@pytest.mark.parametrize("merges", [True, False])
def test_bytes_of_a_sentencepiece_vocabulary_read_and_are_written_as_characters(merges: bool) -> None:
    from tokenizers import decoders

    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer = _byte_fallback(decoders.Sequence(parts) if merges else decoders.Metaspace())
    assert style(tokenizer) == "sentencepiece"
    ids = tokenizer.convert_tokens_to_ids(["▁cat", "<0x0A>", "▁dog", "<0xC3>", "<0xA9>", "<0xC3>"])
    assert [token.text for token in describe(tokenizer, ids)] == ["cat", "\n", "dog", "‹c3›", "‹a9›", "‹c3›"]
    assert label(tokenizer, ids[1]) == "⏎"
    wording = Wording(tokenizer)
    assert wording.token(ids[1]) == "\n"
    assert wording.text(ids[:-1]).strip() == "cat\n dogé"


@pytest.mark.parametrize("text", ["", "   ", "\n\t\n", "\x00\x01\x1f", "\u202e\u2066", "\ud83d"])
def test_nothing_readable_is_empty(text: str) -> None:
    with pytest.raises(InputEmpty, match="choose a sample"):
        clean(text)


def test_control_characters_go_and_spaces_collapse() -> None:
    assert clean("a\x00b\x07c  d\te\r\nf") == "abc d e f"


def test_lines_stay_when_asked() -> None:
    assert clean("a  b \r\n\r\n\r\n\r\nc\u2028d", newlines=True) == "a b\n\nc\nd"


@pytest.mark.parametrize(
    "text",
    [
        "שלום עולם",
        "مرحبا بالعالم",
        "🤖👩\u200d🔬🎈",
        "</script><script>alert(1)</script>",
        "**bold** $x^2$ [a](b)",
        "日本語 テスト",
    ],
)
def test_text_of_any_kind_stays(text: str) -> None:
    assert clean(text) == text


def test_accents_are_composed() -> None:
    assert clean("Cafe\u0301") == "Café"


def test_overrides_of_direction_go_but_joiners_stay() -> None:
    assert clean("a\u202ebc\u202c 👩\u200d🔬") == "abc 👩\u200d🔬"


def test_too_long_says_both_numbers() -> None:
    with pytest.raises(InputTooLong, match="100,000 characters; at most 2,000"):
        clean("x" * 100_000, 2_000)
    assert len(clean("x" * 2_000, 2_000)) == 2_000


TEN = " ".join(f"w{n}" for n in range(1, 11))


def count_words(text: str) -> int:
    return len(text.split())


def framed(text: str) -> int:
    return count_words(text) + 2


def letters(text: str) -> int:
    return len(text.encode())


def test_what_fits_is_read_whole() -> None:
    part = window(TEN, framed, count_words, 12, 4, 6)
    assert (part.text, part.first, part.last, part.total) == (TEN, 1, 10, 10)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (None, None, (1, 4, "w1 w2 w3 w4")),
        (3, None, (3, 6, "w3 w4 w5 w6")),
        (3, 5, (3, 5, "w3 w4 w5")),
        (3, 9, (3, 6, "w3 w4 w5 w6")),
        (8, None, (8, 10, "w8 w9 w10")),
        (99, 2, (10, 10, "w10")),
        (0, 0, (1, 4, "w1 w2 w3 w4")),
    ],
)
def test_tokens_are_chosen_by_number(first: int | None, last: int | None, expected: tuple[int, int, str]) -> None:
    part = window(TEN, framed, count_words, 6, first, last)
    assert (part.first, part.last, part.text) == expected


def test_a_part_begins_with_a_word() -> None:
    part = window("aaa bbb ccc", letters, letters, 8, 6)  # " bbb" has the bytes 4 to 7
    assert (part.text, part.first, part.last, part.total) == ("bbb ccc", 4, 11, 11)


def test_a_text_without_spaces_is_split_inside() -> None:
    part = window("x" * 100, letters, letters, 40)
    assert part.text == "x" * (40 // LONGEST * LONGEST)


def test_the_end_of_a_text() -> None:
    assert last_window(TEN, framed, count_words, 6).text == "w7 w8 w9 w10"
    assert last_window(TEN, framed, count_words, 12).text == TEN


def test_what_grows_when_it_is_cut_is_counted_again() -> None:
    part = window(TEN, lambda text: 2 * count_words(text), count_words, 6)
    assert part.text == "w1 w2 w3"
