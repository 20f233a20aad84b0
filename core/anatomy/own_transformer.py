"""The Transformer of 2017 and Transformer-XL, which transformers lacks, as skeletons: shapes and names only.

Attention Is All You Need (Vaswani et al., 2017), sections 3.1 to 3.5. A sub-layer adds its input and normalizes last
(post-norm), LayerNorm(x + Sublayer(x)). The sub-layers are

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

    (q_i + u) . k_j + (q_i + w) . W_r r_(i-j),   r sinusoids of the distance, u and w learned,

with u and w for each layer, or one pair for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from transformers import MarianConfig, PreTrainedConfig, PreTrainedModel


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

    def __init__(self, config: Any) -> None:
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
