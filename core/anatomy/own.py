"""Classes that transformers lacks, as skeletons for the trees: shapes and names, nothing that runs.

Adapter-BERT (Houlsby et al., 2019): BERT with an adapter between the dense layer of each sub-layer and its norm, as the
authors' code has it. What runs here is `core.checkpoints.adapters`, where adapters lie beside the encoder, by task.

DALL-E's transformer is in `core.anatomy.own_dalle`.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import BertModel
from transformers.activations import GELUActivation

from core.anatomy.own_dalle import DallETransformer

__all__ = ["AdaptedOutput", "Adapter", "AdapterBertModel", "DallETransformer"]


class Adapter(nn.Module):
    """d numbers to m and back to d, added to what came in."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.down = nn.Linear(width, size)
        self.activation = GELUActivation()
        self.up = nn.Linear(size, width)


class AdaptedOutput(nn.Module):
    """What ends a sub-layer: the parts of BERT's own output, with an adapter before the norm."""

    def __init__(self, output: Any, size: int) -> None:
        super().__init__()
        self.dense = output.dense
        self.dropout = output.dropout
        self.adapter = Adapter(output.dense.out_features, size)
        self.LayerNorm = output.LayerNorm


class AdapterBertModel(BertModel):  # type: ignore[misc]
    """A BertModel with two adapters of ``config.adapter_size`` in each layer."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        for layer in self.encoder.layer:
            for place in (layer.attention, layer):
                place.output = AdaptedOutput(place.output, config.adapter_size)
