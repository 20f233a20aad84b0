r"""Low-rank updates of frozen matrices: :math:`W = W_0 + BA` (Hu et al., 2021, LoRA).

:math:`A` starts random and :math:`B` at zero, so training starts at the base model. The sum is formed once a step and
the tokens see one matrix: with many more tokens than ranks this costs less than running them through the factors.

A free model can be cut down to updates: each layer to the same rank by SVD, or where the loss would miss least, with as
many numbers in all. A linear layer :math:`y = W x` turns an error :math:`E` of its weights into an error of its
outputs. To second order, and with the Kronecker-factored curvature of Martens and Grosse (2015), that costs the loss

.. math::

    \tfrac{1}{2} \operatorname{tr}(G E A E^\top), \qquad A = \mathbb{E}[x x^\top], \quad G = \mathbb{E}[g g^\top],

where :math:`g` is the gradient of the loss at :math:`y` for labels drawn from the model's own distribution. With the
singular values of :math:`G^{1/2}\, \Delta W A^{1/2} = U S V^\top`, the cheapest update of rank :math:`r` is
:math:`G^{-1/2} U_r S_r V_r^\top A^{-1/2}`, and a value :math:`s` that is left out costs :math:`s^2 / 2`. Each direction
that is kept takes (out + in) numbers, so a budget of numbers goes to the directions with the largest
:math:`s^2 / (\text{out} + \text{in})`, whichever layer they belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

_DAMPING = 0.03
"""Share of the mean eigenvalue that is added to all: few batches do not know the small ones."""

Moments = tuple[Tensor, Tensor]
"""A (in, in) and G (out, out) of a layer."""


def factors(update: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """(B, A) of the given rank whose product is nearest to an (out, in) update: its truncated SVD, evenly shared."""
    left, values, right = torch.linalg.svd(update.float(), full_matrices=False)
    root = values[:rank].sqrt()
    return left[:, :rank] * root, root[:, None] * right[:rank]


class LowRank(nn.Module):
    """Parametrisation that adds ``lora_B @ lora_A`` to a frozen (out, in) weight."""

    def __init__(self, out_features: int, in_features: int, rank: int) -> None:
        super().__init__()
        self.lora_A = nn.Parameter(torch.randn(rank, in_features) / in_features**0.5)
        self.lora_B = nn.Parameter(torch.zeros(out_features, rank))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.lora_B @ self.lora_A


class LowRankEmbedding(nn.Module):
    """An embedding (n, d) with a low-rank update; also the tied output matrix, without ever forming the sum.

    Args:
        base: the embedding, which stays as it is.
        rank: of the update.
        rows: (k,) rows that the update reaches; all where none are given.
    """

    rows: Tensor | None

    def __init__(self, base: nn.Embedding, rank: int, rows: Tensor | None = None) -> None:
        super().__init__()
        count, width = base.weight.shape
        self.register_buffer("rows", rows, persistent=False)
        self.weight = nn.Parameter(base.weight.detach().clone(), requires_grad=False)
        self.lora_A = nn.Parameter(torch.randn(rank, width) / width**0.5)
        self.lora_B = nn.Parameter(torch.zeros(count if rows is None else len(rows), rank))

    def _left(self) -> Tensor:
        """(n, rank): ``lora_B``, with zeros in the rows that it does not reach."""
        if self.rows is None:
            return self.lora_B
        return self.lora_B.new_zeros(len(self.weight), self.lora_B.shape[1]).index_copy(0, self.rows, self.lora_B)

    def forward(self, ids: Tensor) -> Tensor:
        """(...,) ids to (..., d) vectors."""
        return functional.embedding(ids, self.weight) + functional.embedding(ids, self._left()) @ self.lora_A

    def whole(self) -> Tensor:
        """(n, d): the base with its update added."""
        return self.weight + self._left() @ self.lora_A

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., d) hidden states to (..., n) scores: ``hidden @ (W0 + B A)^T``."""
        return hidden @ self.weight.T + (hidden @ self.lora_A.T) @ self._left().T


def linears(module: nn.Module) -> dict[str, nn.Linear]:
    """Every linear layer below ``module``, by its name there."""
    return {name: child for name, child in module.named_modules() if isinstance(child, nn.Linear)}


def add_updates(module: nn.Module, rank: int | Mapping[str, int]) -> None:
    """Freezes the weight of every linear layer below ``module`` and gives it an update of its ``rank``."""
    for name, child in linears(module).items():
        child.weight.requires_grad_(False)
        own = rank if isinstance(rank, int) else rank[name]
        update = LowRank(child.out_features, child.in_features, own)
        parametrize.register_parametrization(child, "weight", update, unsafe=True)


def moments(layers: Mapping[str, nn.Linear], losses: Iterable[Callable[[], Tensor]]) -> dict[str, Moments]:
    """A and G of each layer, summed over the positions of all batches.

    Args:
        layers: by name; their weights must take gradients.
        losses: each makes the summed loss of one batch, for labels drawn from the model.
    """
    sums: dict[str, Moments] = {}

    def watch(name: str, _: nn.Module, inputs: tuple[Tensor], output: Tensor) -> None:
        x = inputs[0].detach().flatten(0, -2).float()

        def add(gradient: Tensor) -> None:
            g = gradient.flatten(0, -2).float()
            before = sums.get(name, (0.0, 0.0))
            sums[name] = (before[0] + x.T @ x, before[1] + g.T @ g)

        output.register_hook(add)  # type: ignore[no-untyped-call]

    handles = [layer.register_forward_hook(partial(watch, name)) for name, layer in layers.items()]
    for loss in losses:
        loss().backward()  # type: ignore[no-untyped-call]
    for handle in handles:
        handle.remove()
    for layer in layers.values():
        layer.zero_grad(set_to_none=True)
    return sums


