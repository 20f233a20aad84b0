r"""What a token is before the first layer: the sum of its embeddings, taken apart.

For BERT (Devlin et al. 2018) a token of the vocabulary's entry w, at place t, in text s is

.. math:: X = E[w] + P[t] + G[s], \qquad h^{(0)} = \beta + \gamma \odot \frac{X - \mu}{\sqrt{\sigma^2 + \epsilon}}

How much of the sum a part is: its share

.. math:: \mathrm{share}(A) = \frac{A \cdot X}{\|X\|^2}, \qquad \textstyle\sum_A \mathrm{share}(A) = 1

the length of its shadow on the sum, of the sum's length. It is below zero for a part that points away from the sum.

numpy alone, but for the run itself. Legend: n tokens, w width, A a part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from core.attention.trace import Floats
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong
from core.language.types import Token
from core.vectors.reading import MAX_CHARS, tokens_of

if TYPE_CHECKING:
    from core.attention.inside.steps import Step

MAX_TOKENS = 64
PARTS = ("token", "position", "segment", "language")


@dataclass(frozen=True, slots=True)
class Kind:
    """What some architectures add up."""

    architectures: tuple[str, ...]
    parts: tuple[str, ...]
    after: tuple[str, ...]
    """What follows the sum: a norm, a projection to the width of the blocks."""
    told: str
    """Where its places come from, and what is unusual."""


KINDS = (
    Kind(
        ("bert", "electra", "encoder-decoder", "big_bird"),
        ("token", "position", "segment"),
        ("norm",),
        "BERT's sum: a table of words, one of places, one of two texts.",
    ),
    Kind(
        ("roberta", "longformer"),
        ("token", "position", "segment"),
        ("norm",),
        "One text, so its table of segments has one row: the same vector for every token, which says nothing.",
    ),
    Kind(
        ("albert",),
        ("token", "position", "segment"),
        ("norm", "projection"),
        "The sum is 64 numbers wide and is brought to 192 by a projection: fewer numbers for each word.",
    ),
    Kind(("distilbert", "bart"), ("token", "position"), ("norm",), "No segments."),
    Kind(
        ("xlm",),
        ("token", "position", "language"),
        ("norm",),
        "A vector for the language; the places of the second sentence begin again at 0.",
    ),
    Kind(
        ("gpt2", "gpt_neo"),
        ("token", "position"),
        (),
        "No norm here: each layer normalises what it reads.",
    ),
    Kind(
        ("ctrl", "m2m_100"),
        ("token", "position"),
        (),
        "Places are sinusoids, not learned; vectors of words are multiplied by the root of the width first.",
    ),
    Kind(
        ("reformer",),
        ("token", "position"),
        (),
        "A place is two short vectors side by side, of a row and of a column: fewer numbers for many places.",
    ),
    Kind(("deberta-v2",), ("token",), ("norm",), "Places are not added; every layer has vectors for distances."),
    Kind(("t5",), ("token",), (), "Nothing is added; a number for the distance is added to scores."),
    Kind(("llama",), ("token",), (), "Nothing is added; queries and keys are turned by their place."),
    Kind(
        ("xlnet", "transformer-xl"),
        ("token",),
        (),
        "Nothing is added; sinusoids of the distance stand in the scores.",
    ),
)
"""The architecture of every bundled model; a test holds them against the models themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """One text, or two, before the first layer."""

    tokens: tuple[Token, ...]
    parts: dict[str, Floats]  # (n, w) each, in the order in which they are told
    total: Floats  # (n, w)
    after: dict[str, Floats]
    """(n, ...) what follows the sum, by name."""
    formulas: dict[str, str]
    """LaTeX of each part."""

    @property
    def lengths(self) -> Floats:
        """(parts + 1, n) lengths of the parts, and of the sum."""
        found: Floats = np.stack([np.linalg.norm(part, axis=1) for part in (*self.parts.values(), self.total)])
        return found

    @property
    def cosines(self) -> Floats:
        """(parts, n) cosine of each part with the sum; 0 where one has no length."""
        lengths = np.maximum(self.lengths, 1e-12)
        found: Floats = np.stack(
            [
                (part * self.total).sum(axis=1) / (length * lengths[-1])
                for part, length in zip(self.parts.values(), lengths, strict=False)
            ]
        )
        return found

    @property
    def shares(self) -> Floats:
        """(parts, n) share of each part in the sum; columns sum to one."""
        whole = np.maximum((self.total**2).sum(axis=1), 1e-12)
        found: Floats = np.stack([(part * self.total).sum(axis=1) / whole for part in self.parts.values()])
        return found


def pairs(checkpoint: Checkpoint) -> bool:
    """Whether a model reads two texts and tells them apart: by segments, or by languages."""
    from core.language.limits import speaks

    if speaks(checkpoint.model):
        return True
    return checkpoint.spec.offers("two texts") and _segments(checkpoint) > 1


def _segments(checkpoint: Checkpoint) -> int:
    return int(getattr(checkpoint.model.config, "type_vocab_size", 0) or 0)


def sums(checkpoint: Checkpoint, first: str, second: str = "") -> Sums:
    """Take ``first``, and ``second`` where the model reads pairs, apart.

    Raises:
        InputEmpty, InputTooLong: nothing readable in the first, or more than `MAX_TOKENS` or the model's positions.
        NoAttentionMatrix: the architecture is not known here.
    """
    from core.attention.inside.states import embedding_of

    tokens, inputs = _inputs(checkpoint, first, second)
    if len(tokens) > MAX_TOKENS:
        raise InputTooLong(
            f"This text has {len(tokens)} tokens; up to {MAX_TOKENS} are taken apart. About {MAX_TOKENS * 2 // 3} "
            "words or fewer work."
        )
    steps = {step.name: step for step in embedding_of(checkpoint, inputs)}
    parts = {name: steps[name].values for name in PARTS if name in steps}
    total = steps["sum"].values if "sum" in steps else parts["token"]
    return Sums(
        tokens,
        parts,
        total,
        {name: _of(steps, name) for name in ("norm", "projection") if name in steps},
        {name: steps[name].formula for name in parts},
    )


def _of(steps: dict[str, Step], name: str) -> Floats:
    return steps[name].values


def _inputs(checkpoint: Checkpoint, first: str, second: str) -> tuple[tuple[Token, ...], dict[str, Any]]:
    """The tokens and one row of inputs, named as the forward pass takes them."""
    import torch

    from core.language import bilingual
    from core.language.limits import check_length, own_language, speaks
    from core.language.text import clean
    from core.language.tokens import describe

    if not (second.strip() and pairs(checkpoint)):
        tokens, _ = tokens_of(checkpoint, first)
        ids = torch.tensor([[token.id for token in tokens]])
        return tokens, {"input_ids": ids, "attention_mask": torch.ones_like(ids), **own_language(checkpoint.model, ids)}
    one, other = clean(first, MAX_CHARS), clean(second, MAX_CHARS)
    if speaks(checkpoint.model):
        joined = bilingual.prepare(checkpoint, one, other)
        row = {"input_ids": joined.row.ids, "langs": joined.row.langs, "position_ids": joined.row.positions}
        made = {name: torch.tensor([values]) for name, values in row.items()}
        return joined.tokens, {**made, "attention_mask": torch.ones_like(made["input_ids"])}
    encoded = checkpoint.tokenizer(one, other, return_token_type_ids=True, verbose=False)
    check_length(checkpoint, len(encoded["input_ids"]))
    names = ("input_ids", "attention_mask", "token_type_ids")
    return describe(checkpoint.tokenizer, encoded["input_ids"]), {name: torch.tensor([encoded[name]]) for name in names}
