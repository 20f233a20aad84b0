"""Goes on from a checkpoint whose run is finished, where its recipe's budget of tokens has grown.

A finished run leaves its weights in float16 and its learning curve, no optimiser. So training goes on with those
weights and new optimisers, at the tokens, the step and the batch where the curve ends. The rate is what the schedule
gives at that share of the new budget, and falls to zero from there: what had come to rest is warmed up once more. One
run of the same length would have ended elsewhere, so whoever commits such a checkpoint writes it into its card.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from core.errors import AtlasError
from core.training.trainer import CURVE, Progress, Trainer


class FurtherError(AtlasError):
    """A checkpoint from which its recipe cannot go on."""


def take_up(trainer: Trainer, folder: Path) -> None:
    """Gives a new run the weights of the checkpoint in ``folder`` and the place where its curve ends.

    Raises:
        FurtherError: there is no such checkpoint, its tokeniser is another, or the budget is used up.
    """
    try:
        progress = _progress(folder / "curve.csv")
    except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
        raise FurtherError(f"{folder} holds no checkpoint with a learning curve to go on from.") from error
    recipe = trainer.recipe
    if recipe.tokens <= progress.tokens:
        raise FurtherError(
            f"{recipe.slug} has read {progress.tokens:,} tokens and its recipe asks for {recipe.tokens:,}: "
            "there is nothing to go on with. Raise “tokens” in the recipe."
        )
    _same_tokens(getattr(trainer.objective, "tokenizer", None), folder)
    adopt(trainer.objective.model, folder)
    trainer.progress = progress


def _progress(curve: Path) -> Progress:
    with curve.open(encoding="utf-8", newline="") as lines:
        rows = [
            (int(r[CURVE[0]]), int(r[CURVE[1]]), float(r[CURVE[2]]), r[CURVE[3]], r[CURVE[4]], float(r[CURVE[5]]))
            for r in csv.DictReader(lines)
        ]
    tokens, steps, minutes = rows[-1][:3]
    return Progress(step=steps, tokens=tokens, minutes=minutes, curve=rows, batches=steps)


def _same_tokens(trained: Any, folder: Path) -> None:
    """Weights mean nothing to another vocabulary: the corpus may have changed, or ties in it been broken otherwise."""
    from tokenizers import Tokenizer

    if trained is None:  # bytes, and other fixed vocabularies
        return
    shipped: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
    if trained.get_vocab() != shipped.get_vocab():
        raise FurtherError(f"The tokeniser learnt from this corpus is not the one in {folder}: nothing was taken up.")


@torch.no_grad()
def adopt(model: nn.Module, folder: Path) -> None:
    """Copies the shipped weights into the transformers model that an objective's model holds, or is parametrised from.

    Raises:
        FurtherError: it holds none, or more than one.
    """
    from transformers import PreTrainedModel

    inner = [child for child in model.children() if isinstance(child, PreTrainedModel)]
    if len(inner) != 1:
        raise FurtherError(f"A {type(model).__name__} cannot go on from a finished checkpoint: it holds {len(inner)}.")
    own = inner[0]
    shipped: Any = type(own).from_pretrained(folder, dtype=torch.float32)  # type: ignore[attr-defined]
    for name, value in shipped.named_parameters():
        place, _, leaf = name.rpartition(".")
        module = own.get_submodule(place)
        if parametrize.is_parametrized(module, leaf):
            setattr(module, leaf, value.detach())
        else:
            getattr(module, leaf).copy_(value)
