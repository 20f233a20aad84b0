"""A BERT encoder with a masked-token head whose matrices learn through low-rank updates, or freely.

A free model can be cut down to updates: each layer to the same rank by SVD, or where the loss would miss least
(`core.training.curvature`), with as many numbers in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from core.training import curvature
from core.training.lowrank import LowRankEmbedding, add_updates, factors, linears


class MaskedModel(nn.Module):
    """BERT's encoder and masked-token head; only masked positions meet the vocabulary.

    Args:
        config: the architecture; dropout is off in training.
        state: weights to start from, named as in BertForMaskedLM; a head that is missing starts as the identity.
        rank: rank of the updates of the encoder's matrices; 0 trains the matrices themselves.
        embedding_rank: rank of the update of the word vectors, which also score the words.
        start: weights, named alike, that training starts from instead; updates start as what they add to ``state``,
            cut down to their ranks.
        cut: factors for the layers of the encoder, from `MaskedModel.cut`; they have ranks of their own.
        rows: words whose vectors the update reaches; all where none are given.
    """

    def __init__(
        self,
        config: Any,
        state: dict[str, Tensor],
        rank: int,
        embedding_rank: int,
        start: dict[str, Tensor] | None = None,
        cut: dict[str, Tensor] | None = None,
        rows: Tensor | None = None,
    ) -> None:
        super().__init__()
        from transformers import BertForMaskedLM

        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        config._attn_implementation = "eager"  # on short rows faster than the fused kernel
        full = BertForMaskedLM(config)
        nn.init.eye_(full.cls.predictions.transform.dense.weight)
        nn.init.zeros_(full.cls.predictions.bias)
        full.load_state_dict(state, strict=False)
        self.bert: Any = full.bert
        self.transform: Any = full.cls.predictions.transform
        self.bias = nn.Parameter(full.cls.predictions.bias.detach().clone())
        if rank:
            ranks = {name.removesuffix(".lora_A"): len(a) for name, a in (cut or {}).items() if name.endswith("A")}
            add_updates(self.bert.encoder, ranks or rank)
        tables = self.bert.embeddings
        self.words = LowRankEmbedding(tables.word_embeddings, embedding_rank, rows)
        tables.word_embeddings = self.words
        tables.position_embeddings.weight.requires_grad_(False)
        tables.token_type_embeddings.weight.requires_grad_(False)
        self.config = config
        if start is not None:
            self._start(state, start, cut or {})

    @torch.no_grad()
    def _start(self, state: dict[str, Tensor], start: dict[str, Tensor], cut: dict[str, Tensor]) -> None:
        """Sets what is trained so that the model equals ``start`` as nearly as the ranks allow."""
        own = dict(self.named_parameters())
        for name, value in start.items():
            here = name.removeprefix("cls.predictions.")
            stem, _, last = here.rpartition(".")
            if here == "bert.embeddings.word_embeddings.weight":
                update, low = value.float() - state[name], f"{stem}."
                update = update if self.words.rows is None else update[self.words.rows]
            elif f"{stem}.parametrizations.weight.0.lora_A" in own and last == "weight":
                update, low = value.float() - state[name], f"{stem}.parametrizations.weight.0."
            else:
                if here in own and own[here].requires_grad:
                    own[here].copy_(value)
                continue
            layer = stem.removeprefix("bert.encoder.")
            if f"{layer}.lora_A" in cut:
                left, right = cut[f"{layer}.lora_B"], cut[f"{layer}.lora_A"]
            else:
                left, right = factors(update, len(own[f"{low}lora_A"]))
            own[f"{low}lora_B"].copy_(left)
            own[f"{low}lora_A"].copy_(right)

    def whole(self) -> dict[str, Tensor]:
        """All weights, updates added, under the names of BertForMaskedLM."""
        out: dict[str, Tensor] = {"bert.embeddings.word_embeddings.weight": self.words.whole()}
        for name, child in self.named_modules():
            stem = f"cls.predictions.{name}" if name.startswith("transform") else name
            if isinstance(child, (nn.Linear, nn.LayerNorm)):
                out[f"{stem}.weight"], out[f"{stem}.bias"] = child.weight, child.bias
            elif isinstance(child, nn.Embedding):
                out[f"{stem}.weight"] = child.weight
        out["cls.predictions.bias"] = self.bias
        return {name: value.detach().clone() for name, value in out.items()}

    def cut(self, trunk: dict[str, Tensor], rank: int, losses: Iterable[Callable[[], Tensor]]) -> dict[str, Tensor]:
        """What this free model adds to the encoder's matrices, as factors "<layer>.lora_A" and "<layer>.lora_B".

        Args:
            trunk: the base weights, named as in BertForMaskedLM.
            rank: the factors take as many numbers as this rank in every layer would.
            losses: summed losses of this model that tell which directions matter (`core.training.curvature`).
        """
        layers = linears(self.bert.encoder)
        seen = curvature.moments(layers, losses)
        parts: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        costs: dict[str, int] = {}
        for name, layer in layers.items():
            update = layer.weight.detach() - trunk[f"bert.encoder.{name}.weight"]
            parts[name] = curvature.directions(update, seen[name])
            costs[name] = sum(update.shape)
        values = {name: part[1] for name, part in parts.items()}
        ranks = curvature.allot(values, costs, rank * sum(costs.values()))
        out: dict[str, Tensor] = {}
        for name, (left, _, right) in parts.items():
            out[f"{name}.lora_B"] = left[:, : ranks[name]].contiguous()
            out[f"{name}.lora_A"] = right[: ranks[name]].contiguous()
        return out

    def forward(self, ids: Tensor, mask: Tensor, allowed: Tensor | None = None) -> Tensor:
        """(rows, length) ids and masked positions to (masked, vocabulary) scores.

        ``allowed`` (length, length) restricts which position sees which.
        """
        bias = None
        if allowed is not None:
            bias = torch.zeros(allowed.shape, device=ids.device).masked_fill(~allowed, -1e4)[None, None]
        hidden = self.bert(input_ids=ids, attention_mask=bias).last_hidden_state
        scores: Tensor = self.words.logits(self.transform(hidden[mask])) + self.bias
        return scores

    def difference(self) -> dict[str, Tensor]:
        """Shipped tensors under the names of BertForMaskedLM, float16 (`core.checkpoints.difference`)."""
        out: dict[str, Tensor] = {}
        for name, value in self.named_parameters():
            if not value.requires_grad:
                continue
            name = name.replace(".parametrizations.weight.0.lora_", ".weight.lora_")
            name = name.replace("word_embeddings.lora_", "word_embeddings.weight.lora_")
            if name.startswith("transform."):
                name = f"cls.predictions.{name}"
            elif name == "bias":
                name = "cls.predictions.bias"
            out[name] = value.detach().to(torch.float16).contiguous().cpu()
        if self.words.rows is not None:
            out["bert.embeddings.word_embeddings.weight.lora_rows"] = self.words.rows.to(torch.int32).cpu()
        return out
