"""Classes that transformers lacks, as skeletons for the trees: shapes and names, nothing that runs.

Adapter-BERT (Houlsby et al., 2019): BERT with an adapter between the dense layer of each sub-layer and its norm, as the
authors' code has it. What runs here is `core.checkpoints.adapters`, where adapters lie beside the encoder, by task.
ELMo, DALL-E, the Transformer of 2017 and Transformer-XL have files of their own: `own_elmo`, `own_dalle`,
`own_transformer`, `own_transformer_xl`.

mT5 (Xue et al., 2020) scores the vocabulary with a matrix of its own. transformers ties it to the token vectors
whatever the configuration says, and so counts V x d_model too few.
"""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn
from transformers import BertModel, MT5ForConditionalGeneration
from transformers.activations import GELUActivation


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


class UntiedMT5(MT5ForConditionalGeneration):  # type: ignore[misc]
    """mT5 as it was published: the last matrix, [V, d_model], is not that of the token vectors."""

    _tied_weights_keys: ClassVar[dict[str, str]] = {
        name: source
        for name, source in MT5ForConditionalGeneration._tied_weights_keys.items()
        if name != "lm_head.weight"
    }
