"""Generation: our step-by-step loop against ``model.generate``, the same model and settings, by turns, per token.

    python benchmarks/generate.py [checkpoint slug]

Ours also decodes the text and reports ten alternatives at every step; attention rows are left out, as ``generate``
leaves them out. Without a slug every decoder and encoder-decoder that is here and, if there is none, a GPT-2 of
5 million parameters with random weights. Goal: no slower per token with any strategy.

A model with a memory of states (Transformer-XL, in the library's XLNet class) is left out: ``generate`` asks that class
for a hidden position behind the text, as XLNet was trained, and so computes another text than a model that was trained
from left to right; with beams it ends in an error. A Reformer reads the whole text at every step on both sides: with
its cache of buckets, ``generate`` computes another text after a few tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _harness import Comparison, compare, report

from core import checkpoints
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.language import segments
from core.language.generate import steps as decode
from core.language.inputs import one_text
from core.language.inputs import pair as two_stacks
from core.language.tokens import describe
from core.language.types import Decoding

PROMPT = "Once upon a time there was a little girl who lived in a house near the river. One day"
TOKENS = 40
STRATEGIES: dict[str, tuple[Decoding, dict[str, Any]]] = {
    "greedy": (Decoding(max_new_tokens=TOKENS), {"do_sample": False}),
    "sampling, T 0.8, top-k 50, top-p 0.9": (
        Decoding("sample", temperature=0.8, top_k=50, top_p=0.9, max_new_tokens=TOKENS),
        {"do_sample": True, "temperature": 0.8, "top_k": 50, "top_p": 0.9},
    ),
    "4 beams": (Decoding("beam", beams=4, max_new_tokens=TOKENS), {"do_sample": False, "num_beams": 4}),
}


def stand_in() -> Checkpoint:
    """A GPT-2 of 4 layers x 256 with random weights and the tokeniser of the tests."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    from tests.tiny import bytelevel_tokenizer

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=8000, n_embd=256, n_layer=4, n_head=8, n_positions=256, attn_implementation="eager")
    spec = CheckpointSpec("stand-in", "GPT-2, 5 M, random", None, "decoder", "causal-lm", "directory", "-", "-", True)
    return Checkpoint(GPT2LMHeadModel(config).eval(), bytelevel_tokenizer(256), spec)


def pair(checkpoint: Checkpoint, decoding: Decoding, settings: dict[str, Any]) -> tuple[Callable[[], Any], ...]:
    """Ours and theirs as calls without arguments; neither stops before ``TOKENS`` new tokens."""
    import torch

    ids = checkpoint.tokenizer(PROMPT)["input_ids"]
    batch = torch.tensor([ids])
    model = checkpoint.model
    if model.config.model_type == "reformer":
        settings = settings | {"use_cache": False}
    rewriting = bool(model.config.is_encoder_decoder)
    start = [model.generation_config.decoder_start_token_id or 0] if rewriting else ids
    tokens = describe(checkpoint.tokenizer, ids)
    begun = two_stacks(checkpoint, tokens, start) if rewriting else one_text(checkpoint, tokens)

    def ours() -> Any:
        steps = list(decode(begun, decoding))
        assert len(steps) == TOKENS, len(steps)

    def theirs() -> Any:
        with torch.inference_mode():
            out = model.generate(
                batch, attention_mask=torch.ones_like(batch), max_new_tokens=TOKENS, pad_token_id=0, **settings
            )
        assert out.shape[1] == TOKENS + len(start), out.shape

    return ours, theirs


def per_token(result: Comparison) -> Comparison:
    """The same comparison in seconds per token."""
    return Comparison(result.ours / TOKENS, result.theirs / TOKENS, result.ratio, result.rounds)


def main() -> int:
    """Compare, print, and return the exit status."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    known = [s for s in checkpoints.available() if s.kind in ("causal-lm", "seq2seq-lm") and s.ready]
    models = [checkpoints.load(slug) for slug in sys.argv[1:] or [s.slug for s in known]] or [stand_in()]
    good = True
    for checkpoint in models:
        if segments.remembers(checkpoint.model):
            print(f"generate, {checkpoint.spec.name}: left out, as generate() computes another text with XLNet's class")
            continue
        # Both loops would end at the end token, at different places in sampling: it is taken away for the comparison.
        kept = checkpoint.model.generation_config.eos_token_id, checkpoint.model.config.eos_token_id
        checkpoint.model.generation_config.eos_token_id = checkpoint.model.config.eos_token_id = None
        for name, (decoding, settings) in STRATEGIES.items():
            ours, theirs = pair(checkpoint, decoding, settings)
            result = per_token(compare(ours, theirs, rounds=41))
            good &= report(f"generate, {checkpoint.spec.name}, {name}, per token", result)
        checkpoint.model.generation_config.eos_token_id, checkpoint.model.config.eos_token_id = kept
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
