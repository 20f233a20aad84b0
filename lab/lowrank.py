r"""Low-rank updates of frozen matrices: :math:`W = W_0 + BA` (Hu et al., 2021, LoRA).

:math:`A` is initialized at random and :math:`B` to zero, so training starts from the base model. The sum is computed
once per step: with many more tokens than ranks, that costs less than multiplying the tokens with both factors.

A model with free weights can be truncated to low-rank updates: all layers to the same rank by SVD, or with the same
number of parameters in all where the loss increases least. An error :math:`E` in the weights of a linear layer
:math:`y = W x` increases the loss, to second order and with the Kronecker-factored curvature of Martens and Grosse
(2015), by

.. math::

    \tfrac{1}{2} \operatorname{tr}(G E A E^\top), \qquad A = \mathbb{E}[x x^\top], \quad G = \mathbb{E}[g g^\top],

where :math:`g` is the gradient of the loss with respect to :math:`y` for labels sampled from the model's distribution.
With the SVD :math:`G^{1/2}\, \Delta W A^{1/2} = U S V^\top`, the best update of rank :math:`r` is
:math:`G^{-1/2} U_r S_r V_r^\top A^{-1/2}`, and omitting a singular value :math:`s` costs :math:`s^2 / 2`. A direction
has (out + in) parameters, so a budget of parameters goes to the directions of all layers with the largest
:math:`s^2 / (\text{out} + \text{in})`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

from core.lazy import transformers

_DAMPING = 0.03
"""Share of the mean eigenvalue that is added to all, since few batches estimate the small ones badly."""

Moments = tuple[Tensor, Tensor]
"""A (in, in) and G (out, out) of a layer."""


def factors(update: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """(B, A) of rank ``rank`` with the product nearest to an (out, in) update: its truncated SVD, balanced."""
    left, values, right = torch.linalg.svd(update.float(), full_matrices=False)
    root = values[:rank].sqrt()
    return left[:, :rank] * root, root[:, None] * right[:rank]


class LowRank(nn.Module):
    """Parametrization that adds ``lora_B @ lora_A`` to a frozen (out, in) weight."""

    def __init__(self, out_features: int, in_features: int, rank: int) -> None:
        super().__init__()
        self.lora_A = nn.Parameter(torch.randn(rank, in_features) / in_features**0.5)
        self.lora_B = nn.Parameter(torch.zeros(out_features, rank))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.lora_B @ self.lora_A


class LowRankEmbedding(nn.Module):
    """An embedding (n, d) with a low-rank update, and the tied output projection; the sum is never computed.

    Args:
        base: the embedding, frozen.
        rank: of the update.
        rows: (k,) rows that are updated; all by default.
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
        """(n, rank): ``lora_B``, with zeros in the rows that are not updated."""
        if self.rows is None:
            return self.lora_B
        return self.lora_B.new_zeros(len(self.weight), self.lora_B.shape[1]).index_copy(0, self.rows, self.lora_B)

    def forward(self, ids: Tensor) -> Tensor:
        """(...,) ids to (..., d) vectors."""
        return functional.embedding(ids, self.weight) + functional.embedding(ids, self._left()) @ self.lora_A

    def whole(self) -> Tensor:
        """(n, d): the base plus its update."""
        return self.weight + self._left() @ self.lora_A

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., d) hidden states to (..., n) scores: ``hidden @ (W0 + B A)^T``."""
        return hidden @ self.weight.T + (hidden @ self.lora_A.T) @ self._left().T


def linears(module: nn.Module) -> dict[str, nn.Linear]:
    """All linear layers of ``module`` by name."""
    return {name: child for name, child in module.named_modules() if isinstance(child, nn.Linear)}


def add_updates(module: nn.Module, rank: int | Mapping[str, int]) -> None:
    """Freeze the weights of all linear layers of ``module`` and add updates of ``rank``, one for all or by name."""
    for name, child in linears(module).items():
        child.weight.requires_grad_(False)
        rank_of_layer = rank if isinstance(rank, int) else rank[name]
        update = LowRank(child.out_features, child.in_features, rank_of_layer)
        parametrize.register_parametrization(child, "weight", update, unsafe=True)


def moments(layers: Mapping[str, nn.Linear], losses: Iterable[Callable[[], Tensor]]) -> dict[str, Moments]:
    """A and G of each layer, summed over the positions of all batches.

    Args:
        layers: by name; their weights must require gradients.
        losses: each returns the summed loss of a batch, for labels sampled from the model.
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
    """The square root of a damped moment, and its inverse."""
    values, vectors = torch.linalg.eigh(moment.double())
    root = (values.clamp(min=0) + _DAMPING * values.mean()).sqrt()
    return ((vectors * root) @ vectors.T).float(), ((vectors / root) @ vectors.T).float()


