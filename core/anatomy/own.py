"""Classes that transformers lacks, as skeletons for the trees: shapes and names, nothing that runs.

Adapter-BERT (Houlsby et al., 2019): BERT with an adapter between the dense layer of each sub-layer and its norm, as the
authors' code has it. What runs here is `core.checkpoints.adapters`, where adapters lie beside the encoder, by task.

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
embeddings and unembeddings are separate here. The parts that it does not spell out (norms before sub-layers and one at
the end, positions of the text, a feed-forward block of 4 d with biases) are those of GPT-2; only its total, "12.0e9
effective parameters" at d = 3,968, tells them apart, and too coarsely. The autoencoder that makes the image's tokens is
another network.

The Transformer of 2017: Attention Is All You Need (Vaswani et al., 2017), sections 3.1 to 3.5. A sub-layer adds its
input and normalizes last (post-norm), LayerNorm(x + Sublayer(x)). The sub-layers are

    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O,  head_i = softmax(Q W_i^Q (K W_i^K)^T / sqrt(d_k)) V W_i^V
    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

and one embedding matrix serves input, output and the pre-softmax projection. Sinusoidal positional encodings have no
parameters. W^Q, W^K, W^V and W^O have no bias, as the paper writes them.

The configuration is transformers' MarianConfig, which has a field for each of the paper's numbers: encoder_layers and
decoder_layers are N, d_model and vocab_size are called so, the two ffn_dim are d_ff and the two attention_heads are h.

**Transformer-XL** for words, after its authors' code (Dai et al., 2019, arXiv 1901.02860; kimiyoung/transformer-xl).
What runs here is transformers' XLNet class, whose one embedding matrix would double the large size.

The vocabulary, sorted by frequency, is cut at c_1 < c_2 < ... into bins. Words of bin i = 0, 1, ... have embeddings of
d / v^i dimensions, which a matrix of the bin projects to the hidden size d; with v = 1 all bins share one table and no
matrix. The output is an adaptive softmax: the first bin's words stand beside an entry for each rarer bin,

    p(w) = p(w | bin 0)  or  p(bin i) p(w | bin i).

Word embeddings are tied to the output, and so are the matrices of the rarer bins; the first bin has one for each side.
A layer is post-norm, without biases in its attention, whose score is

    q_i . k_j + q_i . W_r r_(i-j) + u . k_j + v . W_r r_(i-j),   r sinusoids of the distance, u and v learned,

with u and v for each layer, or one pair for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

import torch
from torch import nn
from transformers import (
    BertModel,
    GPT2Config,
    MarianConfig,
    MT5ForConditionalGeneration,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.activations import GELUActivation

from core.run.model import Config, Module


class PositionalEncoding(nn.Module):
    """Adds sinusoids to the embedded tokens; without parameters."""


class ScaledMultiHeadAttention(nn.Module):
    """MultiHead(Q, K, V): h heads of d_k numbers each, joined by W^O."""

    def __init__(self, d_model: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.W_Q = nn.Linear(d_model, d_model, bias=False)  # the h matrices W_i^Q side by side
        self.W_K = nn.Linear(d_model, d_model, bias=False)
        self.W_V = nn.Linear(d_model, d_model, bias=False)
        self.W_O = nn.Linear(d_model, d_model, bias=False)


class PositionwiseFeedForward(nn.Module):
    """FFN(x): every position by itself, d_model to d_ff and back."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.W_1 = nn.Linear(d_model, d_ff)
        self.activation = nn.ReLU()
        self.W_2 = nn.Linear(d_ff, d_model)


