"""Encoder-decoders in BART's shape, and the tensors that all who read one text and write another are trained on.

The decoder is given the target shifted right by one behind its start token, and writes the target:

    given   start  y_1 ... y_n          labels   y_1  ... y_n  end
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.training.batches import Ints
from core.training.losses import IGNORE, linear_cross_entropy


def shifted(ids: Ints, labels: Ints, pad: int, start: int) -> dict[str, Tensor]:
    """A batch from padded sources, and targets padded with `IGNORE`, both (rows, length).

    Returns:
        ``ids`` and ``real`` (1 where there is a token) of the source, ``given`` and ``labels`` of the target.
    """
    begin = np.full((len(labels), 1), start, dtype=np.int64)
    given = np.concatenate([begin, np.where(labels == IGNORE, pad, labels)[:, :-1]], axis=1)
    return {
        "ids": torch.from_numpy(ids),
        "real": torch.from_numpy((ids != pad).astype(np.int64)),
        "given": torch.from_numpy(given),
        "labels": torch.from_numpy(labels),
    }


def tokens(batch: dict[str, Tensor]) -> int:
    """Tokens that a batch of `shifted` shows to a model, on both sides, without padding."""
    return int(batch["real"].sum()) + int((batch["labels"] != IGNORE).sum())


class EncoderDecoder(nn.Module):
    """BART or M2M-100 from its configuration, with random weights.

    Args:
        kind: transformers' model type, ``"bart"`` or ``"m2m_100"``.
        settings: a recipe's ``width``, ``layers`` (of each half), ``heads`` and ``inner``.
        vocabulary: tokens.
        positions: the longest text.
        special: ids by the configuration's names (``pad_token_id``, ...).
    """

    def __init__(
        self, kind: str, settings: dict[str, Any], vocabulary: int, positions: int, **special: int | None
    ) -> None:
        super().__init__()
        from transformers import AutoConfig, AutoModelForSeq2SeqLM

        both = {"layers": settings["layers"], "attention_heads": settings["heads"], "ffn_dim": settings["inner"]}
        config = AutoConfig.for_model(
            kind,
            vocab_size=vocabulary,
            max_position_embeddings=positions,
            d_model=settings["width"],
            dropout=0.0,
            attention_dropout=0.0,
            encoder_layerdrop=0.0,
            decoder_layerdrop=0.0,
            **{f"{half}_{name}": value for half in ("encoder", "decoder") for name, value in both.items()},
            **special,
        )
        # on short rows eager attention is faster than the fused kernel
        self.full: Any = AutoModelForSeq2SeqLM.from_config(config, attn_implementation="eager")

    def forward(self, ids: Tensor, real: Tensor, given: Tensor) -> Tensor:
        """(rows, target length, width) states that the output layer reads; arguments as `shifted` returns them."""
        hidden: Tensor = self.full.model(
            input_ids=ids, attention_mask=real, decoder_input_ids=given, use_cache=False
        ).last_hidden_state
        return hidden

    def loss(self, batch: dict[str, Tensor]) -> Tensor:
        """Mean cross-entropy in nats over the tokens of the target."""
        hidden = self(batch["ids"], batch["real"], batch["given"])
        known = batch["labels"] != IGNORE
        return linear_cross_entropy(hidden[known], self.full.lm_head.weight, batch["labels"][known])