def _roots(moment: Tensor) -> tuple[Tensor, Tensor]:
    """Square root of a damped moment, and its inverse."""
    values, vectors = torch.linalg.eigh(moment.double())
    root = (values.clamp(min=0) + _DAMPING * values.mean()).sqrt()
    return ((vectors * root) @ vectors.T).float(), ((vectors / root) @ vectors.T).float()


def directions(update: Tensor, moment: Moments) -> tuple[Tensor, Tensor, Tensor]:
    """(out, k), (k,), (k, in): directions of an (out, in) update by falling worth, and the values s.

    The product ``left @ right`` of all of them is the update. Both vectors of a direction have the same length: an
    optimizer that takes equal steps in both would tear apart what is large on one side and small on the other.
    """
    root_in, back_in = _roots(moment[0])
    root_out, back_out = _roots(moment[1])
    u, values, v = torch.linalg.svd(root_out @ update.float() @ root_in, full_matrices=False)
    left, right = back_out @ u * values, v @ back_in
    even = (right.norm(dim=1) / left.norm(dim=0).clamp(min=1e-12)).sqrt()
    return left * even, values, right / even.clamp(min=1e-12)[:, None]


def allot(values: Mapping[str, Tensor], costs: Mapping[str, int], budget: int) -> dict[str, int]:
    """Directions to keep of each layer, at least one: the most worth for ``budget`` numbers.

    Args:
        values: falling values s of each layer.
        costs: numbers that one direction of the layer takes.
        budget: numbers in all.
    """
    ranks = dict.fromkeys(values, 1)
    left = budget - sum(costs.values())
    queue = sorted(
        (-(float(s) ** 2) / costs[name], place, name)
        for name, all_of in values.items()
        for place, s in enumerate(all_of)
    )
    for _, place, name in queue:
        if place > 0:
            left -= costs[name]
            if left < 0:
                break
            ranks[name] += 1
    return ranks


WORDS = "bert.embeddings.word_embeddings.weight"


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
        own = {_shipped_name(name): value for name, value in self.named_parameters() if value.requires_grad}
        for name, value in start.items():
            if name in own:
                own[name].copy_(value)
            if f"{name}.lora_A" not in own:
                continue
            update = value.float() - state[name]
            if name == WORDS and self.words.rows is not None:
                update = update[self.words.rows]
            layer = name.removeprefix("bert.encoder.").removesuffix(".weight")
            if f"{layer}.lora_A" in cut:
                left, right = cut[f"{layer}.lora_B"], cut[f"{layer}.lora_A"]
            else:
                left, right = factors(update, len(own[f"{name}.lora_A"]))
            own[f"{name}.lora_B"].copy_(left)
            own[f"{name}.lora_A"].copy_(right)

    def whole(self) -> dict[str, Tensor]:
        """All weights, updates added, under the names of BertForMaskedLM."""
        out: dict[str, Tensor] = {WORDS: self.words.whole(), "cls.predictions.bias": self.bias}
        for name, child in self.named_modules():
            if isinstance(child, (nn.Linear, nn.LayerNorm, nn.Embedding)):
                out[_shipped_name(f"{name}.weight")] = child.weight
            if isinstance(child, (nn.Linear, nn.LayerNorm)):
                out[_shipped_name(f"{name}.bias")] = child.bias
        return {name: value.detach().clone() for name, value in out.items()}

    def cut(self, backbone: dict[str, Tensor], rank: int, losses: Iterable[Callable[[], Tensor]]) -> dict[str, Tensor]:
        """What this free model adds to the encoder's matrices, as factors "<layer>.lora_A" and "<layer>.lora_B".

        Args:
            backbone: the base weights, named as in BertForMaskedLM.
            rank: the factors take as many numbers as this rank in every layer would.
            losses: summed losses of this model that tell which directions matter (`moments`).
        """
        layers = linears(self.bert.encoder)
        curvatures = moments(layers, losses)
        parts: dict[str, tuple[Tensor, Tensor, Tensor]] = {}
        for name, layer in layers.items():
            parts[name] = directions(layer.weight.detach() - backbone[f"bert.encoder.{name}.weight"], curvatures[name])
        costs = {name: sum(layer.weight.shape) for name, layer in layers.items()}
        ranks = allot({name: values for name, (_, values, _) in parts.items()}, costs, rank * sum(costs.values()))
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
        """Shipped tensors under the names of BertForMaskedLM (`core.checkpoints.bundled`)."""
        learned = {_shipped_name(name): value for name, value in self.named_parameters() if value.requires_grad}
        out: dict[str, Tensor] = {**learned}
        if self.words.rows is not None:
            out[f"{WORDS}.lora_rows"] = self.words.rows.to(torch.int32)
        return out


def shipped_update(name: str) -> str:
    """The name of a parametrization's factor beside the weight that it updates."""
    return name.replace(".parametrizations.weight.0.lora_", ".weight.lora_")


def _shipped_name(name: str) -> str:
    """The name in BertForMaskedLM of a parameter of `MaskedModel`."""
    name = shipped_update(name).replace("word_embeddings.lora_", "word_embeddings.weight.lora_")
    return f"cls.predictions.{name}" if name.startswith(("transform.", "bias")) else name
