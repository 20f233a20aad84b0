"""Classes that transformers lacks, as skeletons for the trees: shapes and names, nothing that runs.

Adapter-BERT (Houlsby et al., 2019): BERT with an adapter between the dense layer of each sub-layer and its norm, as the
authors' code has it. What runs here is `core.checkpoints.adapters`, where adapters lie beside the encoder, by task.
The Transformer of 2017 and Transformer-XL have a file of their own, `own_transformer`.

mT5 (Xue et al., 2020) scores the vocabulary with a matrix of its own. transformers ties it to the token vectors
whatever the configuration says, and so counts V x d_model too few.

ELMo (Peters et al., 2018, section 3.4) reads words as letters: vectors of letters, convolutions over one to seven of
them, highways, one projection. Two stacks of LSTMs, one from the left and one from the right, read the sentence
independently; each layer's two outputs are concatenated. A task takes a weighted sum of the three layers,

    ELMo_k = γ Σ_j s_j h_kj,   s = softmax of three learned numbers,

which are the only numbers that it trains here. An LSTM has c units and hands on a projection of p numbers, so it counts
4c(d + p) + 4c + cp for inputs of dimension d: the four gates have one bias each, where torch's own LSTM has two.

DALL-E's transformer (Ramesh et al., 2021, arXiv 2102.12092, appendix B.1) is a decoder over one sequence: 256 text
tokens, then the 32 x 32 = 1,024 tokens of an image. A text token is the sum of a word vector (or, past the caption's
end, of a padding vector for its position) and a position; an image token the sum of a vector, a row and a column.
Every layer has one of three masks; none of them has parameters. With layers counted from i = 1:

    convolutional   in the last layer, 11 x 11
    column          where i - 2 is a multiple of 4
    row             in all others

Every image token attends to the whole text, the text to itself causally and never to the image. What the paper calls
embeddings and unembeddings are separate here. The parts that it does not spell out (a norm before each block and one at
the end, positions of the text, a feed-forward block of 4 d with biases) are those of GPT-2; only its total, "12.0e9
effective parameters" at d = 3,968, tells them apart, and too coarsely. The autoencoder that makes the image's tokens is
another network.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn
from transformers import BertModel, GPT2Config, MT5ForConditionalGeneration, PreTrainedConfig, PreTrainedModel
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
            for sublayer in (layer.attention, layer):
                sublayer.output = AdaptedOutput(sublayer.output, config.adapter_size)


class UntiedMT5(MT5ForConditionalGeneration):  # type: ignore[misc]
    """mT5 as it was published: the last matrix, [V, d_model], is not that of the token vectors."""

    _tied_weights_keys: ClassVar[dict[str, str]] = {
        name: source
        for name, source in MT5ForConditionalGeneration._tied_weights_keys.items()
        if name != "lm_head.weight"
    }


FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
"""Convolutions of the published sizes: (letters in the window, filters), 2,048 filters in all."""


class ElmoConfig(PreTrainedConfig):  # type: ignore[misc]
    """The published size by default; the names of the fields are ours."""

    model_type = "elmo"

    characters: int = 262
    character_size: int = 16
    num_highways: int = 2
    num_layers: int = 2
    units: int = 4096
    d_model: int = 512


class Highway(nn.Module):
    """Mixes what came in with a bent map of it, in a proportion that it computes itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)


class CharacterEncoder(nn.Module):
    """A word's letters to one vector, without context."""

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__()
        width = sum(filters for _, filters in FILTERS)
        self.letters = nn.Embedding(config.characters, config.character_size, padding_idx=0)
        self.convolutions = nn.ModuleList(nn.Conv1d(config.character_size, filters, size) for size, filters in FILTERS)
        self.highways = nn.ModuleList(Highway(width) for _ in range(config.num_highways))
        self.projection = nn.Linear(width, config.d_model)


