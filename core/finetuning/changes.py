r"""What fine-tuning changed in a backbone: outputs and weights of each layer, the texts' states, and attention.

.. math::

    \text{outputs of layer } l:\ \frac1T \sum_t 1 - \cos(h_{l,t}, h'_{l,t}), \qquad
    \text{weights of layer } l:\ \frac{\lVert \theta'_l - \theta_l \rVert_2}{\lVert \theta_l \rVert_2},

over all T tokens of the held-out texts and all parameters of a layer; layer 0 is the embeddings, of whose weights the
token embeddings count. A prime marks the fine-tuned model. Adapters and low-rank updates leave the layers' weights as
they are.

Shapes: n texts, q tokens, d hidden size, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.attention.tokens import labels

if TYPE_CHECKING:
    from torch import Tensor

SENTENCES = 8
"""Held-out texts whose attention is kept."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Changes:
    """Before and after fine-tuning, on the held-out texts."""

    outputs: Floats
    """(L + 1,) mean cosine distance of the tokens' states."""
    weights: Floats
    """(L + 1,) relative distance of the parameters; NaN where layers share them."""
    similarity: Floats
    """(2, 2) mean cosine of two texts' states: frozen, fine-tuned; of one class, of different classes."""
    texts: tuple[int, ...]
    """The held-out texts whose attention is kept, from 0; none where a layer has no attention matrix."""
    tokens: tuple[tuple[str, ...], ...]
    before: tuple[NDArray[np.float16], ...]
    """(L, H, q, q) of each of these texts."""
    after: tuple[NDArray[np.float16], ...]


class Comparison:
    """Takes what a backbone computes before training, and compares it after."""

    def __init__(self, learner: Any, inputs: Mapping[str, Tensor], labels: Sequence[str]) -> None:
        """``learner`` is a `core.finetuning.train.Learner`; ``inputs`` and ``labels`` are of the held-out texts."""
        self._learner, self._inputs, self._labels = learner, inputs, np.array(labels)
        self._before = self._run()

    def _run(self) -> tuple[list[Tensor], list[Any], NDArray[Any]]:
        """States (n, q, d) of each layer, attention (n, H, q, q) of each layer, and the texts' states (n, d)."""
        import torch

        with torch.no_grad():
            output = self._learner.backbone(**self._inputs, output_hidden_states=True, output_attentions=True)
            states = self._learner.pool(output[0], self._inputs["attention_mask"]).numpy()
        return list(output.hidden_states), list(getattr(output, "attentions", None) or ()), states

    def changes(self) -> Changes:
        """What changed since it was created."""
        from torch.nn.functional import cosine_similarity

        before, after = self._before, self._run()
        attended = self._inputs["attention_mask"].bool()
        outputs = [
            float(1 - cosine_similarity(a, b, dim=-1)[attended].mean())
            for a, b in zip(before[0], after[0], strict=True)
        ]
        texts = self._texts(before[1])
        cut = [int(attended[text].sum()) for text in texts]

        def kept(layers: Sequence[Any]) -> tuple[NDArray[np.float16], ...]:
            return tuple(
                np.stack([layer[text, :, :n, :n].numpy() for layer in layers]).astype(np.float16)
                for text, n in zip(texts, cut, strict=True)
            )

        tokenizer = self._learner.checkpoint.tokenizer
        return Changes(
            np.array(outputs, np.float32),
            self._weights(len(outputs)),
            np.array([similarity(run[2], self._labels) for run in (before, after)], np.float32),
            texts,
            tuple(
                labels(tokenizer, self._inputs["input_ids"][text, :n].tolist())
                for text, n in zip(texts, cut, strict=True)
            ),
            kept(before[1]),
            kept(after[1]),
        )

    def _texts(self, attentions: Sequence[Any]) -> tuple[int, ...]:
        """Some of the texts, evenly spread."""
        n, q = self._inputs["input_ids"].shape
        if not attentions or any(a is None or a.ndim != 4 or a.shape[-2:] != (q, q) for a in attentions):
            return ()
        return tuple(dict.fromkeys(np.linspace(0, n - 1, SENTENCES).round().astype(int).tolist()))

    def _weights(self, count: int) -> Floats:
        import torch

        base: Any = self._learner.checkpoint.model.base_model
        original, moved = dict(base.named_parameters()), dict(self._learner.backbone.named_parameters())
        prefix, layers = self._learner.layers
        embeddings = base.get_input_embeddings().weight
        groups = [[name for name, value in original.items() if value is embeddings]]
        groups += [[name for name in original if name.startswith(f"{prefix}.{layer}.")] for layer in range(layers)]
        if len(groups) != count:
            return np.full(count, np.nan, np.float32)

        def norm(values: list[Tensor]) -> float:
            return float(torch.stack([value.detach().norm() for value in values]).norm())

        distances = [
            norm([moved[name] - original[name] for name in names]) / norm([original[name] for name in names])
            for names in groups
        ]
        return np.array(distances, np.float32)


def similarity(states: NDArray[Any], labels: NDArray[Any]) -> tuple[float, float]:
    """The mean cosine of two texts' states (n, d) of one class, and of different classes; NaN without such texts."""
    unit = states / np.linalg.norm(states, axis=1, keepdims=True)
    cosines, same = unit @ unit.T, labels[:, None] == labels
    other = ~np.eye(len(unit), dtype=bool)
    return (
        float(cosines[same & other].mean()) if (same & other).any() else float("nan"),
        float(cosines[~same].mean()) if (~same).any() else float("nan"),
    )
