"""Transformer-XL for words as a skeleton, after its authors' code: shapes and names, nothing that runs.

transformers has no such class any more; what runs here is its XLNet class, whose one table of words would double the
large size. Dai et al., 2019, arXiv 1901.02860; code of kimiyoung/transformer-xl.

The vocabulary, sorted by frequency, is cut at c_1 < c_2 < ... into bins. Words of bin i = 0, 1, ... have vectors of
d / v^i numbers, which a matrix of the bin maps to the width d; with v = 1 all bins share one table and need no matrix.
Scores go the same way back (an adaptive softmax): the first bin's words stand beside an entry for each rarer bin, which
is looked into by itself,

    p(w) = p(w | bin 0)  or  p(bin i) p(w | bin i).

Word vectors serve on both sides, and so do the matrices of the rarer bins; the first bin has one for each side. A layer
is post-norm, without biases in its attention, whose score is

    (q_i + u) . k_j + (q_i + w) . W_r r_(i-j),   r sinusoids of the distance, u and w learned,

with u and w for each layer, or one pair for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedConfig, PreTrainedModel


class TransformerXLConfig(PreTrainedConfig):  # type: ignore[misc]
    """The large size for WikiText-103 by default, with the fields that the authors' scripts set."""

    model_type = "transformer-xl"

    def __init__(
        self,
        vocab_size: int = 267_735,
        cutoffs: Sequence[int] = (20_000, 40_000, 200_000),
        div_val: int = 4,
        d_model: int = 1024,
        n_layer: int = 18,
        n_head: int = 16,
        d_head: int = 64,
        d_inner: int = 4096,
        mem_len: int = 384,
        untie_r: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.cutoffs = list(cutoffs)
        self.div_val = div_val
        self.d_model = d_model
        self.n_layer = n_layer
        self.n_head = n_head
        self.d_head = d_head
        self.d_inner = d_inner
        self.mem_len = mem_len
        self.untie_r = untie_r

    @property
    def bins(self) -> list[tuple[int, int]]:
        """(words, numbers of a vector) of each bin that has a table of its own, the most frequent first."""
        ends = [0, *(self.cutoffs if self.div_val > 1 else ()), self.vocab_size]
        return [(end - start, self.d_model // self.div_val**i) for i, (start, end) in enumerate(pairwise(ends))]


class AdaptiveEmbedding(nn.Module):
    """Vectors of words, narrower for rarer ones, and the matrices that bring them to one width."""

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
        """The heads, which the shapes do not tell."""
        return f"heads={self.heads}"


class FeedForwardXL(nn.Module):
    """Every place by itself: to the inner width and back."""

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