class ProjectedLSTM(nn.Module):
    """One LSTM in one direction: the four gates from input and state, one bias, and a projection of the cell."""

    def __init__(self, width: int, units: int) -> None:
        super().__init__()
        self.from_input = nn.Linear(width, 4 * units, bias=False)
        self.from_state = nn.Linear(width, 4 * units)
        self.projection = nn.Linear(units, width, bias=False)


class ScalarMix(nn.Module):
    """The weights of the layers and one scale for all: what each task learns for itself."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(1))


class ElmoModel(PreTrainedModel):  # type: ignore[misc]
    """Letters to words, two directions that stay apart, and the mix of the layers (the words' own one counts)."""

    config_class = ElmoConfig

    def __init__(self, config: ElmoConfig) -> None:
        super().__init__(config)
        self.embeddings = CharacterEncoder(config)
        self.left_to_right = self._stack(config)
        self.right_to_left = self._stack(config)
        self.mix = ScalarMix(config.num_layers + 1)

    @staticmethod
    def _stack(config: ElmoConfig) -> nn.ModuleList:
        return nn.ModuleList(ProjectedLSTM(config.d_model, config.units) for _ in range(config.num_layers))


def mask_kind(layer: int, layers: int) -> str:
    """``"row"``, ``"column"`` or ``"convolutional"``: the mask of a layer, counted from 1."""
    if layer == layers:
        return "convolutional"
    return "column" if (layer - 2) % 4 == 0 else "row"


class DallEEmbeddings(nn.Module):
    """The vectors of both kinds of tokens, and of their positions."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        width = config.n_embd
        self.text_token = nn.Embedding(config.vocab_size, width)
        self.text_padding = nn.Embedding(config.n_positions, width)
        self.text_position = nn.Embedding(config.n_positions, width)
        self.image_token = nn.Embedding(config.image_vocabulary, width)
        self.image_row = nn.Embedding(config.image_side, width)
        self.image_column = nn.Embedding(config.image_side, width)


class DallEAttention(nn.Module):
    """Causal attention; the class says under which of the three masks, which the shapes do not tell."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.heads = config.n_head
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.out = nn.Linear(config.n_embd, config.n_embd)

    def extra_repr(self) -> str:
        """The heads, which the shapes do not tell either."""
        return f"heads={self.heads}"


class DallERowAttention(DallEAttention):
    """An image token attends to earlier tokens, back to its own column one row up."""


class DallEColumnAttention(DallEAttention):
    """An image token attends to its own column in all rows above; computed on the transposed image."""


class DallEConvolutionalAttention(DallEAttention):
    """An image token attends to a neighborhood of 11 x 11, as far as it is generated."""


_ATTENTION: dict[str, type[DallEAttention]] = {
    "row": DallERowAttention,
    "column": DallEColumnAttention,
    "convolutional": DallEConvolutionalAttention,
}


class DallEMLP(nn.Module):
    """Four times as wide, and back."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, 4 * width)
        self.act = GELUActivation()
        self.narrow = nn.Linear(4 * width, width)


class DallEBlock(nn.Module):
    """One layer: attention and feed-forward, which the paper counts as two residual blocks."""

    def __init__(self, config: Any, mask: str) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.n_embd)
        self.attention = _ATTENTION[mask](config)
        self.mlp_norm = nn.LayerNorm(config.n_embd)
        self.mlp = DallEMLP(config.n_embd)


class DallETransformer(PreTrainedModel):  # type: ignore[misc]
    """The whole decoder. A GPT-2 configuration with ``image_vocabulary`` and ``image_side`` describes it."""

    config_class = GPT2Config

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self.embeddings = DallEEmbeddings(config)
        kinds = (mask_kind(i, config.n_layer) for i in range(1, config.n_layer + 1))
        self.layers = nn.ModuleList([DallEBlock(config, kind) for kind in kinds])
        self.norm = nn.LayerNorm(config.n_embd)
        self.unembed_text = nn.Linear(config.n_embd, config.vocab_size)
        self.unembed_image = nn.Linear(config.n_embd, config.image_vocabulary)
