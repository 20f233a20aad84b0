"""A network as a visitor sets it: numbers in boxes, and a style for what has no box.

The parameters of one layer with width d, a heads of d_h numbers of which g have keys and values of their own, and a
feed-forward block of f:

    attention        2 · d · a · d_h  +  2 · d · g · d_h        4 d² in the standard case
    feed-forward     2 · d · f, with a gate 3 · d · f           8 d² in the standard case
    norms            2 · 2 d, without a bias 2 · d

and biases where the style has them. Outside the layers stand V words with E numbers each, E · d to widen them where E
is not d, and the rows of positions and segments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from core.costs.shape import Kind
from core.errors import OutOfRange

Positions = Literal["learned", "rotary", "relative", "fixed"]
POSITIONS: dict[str, str] = {
    "learned": "a learned table",
    "rotary": "rotated into queries and keys",
    "relative": "a bias for each distance (T5)",
    "fixed": "sinusoids or none",
}
Head = Literal["none", "pooler", "words", "masked"]
HEADS: dict[str, str] = {
    "none": "none",
    "pooler": "pooler of the first token",
    "words": "next word",
    "masked": "masked words (BERT)",
}


@dataclass(frozen=True, slots=True)
class Style:
    """What has no box: biases and norms, as one family of models has them."""

    name: str
    attention_bias: Literal["all", "none", "queries", "output"] = "all"
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


STYLES = {
    "bert": Style("BERT: biases, a norm behind the word vectors", word_norm=True),
    "gpt-2": Style("GPT-2: biases, a norm at the end", final_norm=True),
    "gpt": Style("GPT: biases, no norm at the end"),
    "gpt-neo": Style("GPT-Neo: no biases on queries, keys, values", attention_bias="output", final_norm=True),
    "gpt-j": Style(
        "GPT-J: one norm a layer, no biases in attention", "none", norms=1, final_norm=True, head_bias=True
    ),
    "ctrl": Style("CTRL: as GPT-2, and a bias for each word", final_norm=True, head_bias=True),
    "llama": Style("LLaMA: no biases, scale-only norms", "none", ffn_bias=False, norm_bias=False, final_norm=True),
    "qwen2": Style("Qwen 2: as LLaMA, with biases on queries, keys, values", "queries", False, False, final_norm=True),
    "qwen3": Style("Qwen 3: as LLaMA, with norms inside the heads", "none", False, False, final_norm=True,
                   head_norm=True),
    "t5": Style("T5: no biases, scale-only norms", "none", ffn_bias=False, norm_bias=False, final_norm=True),
    "bart": Style("BART: biases, a norm behind the word vectors", word_norm=True, offset=2),
    "m2m": Style("M2M-100: biases, a norm at the end of each side", final_norm=True),
    "pegasus": Style("mBART: norms behind the words and at the end", word_norm=True, final_norm=True, offset=2),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Configuration:
    """Everything that the editor sets. ``decoder_layers`` counts only where there are two sides."""

    kind: Kind
    layers: int
    decoder_layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    """0 stands for width / heads."""
    ffn: int
    gated: bool
    vocabulary: int
    embedding: int
    """0 stands for the width."""
    positions: int
    scheme: Positions
    segments: int
    tied: bool
    shared: bool
    head: Head
    style: str

    @property
    def dim(self) -> int:
        """Numbers of one head."""
        return self.head_dim or self.width // self.heads

    @property
    def word_width(self) -> int:
        """Numbers of a word's vector."""
        return self.embedding or self.width

    def changed(self, **values: Any) -> Configuration:
        """With other values, checked. Raises :class:`OutOfRange`."""
        new = replace(self, **values)
        check(new)
        return new


def check(one: Configuration) -> None:
    """Raise :class:`core.errors.OutOfRange` with a sentence when the numbers do not make a network."""
    if min(one.layers, one.width, one.heads, one.kv_heads, one.ffn, one.vocabulary) < 1:
        raise OutOfRange("Layers, width, heads, feed-forward width and vocabulary must be at least 1.")
    if not one.head_dim and one.width % one.heads:
        low = one.width - one.width % one.heads
        fits = " or ".join(f"{value:,}" for value in (low, low + one.heads) if value)
        raise OutOfRange(
            f"A width of {one.width:,} cannot be shared out among {one.heads} heads. A width of {fits} would do, or a "
            "number of your own for the width of a head."
        )
    if one.heads % one.kv_heads:
        fits = ", ".join(str(n) for n in range(1, one.heads + 1) if one.heads % n == 0)
        raise OutOfRange(
            f"{one.kv_heads} key-value heads cannot serve {one.heads} heads equally. These numbers would do: {fits}."
        )
    if one.kind == "encoder-decoder" and one.decoder_layers < 1:
        raise OutOfRange("An encoder-decoder needs at least one layer on the decoder's side.")
