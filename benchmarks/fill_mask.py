"""Masked words: our ``fill_mask`` against transformers' own fill-mask pipeline, the same model, by turns.

    python benchmarks/fill_mask.py [checkpoint slug]

Without a slug every masked-LM checkpoint that is here and, if there is none, one of MiniLM's size with random weights:
speed does not depend on what the weights know. Goal: no slower on any sentence.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from _harness import compare, report

from core import checkpoints
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.language.fill_mask import fill_mask
from core.language.tokens import max_tokens

SENTENCES = {
    "one mask": "The capital of France is [MASK].",
    "three masks": "The [MASK] sat on the [MASK] and looked at the [MASK].",
}
LONG = "In the morning the children walked along the river to the old mill and had their lunch there. "
"""Stands as often as the model has positions for it, eight times at most; a token of it has three letters or more."""


def stand_in() -> Checkpoint:
    """MiniLM's shape with random weights and the tokeniser of the tests."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    from tests.tiny import wordpiece_tokenizer

    torch.manual_seed(0)
    config = BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)
    config._attn_implementation = "eager"
    spec = CheckpointSpec(
        "stand-in", "MiniLM's shape, random", None, "encoder", "masked-lm", "directory", "random", "-", True
    )
    return Checkpoint(BertForMaskedLM(config).eval(), wordpiece_tokenizer(512), spec)


def main() -> int:
    """Compare, print, and return the exit status."""
    from transformers import pipeline
    from transformers.utils import logging

    logging.set_verbosity_error()
    slugs = sys.argv[1:] or [s.slug for s in checkpoints.available() if s.kind == "masked-lm" and s.ready]
    # A sparse BigBird is asked on its own page, through code of its own.
    models = [checkpoints.load(slug) for slug in slugs if checkpoints.get(slug).branch != "efficient"] or [stand_in()]
    good = True
    for checkpoint in models:
        pipe = pipeline("fill-mask", model=checkpoint.model, tokenizer=checkpoint.tokenizer, top_k=5)
        times = min(8, (max_tokens(checkpoint) or 512) // (len(LONG) // 3) or 1)
        for name, sentence in {**SENTENCES, "long": LONG * times + "Then they went [MASK]."}.items():
            text = sentence.replace("[MASK]", str(checkpoint.tokenizer.mask_token))
            result = compare(lambda c=checkpoint, t=text: fill_mask(c, t, k=5), lambda p=pipe, t=text: p(t))
            good &= report(f"fill_mask, {checkpoint.spec.name}, {name}", result)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
