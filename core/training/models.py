"""The models that are trained here: those of transformers, so that every view of theirs shows them."""

from __future__ import annotations

from typing import Any

import torch

from core.checkpoints.families import FAMILIES
from core.checkpoints.loading import in_steps
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.lazy import transformers
from core.training.setup import BUCKETS, Setup
from core.turns import building, turns


def checkpoint(
    model: Any,
    tokenizer: transformers.PreTrainedTokenizerFast,
    setup: Setup,
    steps: int,
    location: str,
    slug: str,
    name: str,
) -> Checkpoint:
    """A trained model as all views find it."""
    model.eval().requires_grad_(False)
    in_steps(model)
    kind = setup.kind
    spec = CheckpointSpec(
        slug=slug,
        name=name,
        system=None,
        branch=FAMILIES[kind].branch,
        kind=kind,
        source="visitor",
        origin=f"trained here for {steps:,} steps",
        location=location,
        ready=True,
        size_bytes=4 * sum(weights.numel() for weights in model.parameters()),
        max_positions=None if setup.objective == "spans" else setup.context,
        architecture=model.config.model_type,
    )
    return Checkpoint(model, tokenizer, spec)


def new_model(setup: Setup, tokenizer: transformers.PreTrainedTokenizerFast) -> Any:
    """A new model of transformers; its weights are drawn from the seed."""
    with turns.locked(building), torch.random.fork_rng(devices=[]):
        torch.manual_seed(setup.seed)
        return _BUILT[setup.objective](setup, tokenizer)


def _decoder(setup: Setup, tokenizer: transformers.PreTrainedTokenizerFast) -> Any:
    end = tokenizer.eos_token_id
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=setup.context,
        n_embd=setup.width,
        n_layer=setup.layers,
        n_head=setup.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=end,
        eos_token_id=end,
        activation_function="gelu_pytorch_tanh",  # GPT-2's gelu_new in one kernel: a step takes a quarter less
    )
    return transformers.GPT2LMHeadModel(config)


def _encoder(setup: Setup, tokenizer: transformers.PreTrainedTokenizerFast) -> Any:
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=setup.context,
        hidden_size=setup.width,
        num_hidden_layers=setup.layers,
        num_attention_heads=setup.heads,
        intermediate_size=4 * setup.width,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=tokenizer.pad_token_id,
    )
    return transformers.BertForMaskedLM(config)


def _encoder_decoder(setup: Setup, tokenizer: transformers.PreTrainedTokenizerFast) -> Any:
    config = transformers.T5Config(
        vocab_size=len(tokenizer),
        d_model=setup.width,
        d_kv=setup.width // setup.heads,
        d_ff=4 * setup.width,
        num_layers=setup.layers,
        num_heads=setup.heads,
        relative_attention_num_buckets=BUCKETS,
        dropout_rate=0.0,
        pad_token_id=tokenizer.pad_token_id,
        decoder_start_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return transformers.T5ForConditionalGeneration(config)


_BUILT = {"next": _decoder, "masked": _encoder, "spans": _encoder_decoder}
