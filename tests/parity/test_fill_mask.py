"""Masked words against transformers' own fill-mask pipeline and forward passes, on tiny random models."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import pipeline

from core.checkpoints.spec import Checkpoint
from core.language.fill_mask import fill_mask, masked_logits, prepare, refill
from tests import tiny, tinyfamilies

TEXTS = (
    "The capital of France is [MASK].",
    "The [MASK] sat on the [MASK] and looked at the dog.",
    "[MASK] [MASK] runs in the garden.",
)


def _roberta_tokenizer() -> Any:
    """Byte-level BPE with RoBERTa's frame and a mask that swallows the space before it."""
    from tokenizers import AddedToken, processors

    base = tiny.bytelevel_tokenizer()
    base.add_special_tokens(
        {
            "bos_token": "<s>",
            "eos_token": "</s>",
            "pad_token": "<pad>",
            "unk_token": "<unk>",
            "cls_token": "<s>",
            "sep_token": "</s>",
            "mask_token": AddedToken("<mask>", lstrip=True, special=True),
        }
    )
    ends = [(t, base.convert_tokens_to_ids(t)) for t in ("</s>", "<s>")]
    base.backend_tokenizer.post_processor = processors.RobertaProcessing(*ends, trim_offsets=True)
    return base


def _checkpoint(name: str) -> Checkpoint:
    tokenizer = _roberta_tokenizer() if name == "roberta" else tiny.wordpiece_tokenizer()
    torch.manual_seed(1)
    family = tinyfamilies.FAMILIES[name]
    settings = family.settings | {"vocab_size": len(tokenizer), "initializer_range": 0.5, "pad_token_id": 1}
    model = tinyfamilies.build(family, settings).eval()
    return Checkpoint(model, tokenizer, tinyfamilies.spec_of(name, family.kind))


@pytest.mark.parametrize("name", ["bert", "roberta"])
@pytest.mark.parametrize("text", TEXTS)
def test_the_same_guesses_as_the_pipeline(name: str, text: str) -> None:
    checkpoint = _checkpoint(name)
    mask = checkpoint.tokenizer.mask_token
    pipe = pipeline("fill-mask", model=checkpoint.model, tokenizer=checkpoint.tokenizer, top_k=5)
    theirs = pipe(text.replace("[MASK]", mask))
    if text.count("[MASK]") == 1:
        theirs = [theirs]
    ours = fill_mask(checkpoint, text, k=5)
    assert len(ours) == text.count("[MASK]")
    for mine, others in zip(ours, theirs, strict=True):
        assert mine.ids == tuple(guess["token"] for guess in others)
        assert mine.probabilities == pytest.approx([guess["score"] for guess in others], rel=1e-4)


@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_the_refilled_sentence_is_the_pipelines(name: str) -> None:
    checkpoint = _checkpoint(name)
    text = "the capital of france is [MASK]."
    tokenizer = checkpoint.tokenizer
    pipe = pipeline("fill-mask", model=checkpoint.model, tokenizer=tokenizer, top_k=40)
    masked = prepare(checkpoint, text)
    predictions = fill_mask(checkpoint, text, k=40)
    guesses = list(enumerate(pipe(text.replace("[MASK]", tokenizer.mask_token))))
    # the pipeline leaves out special tokens and writes bytes that leave no ink
    words = [(i, g) for i, g in guesses if g["token_str"].strip().isalpha() and len(g["token_str"].strip()) > 1]
    assert len(words) > 3
    for rank, guess in words:
        parts = refill(checkpoint, masked, predictions, [rank])
        plain = "".join(part.text for part in parts)
        assert plain.replace(" ", "") == guess["sequence"].replace(" ", "").replace("##", "")
        assert [part.position for part in parts].count(predictions[0].position) == 1


FAMILIES = ("distilbert", "albert", "electra", "deberta-v2", "xlm-roberta", "roberta", "camembert")


@pytest.mark.parametrize("name", FAMILIES)
def test_projecting_masked_positions_alone_changes_nothing(name: str) -> None:
    model = tinyfamilies.make(name).model
    ids = torch.randint(5, 85, (1, 12), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        whole = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
        torch.testing.assert_close(masked_logits(model, ids, (2, 7, 8)), whole[[2, 7, 8]], atol=1e-5, rtol=1e-4)
