"""Writes what a run has learnt for transformers: a copy of the model in float16, and its tokeniser."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch

DROPOUT = 0.1


def ship_model(model: Any, folder: Path, dropout: tuple[str, ...]) -> None:
    """Saves a copy, so that the run's own weights are not rounded.

    Args:
        model: a transformers model.
        folder: made where it is missing.
        dropout: names of the configuration that were 0 while training here and are `DROPOUT` in the architecture;
            those that the configuration lacks are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shipped = copy.deepcopy(model)
    for name in dropout:
        if hasattr(shipped.config, name):
            setattr(shipped.config, name, DROPOUT)
    shipped.to(torch.float16).save_pretrained(folder)


def ship_tokenizer(tokenizer: Any, folder: Path, positions: int, **named: Any) -> None:
    """Saves a tokeniser of the ``tokenizers`` library; ``named`` are its special tokens by transformers' names."""
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=positions, clean_up_tokenization_spaces=False, **named
    ).save_pretrained(folder)
