"""Vectors of languages: XLM adds one to every token, so it has to be told which language it reads.

A text alone is read in the language that the configuration names (``lang_id``, a number in ``lang2id``). Lample &
Conneau 2019, arXiv 1901.07291.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def speaks(model: Any) -> bool:
    """Whether the model adds a vector of its language to every token."""
    config = model.config
    return bool(config.model_type == "xlm" and config.use_lang_emb and config.n_langs > 1)


def own_language(model: Any, ids: Tensor) -> dict[str, Tensor]:
    """What a model that `speaks` needs beside ``ids`` (rows, n) of one language: its own, as its configuration says."""
    import torch

    return {"langs": torch.full_like(ids, int(model.config.lang_id or 0))} if speaks(model) else {}
