"""DALL-E's transformer (Ramesh et al., 2021, arXiv 2102.12092, appendix B.1): shapes and names, nothing that runs.

A decoder over one sequence: 256 text tokens, then the 32 x 32 = 1,024 tokens of an image. A text token is the sum of a
word vector (or, past the caption's end, of a padding vector of its place's own) and a position; an image token the sum
of a vector, a row and a column. Every layer has one of three masks; none of them has parameters. With layers counted
from i = 1:

    convolutional   in the last layer, 11 x 11
    column          where i - 2 is a multiple of 4
    row             in all others

Every image token sees all of the text, the text sees itself causally and never the image. What the paper calls
embeddings and unembeddings are separate here. The parts that it does not spell out (a norm before each block and one at
the end, positions of the text, a feed-forward block of 4 d with biases) are those of GPT-2; only its total, "12.0e9
effective parameters" at d = 3,968, tells them apart, and too coarsely. The autoencoder that makes the image's tokens is
another network.
"""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import GPT2Config, PreTrainedModel
from transformers.activations import GELUActivation


def mask_kind(layer: int, layers: int) -> str:
    """``"row"``, ``"column"`` or ``"convolutional"``: the mask of a layer, counted from 1."""
    if layer == layers:
        return "convolutional"
    return "column" if (layer - 2) % 4 == 0 else "row"


class DallEEmbeddings(nn.Module):
    """The vectors of both kinds of tokens, and of their places."""

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
    """An image token looks back to its own place one row up."""


class DallEColumnAttention(DallEAttention):
    """An image token looks at its own place in all rows above; computed on the transposed image."""


class DallEConvolutionalAttention(DallEAttention):
    """An image token looks at a neighbourhood of 11 x 11, as far as it is written."""


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