class PostNormEncoderLayer(nn.Module):
    """Self-attention and a feed-forward network, each with its input added back and a norm after it."""

    def __init__(self, d_model: int, d_ff: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = ScaledMultiHeadAttention(d_model, heads)
        self.self_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class PostNormDecoderLayer(nn.Module):
    """Causal self-attention, attention over the encoder's output, and a feed-forward network, each post-norm."""

    def __init__(self, d_model: int, d_ff: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.self_attention = ScaledMultiHeadAttention(d_model, heads)
        self.self_attention_norm = nn.LayerNorm(d_model)
        self.encoder_attention = ScaledMultiHeadAttention(d_model, heads)
        self.encoder_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)


class Transformer2017(PreTrainedModel):  # type: ignore[misc]
    """The whole of it: shared embeddings, N layers on each side, and scores over the vocabulary."""

    config_class = MarianConfig

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        d_model, dropout = config.d_model, config.dropout
        reading = (d_model, config.encoder_ffn_dim, config.encoder_attention_heads, dropout)
        writing = (d_model, config.decoder_ffn_dim, config.decoder_attention_heads, dropout)
        self.embedding = nn.Embedding(config.vocab_size, d_model)
        self.positional_encoding = PositionalEncoding()
        self.dropout = nn.Dropout(dropout)
        self.encoder = nn.ModuleList(PostNormEncoderLayer(*reading) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(PostNormDecoderLayer(*writing) for _ in range(config.decoder_layers))
        self.lm_head = nn.Linear(d_model, config.vocab_size, bias=False)
        self.lm_head.weight = self.embedding.weight


class TransformerXLConfig(PreTrainedConfig):  # type: ignore[misc]
    """The large size for WikiText-103 by default, with the fields that the authors' scripts set."""

    model_type = "transformer-xl"
    attribute_map: ClassVar = {
        "hidden_size": "d_model",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
    }

    vocab_size: int = 267_735
    cutoffs: tuple[int, ...] = (20_000, 40_000, 200_000)
    div_val: int = 4
    d_model: int = 1024
    n_layer: int = 18
    n_head: int = 16
    d_head: int = 64
    d_inner: int = 4096
    mem_len: int = 384
    untie_r: bool = True

    @property
    def bins(self) -> list[tuple[int, int]]:
        """(words, numbers of a vector) of each bin that has a table of its own, the most frequent first."""
        ends = [0, *(self.cutoffs if self.div_val > 1 else ()), self.vocab_size]
        return [(end - start, self.d_model // self.div_val**i) for i, (start, end) in enumerate(pairwise(ends))]


class AdaptiveEmbedding(nn.Module):
    """Vectors of words, narrower for rarer ones, and the matrices that project them to the hidden size."""

    def __init__(self, config: TransformerXLConfig) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(words, width) for words, width in config.bins)
        if config.div_val > 1:
            self.widen = nn.ModuleList(nn.Linear(width, config.d_model, bias=False) for _, width in config.bins)


class RelativeAttention(nn.Module):
    """Attention over the segment and the memory by content and distance."""

    def __init__(self, config: TransformerXLConfig, biases: Sequence[nn.Parameter]) -> None:
        super().__init__()
        self.heads = config.n_head
        width = config.n_head * config.d_head
        self.qkv = nn.Linear(config.d_model, 3 * width, bias=False)
        self.r = nn.Linear(config.d_model, width, bias=False)
        self.out = nn.Linear(width, config.d_model, bias=False)
        self.r_w_bias, self.r_r_bias = biases

    def extra_repr(self) -> str:
        """The number of heads, which does not follow from the shapes."""
        return f"heads={self.heads}"


class FeedForwardXL(nn.Module):
    """Each position alone: to the feed-forward dimension and back."""

    def __init__(self, config: TransformerXLConfig) -> None:
        super().__init__()
        self.W_1 = nn.Linear(config.d_model, config.d_inner)
        self.activation = nn.ReLU()
        self.W_2 = nn.Linear(config.d_inner, config.d_model)


class TransformerXLLayer(nn.Module):
    """Attention and feed-forward network, each with its input added back and a norm after it."""

    def __init__(self, config: TransformerXLConfig, biases: Sequence[nn.Parameter]) -> None:
        super().__init__()
        self.self_attention = RelativeAttention(config, biases)
        self.self_attention_norm = nn.LayerNorm(config.d_model)
        self.feed_forward = FeedForwardXL(config)
        self.feed_forward_norm = nn.LayerNorm(config.d_model)


class AdaptiveSoftmax(nn.Module):
    """Scores of words bin by bin; in the first bin one entry more for each of the rarer ones."""

    def __init__(self, config: TransformerXLConfig, embedding: AdaptiveEmbedding) -> None:
        super().__init__()
        self.bins = nn.Linear(config.d_model, len(config.cutoffs))
        self.words = nn.ModuleList(nn.Linear(width, words) for words, width in config.bins)
        for scores, table in zip(self.words, embedding.tables, strict=True):
            scores.weight = table.weight  # type: ignore[assignment]
        if config.div_val > 1:
            self.narrow = nn.Linear(config.d_model, config.d_model, bias=False)  # the first bin's; others are tied


class TransformerXLModel(PreTrainedModel):  # type: ignore[misc]
    """The whole decoder."""

    config_class = TransformerXLConfig

    def __init__(self, config: TransformerXLConfig) -> None:
        super().__init__(config)
        self.word_embedding = AdaptiveEmbedding(config)
        shared = None if config.untie_r else self._biases()
        self.layers = nn.ModuleList(TransformerXLLayer(config, shared or self._biases()) for _ in range(config.n_layer))
        self.head = AdaptiveSoftmax(config, self.word_embedding)

    def _biases(self) -> tuple[nn.Parameter, nn.Parameter]:
        """u and w of all heads: what is added to a query that meets a content, and one that meets a distance."""
        shape = self.config.n_head, self.config.d_head
        return nn.Parameter(torch.empty(shape)), nn.Parameter(torch.empty(shape))


class Adapter(nn.Module):
    """d numbers to m and back to d, added to what came in."""

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.down = nn.Linear(width, size)
        self.activation = GELUActivation()
        self.up = nn.Linear(size, width)


class AdaptedOutput(nn.Module):
    """What ends a sub-layer: the parts of BERT's own output, with an adapter before the norm."""

    def __init__(self, output: Module, size: int) -> None:
        super().__init__()
        self.dense = output.dense
        self.dropout = output.dropout
        self.adapter = Adapter(output.dense.out_features, size)
        self.LayerNorm = output.LayerNorm


class AdapterBertModel(BertModel):  # type: ignore[misc]
    """A BertModel with two adapters of ``config.adapter_size`` in each layer."""

    def __init__(self, config: Config) -> None:
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

    def __init__(self, config: Config) -> None:
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

    def __init__(self, config: Config) -> None:
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

    def __init__(self, config: Config, mask: str) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.n_embd)
        self.attention = _ATTENTION[mask](config)
        self.mlp_norm = nn.LayerNorm(config.n_embd)
        self.mlp = DallEMLP(config.n_embd)


class DallETransformer(PreTrainedModel):  # type: ignore[misc]
    """The whole decoder. A GPT-2 configuration with ``image_vocabulary`` and ``image_side`` describes it."""

    config_class = GPT2Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.embeddings = DallEEmbeddings(config)
        kinds = (mask_kind(i, config.n_layer) for i in range(1, config.n_layer + 1))
        self.layers = nn.ModuleList([DallEBlock(config, kind) for kind in kinds])
        self.norm = nn.LayerNorm(config.n_embd)
        self.unembed_text = nn.Linear(config.n_embd, config.vocab_size)
        self.unembed_image = nn.Linear(config.n_embd, config.image_vocabulary)
