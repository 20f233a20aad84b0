"""Every recipe of ``assets/recipes`` on a tiny corpus and with a tiny model: one test can walk through them all."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from lab import models
from lab import recipe as recipes
from lab.objectives import build
from lab.recipe import Recipe
from tests import tiny, tinyadapters, tinycorpus, tinypairs

SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "embedding_size", "d_model", "dim", "n_embd", "emb_dim"), 16),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "n_layers", "num_decoder_layers", "num_key_value_heads"), 1),
    **dict.fromkeys(("num_attention_heads", "num_heads", "n_heads", "n_head"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "dff", "d_ff", "d_inner"), 32),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 32),
    **{"d_kv": 8, "n_positions": 48, "mem_len": 24, "window_size": 4, "attention_types": [[["global", "local"], 1]]},
    **{"embedding_rank": 4, "embedding_rows": 30, "cut": 2, "size": 3, "window": 8, "block": 8},
    **{"width": 8, "units": 16},
    "generator": {"hidden_size": 8, "num_attention_heads": 1, "intermediate_size": 16},
}
"""Fields of ``[model]``, by the names that architectures give them."""
OF_KIND: dict[str, dict[str, Any]] = {
    "long-masked-lm": {"positions": 1024},
    "window-lm": {"positions": 192},
    "hashed-lm": tiny.REFORMER | tiny.sized((8, 8), 8, 4),
}
DATA: dict[str, Any] = {
    **{"vocabulary": 320, "window": 48, "segment": 8, "width": 48, "hold_out_every": 5},
    **{"shortest": 3, "band": [0.001, 0.2], "content": 1, "rare": 0.05, "least": 0},
}


def corpus(folder: Path) -> Path:
    """Books, lines, sentence pairs and labeled texts, under the names that the recipes give them."""
    tinycorpus.write(tinypairs.write(tinyadapters.corpus(folder)), books=60)
    rng = np.random.default_rng(3)

    def clause() -> str:
        return "the " + " ".join(rng.choice(tinycorpus.WORDS, size=rng.integers(3, 6)))

    halves = [f"{clause()} {rng.choice(['but', 'because', 'so'])} {clause()}".capitalize() + "." for _ in range(150)]
    marks = (folder / "marks.txt").read_text(encoding="utf-8").splitlines()
    topics = [
        ". ".join(["It is a topic like " + clause(), *(clause().capitalize() for _ in range(9))]) for _ in range(9)
    ]
    for name in ("dialogue", "encyclopedia", "encyclopedia_simple"):
        (folder / f"{name}.txt").write_text("\n".join([*halves, *topics, *marks]) + "\n", encoding="utf-8")
    return folder


def recipe(name: str, **changed: Any) -> Recipe:
    """The recipe ``name`` on whole files, with a tiny model and its own optimizer in float32."""
    bundled = recipes.load(name)
    model = {field: SIZES.get(field, value) for field, value in bundled.model.items()} | OF_KIND.get(bundled.kind, {})
    if model.get("rank"):
        model["rank"] = 4
    if model.get("type") in ("gpt_neo", "llama"):
        model["max_position_embeddings"] = 48
    data = {field: DATA.get(field, value) for field, value in bundled.data.items()}
    if "lengths" in data:
        data["lengths"] = [64, 128] if bundled.kind == "long-masked-lm" else [16, 32]
    fields = {
        "model": model,
        "data": data,
        "sources": tuple(dataclasses.replace(source, first=1, last=None) for source in bundled.sources),
        "step_tokens": 256,
        "tokens": 0,
        "optimizer": bundled.optimizer | {"bfloat16": False},
    }
    return dataclasses.replace(bundled, **fields | changed)


def objective(found: Recipe | str, folder: Path, states: Path) -> Any:
    """The objective of a recipe, or of the tiny one of that name; its data are kept in their place in ``states``."""
    made = recipe(found) if isinstance(found, str) else found
    with patch.object(models, "backbone_folder", lambda _: states / "package"):  # in the place of the published encoder
        return build(made, folder, states / made.slug / "data")


def world(root: Path) -> tuple[Path, Path]:
    """The corpus, and a folder of states that has what recipes start from."""
    folder, states = corpus(root / "corpus"), root / "states"
    tinyadapters.backbone(states / "package")
    for name in ("atlas-bert", "atlas-albert", "atlas-roberta", "atlas-m2m-100-english"):
        objective(name, folder, states).export(states / name / "out")
    free = recipe("minilm-full")
    first = {name: value for name, value in free.model.items() if name != "start"}
    for made in (dataclasses.replace(free, slug="minilm", model=first), free, recipe("minilm")):
        objective(made, folder, states).export(states / made.slug / "out")
    return folder, states


def shaken(model: torch.nn.Module) -> None:
    """Moves all that learns a little, so that nothing is equal by being zero."""
    torch.manual_seed(0)
    with torch.no_grad():
        for value in model.parameters():
            if value.requires_grad:
                value.add_(0.05 * torch.randn_like(value))
