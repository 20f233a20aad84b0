"""Attention: our pages against bertviz's own, capture against a bare forward pass.

    python benchmarks/attention.py [tokens ...]

Pages hold a random model of 12 layers with 12 heads at 16, 32, 64, 128 and 256 tokens (or those that are named); the
neuron view's queries and keys have 64 numbers. bertviz's head and model view are made by its own functions with
``html_action="return"``. Its neuron view runs models of its own; here it is handed the same numbers instead, and left
out above 128 tokens. The grid is ours alone and stands beside bertviz's model view, which also shows all layers and
heads. Goals: 3.7 MB and 100 ms at 128 tokens, 14 MB at 256 (10⁶ bytes; not for the neuron view, which carries queries
and keys as well), and never slower than bertviz.

Capture runs the bundled models, in two comparisons with a goal of 1.02 each. *The pass*: the same tensors through a run
that keeps the weights, and through transformers' own model, made anew with the same weights and eager attention, with
``output_attentions=True``, whatever shape of attention that gives. *Capture*: from the text to what a picture needs,
against the tokenizer, that pass, and what bertviz is handed after it, pieces and stacked weights. Capture alone cleans
the text, checks limits, says of each token where it stands and how it is shown, and finds what a mask leaves out; that
is less than a millisecond, and more for a text of bytes, so it shows where a pass takes 5 ms.

Longformer has its windows (with the first token as the global one, as in the app), Reformer its sorted chunks;
BigBird's attention is full there on all texts that the app draws. As windows, blocks and chunks show on longer texts
only, these models are measured on one as well. Adapters, whose class is ours, are measured with those of their first
task in place.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from _harness import compare, goal, report

from core import checkpoints
from core.attention import bertviz, capture
from core.attention.trace import AttentionMap, AttentionTrace
from core.attention.views import grid
from core.checkpoints.spec import Checkpoint
from core.language.adapters import tasks, through
from core.language.makers import inputs
from core.language.segments import run_text
from core.patterns import ranks

LAYERS, HEADS, WIDTH = 12, 12, 64
SIZES = (16, 32, 64, 128, 256)
NEURON_MOST = 128
MOST_MB = {128: 3.7, 256: 14.0}
MOST_MS = 100
ROUNDS = {16: 11, 32: 11, 64: 5, 128: 3, 256: 1}

SENTENCE = "The cat that the dog chased sat on the mat because it was tired, and nobody wanted to wake it up again."
STORY = "Once upon a time there was a little girl who lived in a house near the river. One day"
TOKENS = 40
LONGER = {"big_bird": 10, "longformer": 10, "reformer": 2}
"""For models whose attention has a shape of its own: how often the sentence stands in a text near the longest drawn."""


def random_trace(tokens: int) -> AttentionTrace:
    """Random attention whose rows sum to one, with queries and keys where the neuron view is asked for."""
    rng = np.random.default_rng(tokens)
    weights = rng.standard_gamma(0.2, (LAYERS, HEADS, tokens, tokens)).astype(np.float32) + np.float32(1e-6)
    weights /= weights.sum(-1, keepdims=True)
    names = tuple(f"token{i}" for i in range(tokens))
    shape = (LAYERS, HEADS, tokens, WIDTH)
    queries, keys = (rng.standard_normal(shape).astype(np.float32) if tokens <= NEURON_MOST else None for _ in range(2))
    return AttentionTrace("random", encoder=AttentionMap("encoder", names, names, weights, queries=queries, keys=keys))


def bertviz_own(found: AttentionMap, view: str) -> Callable[[], str]:
    """bertviz's page for the same numbers."""
    import torch
    from bertviz import head_view, model_view, neuron_view

    tokens = list(found.key_tokens)
    if view != "neuron":
        tensors = [torch.from_numpy(layer)[None] for layer in found.weights]
        call = head_view if view == "head" else model_view
        return lambda: str(call(tensors, tokens, html_action="return").data)
    assert found.queries is not None
    assert found.keys is not None
    queries, keys = found.queries, found.keys

    def handed(*_: Any, **__: Any) -> dict[str, Any]:
        # As its own function ends: lists of what its model computed.
        attention = {"attn": found.weights.tolist(), "queries": queries.tolist(), "keys": keys.tolist()}
        return {"all": attention | {"left_text": tokens, "right_text": tokens}}

    neuron_view.get_attention = handed
    return lambda: str(neuron_view.show(None, "bert", None, "a", html_action="return").data)


def pages(sizes: tuple[int, ...]) -> bool:
    """Bytes of our pages and of bertviz's, and the time that it takes to make them."""
    good = True
    for tokens in sizes:
        trace = random_trace(tokens)
        found = trace.maps[0]
        for view in ("head", "model", "grid", "neuron"):
            if view == "neuron" and tokens > NEURON_MOST:
                continue
            theirs = bertviz_own(found, "model" if view == "grid" else view)
            ours = partial(grid.render, found) if view == "grid" else partial(bertviz.render, trace, view)
            what = f"{view}, {tokens} tokens"
            megabytes, theirs_mb = len(ours().encode()) / 1e6, len(theirs()) / 1e6
            print(
                f"{what}: ours {megabytes:.2f} MB, bertviz's {theirs_mb:.1f} MB ({megabytes / theirs_mb:.0%})",
                flush=True,
            )
            rounds = ROUNDS.get(tokens, 3)
            result = compare(ours, theirs, rounds=rounds, warmup=0 if rounds == 1 else 1)
            good &= report(what, result)
            if tokens in MOST_MB and view != "neuron":
                good &= goal(f"{what}, size", megabytes, MOST_MB[tokens], "MB")
                if tokens == 128:
                    good &= goal(f"{what}, made in", result.ours * 1e3, MOST_MS, "ms")
    return good