def directions(update: Tensor, moment: Moments) -> tuple[Tensor, Tensor, Tensor]:
    """(out, k), (k,), (k, in): directions of an (out, in) update by decreasing value, and the values s.

    The product ``left @ right`` of all of them is the update. Both vectors of a direction have the same norm, since the
    optimizer takes steps of equal size in both.
    """
    root_in, back_in = _roots(moment[0])
    root_out, back_out = _roots(moment[1])
    u, values, v = torch.linalg.svd(root_out @ update.float() @ root_in, full_matrices=False)
    left, right = back_out @ u * values, v @ back_in
    even = (right.norm(dim=1) / left.norm(dim=0).clamp(min=1e-12)).sqrt()
    return left * even, values, right / even.clamp(min=1e-12)[:, None]


def allot(values: Mapping[str, Tensor], costs: Mapping[str, int], budget: int) -> dict[str, int]:
    """The rank of each layer, at least 1, that is best for ``budget`` parameters.

    Args:
        values: decreasing values s of each layer.
        costs: parameters of one direction of each layer.
        budget: parameters in all.
    """
    ranks = dict.fromkeys(values, 1)
    left = budget - sum(costs.values())
    queue = sorted(
        (-(float(s) ** 2) / costs[name], number, name)
        for name, of_layer in values.items()
        for number, s in enumerate(of_layer)
    )
    for _, number, name in queue:
        if number > 0:
            left -= costs[name]
            if left < 0:
                break
            ranks[name] += 1
    return ranks


WORDS = "bert.embeddings.word_embeddings.weight"


class MaskedModel(nn.Module):
    """BERT's encoder and masked-language-modeling head; logits are computed at masked positions alone.

    Args:
        config: the architecture; dropout is off.
        state: initial weights, named as in BertForMaskedLM; a missing head starts as the identity.
        rank: rank of the updates of the encoder's matrices; 0 trains the matrices themselves.
        embedding_rank: rank of the update of the token embeddings, which are tied to the output projection.
        start: weights, named alike, to start from instead: updates start as their difference to ``state``, truncated
            to the ranks.
        cut: factors for the layers of the encoder, from `MaskedModel.cut`, each with its own rank.
        rows: tokens whose embeddings are updated; all by default.
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
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        config._attn_implementation = "eager"  # on short rows faster than the fused kernel
        full = transformers.BertForMaskedLM(config)
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
        """Sets the trained parameters so that the model is as close to ``start`` as the ranks allow."""
        trained = {_shipped_name(name): value for name, value in self.named_parameters() if value.requires_grad}
        for name, value in start.items():
            if name in trained:
                trained[name].copy_(value)
            if f"{name}.lora_A" not in trained:
                continue
            update = value.float() - state[name]
            if name == WORDS and self.words.rows is not None:
                update = update[self.words.rows]
            layer = name.removeprefix("bert.encoder.").removesuffix(".weight")
            if f"{layer}.lora_A" in cut:
                left, right = cut[f"{layer}.lora_B"], cut[f"{layer}.lora_A"]
            else:
                left, right = factors(update, len(trained[f"{name}.lora_A"]))
            trained[f"{name}.lora_B"].copy_(left)
            trained[f"{name}.lora_A"].copy_(right)

    def whole(self) -> dict[str, Tensor]:
        """All weights plus their updates, under the names of BertForMaskedLM."""
        out: dict[str, Tensor] = {WORDS: self.words.whole(), "cls.predictions.bias": self.bias}
        for name, child in self.named_modules():
            if isinstance(child, (nn.Linear, nn.LayerNorm, nn.Embedding)):
                out[_shipped_name(f"{name}.weight")] = child.weight
            if isinstance(child, (nn.Linear, nn.LayerNorm)):
                out[_shipped_name(f"{name}.bias")] = child.bias
        return {name: value.detach().clone() for name, value in out.items()}

    def cut(self, backbone: dict[str, Tensor], rank: int, losses: Iterable[Callable[[], Tensor]]) -> dict[str, Tensor]:
        """The updates of the encoder's matrices as factors "<layer>.lora_A" and "<layer>.lora_B".

        Args:
            backbone: the base weights, named as in BertForMaskedLM.
            rank: the factors have as many parameters as with this rank in every layer.
            losses: summed losses of this model, for `moments`.
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
        """Logits (masked, vocabulary) from ids and masked positions (rows, length).

        ``allowed`` (length, length) is the attention mask.
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
    """The shipped name of a parametrization's factor, beside the weight that it updates."""
    return name.replace(".parametrizations.weight.0.lora_", ".weight.lora_")


def _shipped_name(name: str) -> str:
    """The BertForMaskedLM name of a parameter of `MaskedModel`."""
    name = shipped_update(name).replace("word_embeddings.lora_", "word_embeddings.weight.lora_")
    return f"cls.predictions.{name}" if name.startswith(("transform.", "bias")) else name
