"""One sentence for models of different kinds: words, masks by word, and bits per byte by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from core import checkpoints
from core.attention import word_maps
from core.errors import InputTooLong, InputUnusable
from core.language.replaced import Detection
from core.language.side_by_side import (
    Continued,
    Filled,
    Rewritten,
    answer,
    bits_per_byte,
    carry_over,
    default_mask,
    masked,
    split,
)

TEXT = "The cat sat on the mat."


def test_words_marks_and_typed_masks() -> None:
    parts = split("Tom's [MASK], well-known <mask>!")
    assert [word.text for word in parts] == ["Tom's", "[MASK]", ",", "well-known", "<mask>", "!"]
    assert [word.mask for word in parts] == [False, True, False, False, True, False]
    assert [word.is_word for word in parts] == [True, False, False, True, False, False]
    assert split("") == ()


def test_the_last_word_is_masked_unless_a_mask_was_typed() -> None:
    assert default_mask(split(TEXT)) == (5,)
    assert default_mask(split("The [MASK] sat.")) == ()
    assert default_mask(split("...")) == ()


def test_masked_words_move_with_the_sentence() -> None:
    before = [word.text for word in split(TEXT)]
    now = [word.text for word in split("The old cat sat on the mat.")]
    assert carry_over(before, now, (1, 5)) == (2, 6)
    gone = [word.text for word in split("The cat sat on the roof.")]
    assert carry_over(before, gone, (1, 5)) == (1,)
    assert carry_over(before, ["Once", "upon", "a", "time"], (1,)) is None


def test_each_masked_word_becomes_one_mask_token() -> None:
    words = split(TEXT)
    assert masked(TEXT, words, (1, 5)) == "The [MASK] sat on the [MASK]."
    assert masked(TEXT, words, ()) == TEXT


def test_an_encoder_fills_its_own_masks(checkpoint_dir: Path) -> None:
    prediction = answer(checkpoints.load("dir-tiny-bert"), TEXT, (1, 5))
    assert isinstance(prediction, Filled)
    mask = checkpoints.load("dir-tiny-bert").tokenizer.mask_token_id
    assert [prediction.tokens[guess.position].id for guess in prediction.predictions] == [mask, mask]
    assert [part.position is not None for part in prediction.filled].count(True) == 2


def test_a_decoder_continues_before_the_first_masked_word(checkpoint_dir: Path) -> None:
    prediction = answer(checkpoints.load("dir-tiny-gpt2"), TEXT, (5,))
    assert isinstance(prediction, Continued)
    assert (prediction.prompt, prediction.truncated) == ("The cat sat on the", True)
    assert len(prediction.steps) <= 20
    full = answer(checkpoints.load("dir-tiny-gpt2"), TEXT)
    assert isinstance(full, Continued)
    assert (full.prompt, full.truncated) == (TEXT, False)
    assert full.bits_per_byte == prediction.bits_per_byte  # both of the whole sentence
    with pytest.raises(InputUnusable, match="no context before"):
        answer(checkpoints.load("dir-tiny-gpt2"), TEXT, (0,))


def test_an_encoder_decoder_gets_the_whole_sentence(checkpoint_dir: Path) -> None:
    hidden, full = (answer(checkpoints.load("dir-tiny-t5"), TEXT, words) for words in ((5,), ()))
    assert isinstance(hidden, Rewritten)
    assert isinstance(full, Rewritten)
    assert hidden.output == full.output != ()
    assert len(full.steps) <= 60
    with pytest.raises(InputUnusable, match="no use for a mask"):
        answer(checkpoints.load("dir-tiny-t5"), "The [MASK] sat.")


def test_a_discriminator_classifies_the_sentence_unchanged() -> None:
    loaded = checkpoints.load("atlas-electra")
    text = "The king ate a chair for dinner."
    prediction = answer(loaded, text, (2,))
    assert isinstance(prediction, Detection)
    assert prediction.masked == ()
    assert [token.id for token in prediction.after] == loaded.tokenizer(text)["input_ids"]
    ids = torch.tensor([[token.id for token in prediction.after]])
    with torch.inference_mode():
        expected = loaded.model(input_ids=ids).logits[0].sigmoid().tolist()
    assert prediction.probabilities == pytest.approx(expected, abs=1e-6)
    with pytest.raises(InputUnusable, match="no use for a mask"):
        answer(loaded, "The [MASK] sat.")


def test_a_long_text_and_a_kind_that_answers_otherwise_get_sentences(checkpoint_dir: Path) -> None:
    from dataclasses import replace

    loaded = checkpoints.load("dir-tiny-bert")
    with pytest.raises(InputTooLong, match="600"):
        answer(loaded, "word " * 200, (0,))
    strange = replace(loaded, spec=replace(loaded.spec, kind="adapters"))
    with pytest.raises(InputUnusable, match="cannot run yet"):
        answer(strange, TEXT, (0,))


def test_a_model_that_expects_nothing_spends_the_same_bits_on_every_token(checkpoint_dir: Path) -> None:
    """With all scores equal, p = 1/V, so n tokens cost n log2 V bits."""
    loaded = checkpoints.load("dir-tiny-gpt2")
    vocabulary = loaded.model.config.vocab_size
    count = len(loaded.tokenizer(TEXT)["input_ids"])
    before = loaded.model.transformer.ln_f.weight.clone(), loaded.model.transformer.ln_f.bias.clone()
    try:
        loaded.model.transformer.ln_f.weight.data.zero_()
        loaded.model.transformer.ln_f.bias.data.zero_()
        bits = bits_per_byte(loaded, TEXT)
    finally:
        loaded.model.transformer.ln_f.weight.data.copy_(before[0])
        loaded.model.transformer.ln_f.bias.data.copy_(before[1])
    assert bits == pytest.approx(count * float(torch.log2(torch.tensor(vocabulary))) / len(TEXT.encode()))


def test_bits_per_byte_of_what_does_not_fit_are_not_made_up(checkpoint_dir: Path) -> None:
    assert bits_per_byte(checkpoints.load("dir-tiny-gpt2"), TEXT * 10) is None


def test_weight_on_both_sides_by_hand() -> None:
    """A head that looks both ways, one that looks back, and one on itself."""
    both = [[0.5, 0.5, 0.0], [0.4, 0.2, 0.4], [0.0, 0.5, 0.5]]  # only the middle word has words on both sides
    back = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    heads = np.array([[both, back, np.eye(3)]], np.float32)
    assert word_maps.on_both_sides(heads).tolist() == [pytest.approx([0.4 / 3, 0, 0])]