def of_the_library(checkpoint: Checkpoint) -> Any:
    """The library's own model with the weights of a checkpoint."""
    model: Any = checkpoint.model
    if checkpoint.spec.kind == "adapters":
        return model
    config = copy.deepcopy(model.config)
    config._attn_implementation = "eager"
    made = type(model)(config)
    made.load_state_dict(model.state_dict())
    return made.eval()


def bare_pass(checkpoint: Checkpoint, task: str | None) -> Callable[[dict[str, Any]], Any]:
    """A pass of the library's own model that returns weights."""
    import torch
    from torch.nn.functional import pad

    model = of_the_library(checkpoint)
    decodes = model.config.is_encoder_decoder or checkpoint.spec.kind == "causal-lm"

    def run(tensors: dict[str, Any]) -> Any:
        extra: dict[str, Any] = {"use_cache": False} if decodes else {}
        if model.config.model_type == "longformer":
            extra = {"global_attention_mask": pad(torch.ones(1, 1), (0, tensors["input_ids"].shape[1] - 1)).long()}
        with torch.inference_mode(), through(checkpoint, task):
            return model(**tensors, **extra, output_attentions=True)

    return run


def bare_capture(checkpoint: Checkpoint, text: str, task: str | None = None) -> Callable[[], Any]:
    """What one would write by hand: tokenize ``text``, run the passes that a capture of it needs, and hold ready what a
    picture needs: each token's piece, each kind's weights in one tensor, as bertviz stacks them."""
    import torch
    from bertviz.util import format_attention

    from core.language.permuted import streams
    from core.language.tasks import tasks as prompts
    from core.language.tokens import own_language

    tokenizer, config, forward = checkpoint.tokenizer, checkpoint.model.config, bare_pass(checkpoint, task)
    source = prompts(checkpoint)[0].prefix + text if config.is_encoder_decoder else text

    def run() -> Any:
        inputs = {name: torch.tensor([ids]) for name, ids in tokenizer(source, verbose=False).items()}
        inputs |= own_language(checkpoint.model, inputs["input_ids"])
        if config.is_encoder_decoder:
            start = checkpoint.model.generation_config.decoder_start_token_id or config.decoder_start_token_id
            target = tokenizer(text_target=text, verbose=False)["input_ids"]
            inputs["decoder_input_ids"] = torch.tensor([[start, *target][:-1]])
        outputs = forward(inputs)
        tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
        if "decoder_input_ids" in inputs:
            tokenizer.convert_ids_to_tokens(inputs["decoder_input_ids"][0].tolist())
        if config.model_type not in LONGER:  # whose weights are of shapes that bertviz does not take
            for name in ("attentions", "encoder_attentions", "decoder_attentions", "cross_attentions"):
                if layers := getattr(outputs, name, None):
                    format_attention(layers)
        if checkpoint.spec.kind == "permutation-lm":  # the two streams of an order are a pass of their own
            ids = inputs["input_ids"]
            known = [i for i, one in enumerate(ids[0].tolist()) if one in tokenizer.all_special_ids]
            targets = [i for i in range(ids.shape[1]) if i not in known]
            forward({"input_ids": ids, **streams(ids, ranks(targets, ids.shape[1]), targets)})
        return outputs

    return run


def captures() -> bool:
    """The pass of a capture, and the whole of it, against those by hand, for every bundled model."""
    good = True
    for spec in checkpoints.available():
        if not spec.ready:
            continue
        checkpoint = checkpoints.load(spec.slug)
        task = tasks(checkpoint)[0].slug if spec.kind == "adapters" else None
        family = checkpoint.model.config.model_type
        for times in (1, LONGER[family]) if family in LONGER else (1,):
            text = " ".join([SENTENCE] * times)
            target = text if checkpoint.model.config.is_encoder_decoder else None
            tensors = inputs(checkpoint, text, task, target=target, joined=True).tensors
            passes = compare(
                partial(recorded, checkpoint, tensors, task),
                partial(bare_pass(checkpoint, task), tensors),
                rounds=41,
            )
            whole = compare(
                partial(capture, checkpoint, text, target=target, task=task),
                bare_capture(checkpoint, text, task),
                rounds=41,
            )
            what = f"{spec.name if task is None else f'{spec.name} ({task})'}, {tensors['input_ids'].shape[1]} tokens"
            good &= report(f"{what}: the pass", passes, at_most=1.02)
            good &= report(f"{what}: capture", whole, at_most=1.02)
    return good


def recorded(checkpoint: Checkpoint, tensors: dict[str, Any], task: str | None) -> Any:
    """A run that keeps the weights."""
    with through(checkpoint, task):
        return run_text(checkpoint.model, tensors, {"pattern"})


def main() -> int:
    """Compare, print, and return the exit status."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    sizes = tuple(int(one) for one in sys.argv[1:]) or SIZES
    results = [pages(sizes), captures()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
