"""Masked words against transformers' own fill-mask pipeline and forward passes, on tiny random models."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from transformers import pipeline

from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.language.fill_mask import fill_mask, masked_logits, prepare, refill
from tests import tiny

SPEC = CheckpointSpec("dir-tiny", "tiny", None, "encoder", "masked-lm", "directory", "a test", "-", True)
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


def _bert() -> Checkpoint:
    torch.manual_seed(0)
    tokenizer = tiny.wordpiece_tokenizer()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        initializer_range=0.5,
    )
    return Checkpoint(transformers.BertForMaskedLM(config).eval(), tokenizer, SPEC)


def _roberta() -> Checkpoint:
    torch.manual_seed(0)
    tokenizer = _roberta_tokenizer()
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=66,
        initializer_range=0.5,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    config.pad_token_id = 1
    return Checkpoint(transformers.RobertaForMaskedLM(config).eval(), tokenizer, SPEC)


@pytest.mark.parametrize("make", [_bert, _roberta])
@pytest.mark.parametrize("text", TEXTS)
def test_the_same_guesses_as_the_pipeline(make: Any, text: str) -> None:
    checkpoint = make()
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


@pytest.mark.parametrize("make", [_bert, _roberta])
def test_the_refilled_sentence_is_the_pipelines(make: Any) -> None:
    checkpoint = make()
    text = "the capital of france is [MASK]."
    pipe = pipeline("fill-mask", model=checkpoint.model, tokenizer=checkpoint.tokenizer, top_k=4)
    masked = prepare(checkpoint, text)
    predictions = fill_mask(checkpoint, text, k=4)
    for rank, guess in enumerate(pipe(text.replace("[MASK]", checkpoint.tokenizer.mask_token))):
        parts = refill(checkpoint, masked, predictions, [rank])
        plain = "".join(part.text for part in parts)
        assert plain.replace(" ", "") == guess["sequence"].replace(" ", "").replace("##", "")
        assert [part.position for part in parts].count(predictions[0].position) == 1


SIZES: dict[str, Any] = {
    "vocab_size": 90,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "DistilBert": ("DistilBertForMaskedLM", {"dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2}),
    "Albert": ("AlbertForMaskedLM", {"embedding_size": 8}),
    "Electra": ("ElectraForMaskedLM", {"embedding_size": 8}),
    "Deberta": ("DebertaForMaskedLM", {"relative_attention": True, "pos_att_type": ["c2p", "p2c"]}),
    "XLMRoberta": ("XLMRobertaForMaskedLM", {}),
    "XLM": ("XLMWithLMHeadModel", {"emb_dim": 16, "n_layers": 2, "n_heads": 2, "n_words": 90}),
    "MPNet": ("MPNetForMaskedLM", {}),
    "ModernBert": (
        "ModernBertForMaskedLM",
        {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_projecting_masked_positions_alone_changes_nothing(name: str) -> None:
    torch.manual_seed(0)
    model_class, extra = OTHERS[name]
    config = getattr(transformers, f"{name}Config")(**{**SIZES, **extra})
    model = getattr(transformers, model_class)(config).eval()
    ids = torch.randint(5, 85, (1, 12))
    with torch.inference_mode():
        whole = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0]
        torch.testing.assert_close(masked_logits(model, ids, (2, 7, 8)), whole[[2, 7, 8]], atol=1e-5, rtol=1e-4)
