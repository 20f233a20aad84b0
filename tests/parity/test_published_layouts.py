"""Weights as they were published years ago, under other names, load completely and mean the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from core import checkpoints

State = dict[str, torch.Tensor]


def old_bert(state: State) -> State:
    """As bert-base-uncased has it: gamma and beta, no tied decoder, a pooler and a next-sentence head besides."""
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value
        for name, value in state.items()
        if "decoder" not in name
    }
    width = state["bert.embeddings.word_embeddings.weight"].shape[1]
    extra = {"bert.pooler.dense.weight": torch.ones(width, width), "cls.seq_relationship.weight": torch.ones(2, width)}
    return renamed | extra


def old_gpt2(state: State) -> State:
    """As gpt2 has it: no prefix, no output matrix, and the causal mask of each layer."""
    bare = {name.removeprefix("transformer."): value for name, value in state.items() if name != "lm_head.weight"}
    return bare | {"h.0.attn.bias": torch.tril(torch.ones(64, 64))[None, None]}


def old_t5(state: State) -> State:
    """As t5-small has it: the shared matrix under all its names."""
    shared = state["shared.weight"]
    return state | {f"{part}.embed_tokens.weight": shared.clone() for part in ("encoder", "decoder")}


@pytest.mark.parametrize(
    ("name", "old"), [("tiny-bert", old_bert), ("tiny-gpt2", old_gpt2), ("tiny-t5", old_t5)], ids=["bert", "gpt2", "t5"]
)
def test_old_names_load_completely(
    name: str,
    old: Callable[[State], State],
    tiny_root: Path,
    tmp_path: Path,
    use_checkpoints: Callable[[Path], None],
) -> None:
    shutil.copytree(tiny_root / name, tmp_path / "root" / "new")
    folder = Path(shutil.copytree(tiny_root / name, tmp_path / "root" / "old"))
    save_file(old(load_file(folder / "model.safetensors")), folder / "model.safetensors", metadata={"format": "pt"})
    use_checkpoints(tmp_path / "root")
    ids = torch.tensor([[5, 6, 7, 8]])
    inputs: dict[str, Any] = {"input_ids": ids} | ({"decoder_input_ids": ids} if name == "tiny-t5" else {})
    with torch.no_grad():
        expected = checkpoints.load("dir-new").model(**inputs).logits
        got = checkpoints.load("dir-old").model(**inputs).logits
    torch.testing.assert_close(got, expected)
