"""What has no box in the editor: biases, norms and matrices of attention, as one family of models has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Style:
    """One family's ways."""

    name: str
    attention_bias: Literal["all", "none", "queries", "output", "no keys"] = "all"
    """``queries``: on queries, keys and values alone; ``output``: on the last matrix alone."""
    ffn_bias: bool = True
    norm_bias: bool = True
    norms: int = 2
    """Norms of a layer, without the one before cross-attention."""
    word_norm: bool = False
    """A norm right behind the word vectors, on each side."""
    final_norm: bool = False
    """A norm behind the last layer, on each side."""
    head_norm: bool = False
    """Norms of queries and of keys inside each head."""
    head_bias: bool = False
    """A bias on the matrix that writes words."""
    offset: int = 0
    """Rows of the position table that no position uses."""
    further: Literal["", "global", "distance", "disentangled"] = ""
    """More matrices of attention. ``global``: queries, keys and values a second time (Longformer). ``distance``: one
    for distances, three biases and two vectors for segments (XLNet). ``disentangled``: one that makes keys of
    distances, one that makes queries of them (DeBERTa)."""
    distance_norm: bool = False
    """A norm on the table of distances."""
    convolution: bool = False
    """A convolution over three tokens, with a norm, beside the first layer (DeBERTa-v2)."""
    mask_vector: bool = False
    """A vector for a word that is not to be seen (XLNet)."""
    two_streams: bool = False
    """Two vectors for each token, side by side behind the last layer (Reformer)."""
    own_words: bool = False
    """Each of two sides has word vectors of its own."""
    centred: bool = False
    """The norms subtract the mean, though they have no bias."""


STYLES = {
    "bert": Style("BERT: biases, a norm behind the word vectors", word_norm=True),
    "gpt-2": Style("GPT-2: biases, a norm at the end", final_norm=True),
    "gpt": Style("GPT: biases, no norm at the end"),
    "gpt-neo": Style("GPT-Neo: no biases on queries, keys, values", attention_bias="output", final_norm=True),
    "gpt-j": Style("GPT-J: one norm a layer, no biases in attention", "none", norms=1, final_norm=True, head_bias=True),
    "ctrl": Style("CTRL: as GPT-2, and a bias for each word", final_norm=True, head_bias=True),
    "llama": Style("LLaMA: no biases, scale-only norms", "none", ffn_bias=False, norm_bias=False, final_norm=True),
    "gemma-2": Style("Gemma 2: as LLaMA, with four norms a layer", "none", False, False, 4, final_norm=True),
    "qwen2": Style("Qwen 2: as LLaMA, with biases on queries, keys, values", "queries", False, False, final_norm=True),
    "qwen3": Style(
        "Qwen 3: as LLaMA, with norms inside the heads", "none", False, False, final_norm=True, head_norm=True
    ),
    "modernbert": Style(
        "ModernBERT: no biases, a norm at the end", "none", False, False, final_norm=True, centred=True
    ),
    "xlm": Style("XLM: as BERT, and a bias for each word", word_norm=True, head_bias=True),
    "xlnet": Style(
        "XLNet: a matrix for distances in each layer", "none", head_bias=True, further="distance", mask_vector=True
    ),
    "longformer": Style("Longformer: as BERT, queries, keys, values twice", word_norm=True, further="global"),
    "deberta": Style(
        "DeBERTa: two matrices for distances in each layer", "no keys", word_norm=True, further="disentangled"
    ),
    "deberta-3": Style("DeBERTa-v3: a norm on the table of distances", word_norm=True, distance_norm=True),
    "deberta-2": Style("DeBERTa-v2: as v3, with a convolution", word_norm=True, distance_norm=True, convolution=True),
    "reformer": Style(
        "Reformer: two streams, no biases in attention", "none", final_norm=True, head_bias=True, two_streams=True
    ),
    "transformer": Style("Transformer of 2017: no biases in attention", "none"),
    "t5": Style("T5: no biases, scale-only norms", "none", ffn_bias=False, norm_bias=False, final_norm=True),
    "bart": Style("BART: biases, a norm behind the word vectors", word_norm=True, offset=2),
    "m2m": Style("M2M-100: biases, a norm at the end of each side", final_norm=True),
    "pegasus": Style("mBART: norms behind the words and at the end", word_norm=True, final_norm=True, offset=2),
    "bigbird-pegasus": Style("BigBird-Pegasus: as M2M-100, no biases in attention", "none", final_norm=True),
    "bert2bert": Style("BERT2BERT: word vectors on each side", word_norm=True, own_words=True),
}
