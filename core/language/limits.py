"""How many tokens a model can take.

Learned positions are a table with as many rows as the longest input. RoBERTa and its relatives number positions from
``padding_idx + 1``, so that their table is two rows longer than the longest input. Models with relative positions only
(T5) have no such bound; there the length that the tokeniser or the checkpoint states holds, if one does.

Vectors of languages: XLM adds one to every token, so it has to be told which language it reads.

A text alone is read in the language that the configuration names (``lang_id``, a number in ``lang2id``). Lample &
Conneau 2019, arXiv 1901.07291.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from core.checkpoints.families.architectures import has, positions_of
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong

if TYPE_CHECKING:
    from torch import Tensor

_UNSTATED = 1_000_000
"""transformers writes an astronomical number into ``model_max_length`` where no length is known."""


def max_tokens(checkpoint: Checkpoint) -> int | None:
    """The largest number of input tokens, special ones included; None where nothing bounds it."""
    config = checkpoint.model.config
    limits = [int(n) for n in (checkpoint.spec.max_positions, checkpoint.tokenizer.model_max_length) if n]
    for part in (config, getattr(config, "encoder", None), getattr(config, "decoder", None)):
        # T5's n_positions is a training length, not a table: its attention has relative biases only.
        if part is not None and not hasattr(part, "relative_attention_num_buckets"):
            limits.append(positions_of({"model_type": part.model_type, **vars(part)}) or 0)
    limits = [n for n in limits if 0 < n < _UNSTATED]
    return min(limits) if limits else None


def check_length(checkpoint: Checkpoint, count: int, *, room: int = 0) -> None:
    """Raise :class:`InputTooLong`, with both numbers, unless ``count`` tokens and ``room`` more fit the model."""
    limit = max_tokens(checkpoint)
    if limit is None or count + room <= limit:
        return
    wanted = f", and {room} more must fit" if room else ""
    raise InputTooLong(
        f"This text has {count:,} tokens{wanted}; {checkpoint.spec.name} has positions for {limit:,}. "
        f"A text of about {max(1, (limit - room) * 2 // 3):,} words or fewer works."
    )


def speaks(model: Any) -> bool:
    """Whether the model adds a vector of its language to every token."""
    config = model.config
    return bool(has(config, "languages") and config.use_lang_emb and config.n_langs > 1)


def own_language(model: Any, ids: Tensor) -> dict[str, Tensor]:
    """What a model that `speaks` needs beside ``ids`` (rows, n) of one language: its own, as its configuration says."""
    import torch

    return {"langs": torch.full_like(ids, int(model.config.lang_id or 0))} if speaks(model) else {}
