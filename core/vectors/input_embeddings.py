r"""Input embeddings: the sum that is the input of the first layer, component by component.

For BERT (Devlin et al. 2018) a token of the vocabulary's entry w, at position t, in text s is

.. math:: X = E[w] + P[t] + G[s], \qquad h^{(0)} = \beta + \gamma \odot \frac{X - \mu}{\sqrt{\sigma^2 + \epsilon}}

The share of a component in the sum

.. math:: \mathrm{share}(A) = \frac{A \cdot X}{\|X\|^2}, \qquad \textstyle\sum_A \mathrm{share}(A) = 1

is the length of its projection on the sum, relative to the sum's. It is negative for a component that points away from
the sum.

Legend: n tokens, w hidden size, A a component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from core.arrays import Floats
from core.attention.inside.states import embedding_of
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong
from core.language import bilingual
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.text import clean
from core.language.tokens import speaks
from core.language.types import Token
from core.vectors.reading import MAX_CHARS, inputs_of

MAX_TOKENS = 64
COMPONENTS = ("token", "position", "segment", "language")


@dataclass(frozen=True, slots=True, eq=False)
class InputEmbeddings:
    """One text, or two, before the first layer."""

    tokens: tuple[Token, ...]
    parts: dict[str, Floats]  # (n, w) each, in the order of `COMPONENTS`
    total: Floats  # (n, w)
    after: dict[str, Floats]
    """(n, ...) the steps after the sum, by name."""
    formulas: dict[str, str]
    """LaTeX of each part."""

    @property
    def lengths(self) -> Floats:
        """(parts + 1, n) lengths of the parts, and of the sum."""
        result: Floats = np.linalg.norm([*self.parts.values(), self.total], axis=-1)
        return result

    @property
    def cosines(self) -> Floats:
        """(parts, n) cosine of each part with the sum; 0 where one has no length."""
        lengths = np.maximum(self.lengths, 1e-12)
        result: Floats = self._products / (lengths[:-1] * lengths[-1])
        return result

    @property
    def shares(self) -> Floats:
        """(parts, n) share of each part in the sum; columns sum to one."""
        result: Floats = self._products / np.maximum((self.total**2).sum(axis=1), 1e-12)
        return result

    @property
    def _products(self) -> Floats:
        """(parts, n) of each part with the sum."""
        result: Floats = (np.stack([*self.parts.values()]) * self.total).sum(axis=-1)
        return result


def pairs(checkpoint: Checkpoint) -> bool:
    """Whether a model reads two texts with an embedding for each: of segments, or of languages."""
    if speaks(checkpoint.model):
        return True
    segments = getattr(checkpoint.model.config, "type_vocab_size", 0) or 0
    return checkpoint.spec.offers("two texts") and segments > 1


def input_embeddings(checkpoint: Checkpoint, first: str, second: str = "") -> InputEmbeddings:
    """The input embeddings of ``first``, and of ``second`` where the model reads pairs.

    Raises:
        InputEmpty, InputTooLong: nothing readable in the first, or more than `MAX_TOKENS` or the model's positions.
        NoAttentionMatrix: an unknown architecture.
    """
    inputs = _inputs(checkpoint, first, second)
    tokens = inputs.of_text
    if len(tokens) > MAX_TOKENS:
        raise InputTooLong(
            f"This text has {len(tokens)} tokens; up to {MAX_TOKENS} are taken apart. About {MAX_TOKENS * 2 // 3} "
            "words or fewer work."
        )
    steps = {step.name: step for step in embedding_of(inputs)}
    parts = {name: steps[name].values for name in COMPONENTS if name in steps}
    total = steps["sum"].values if "sum" in steps else parts["token"]
    return InputEmbeddings(
        tokens,
        parts,
        total,
        {name: steps[name].values for name in ("norm", "projection") if name in steps},
        {name: steps[name].formula for name in parts},
    )


def _inputs(checkpoint: Checkpoint, first: str, second: str) -> Inputs:
    if not (second.strip() and pairs(checkpoint)):
        return inputs_of(checkpoint, first)
    text_a, text_b = clean(first, MAX_CHARS), clean(second, MAX_CHARS)
    if speaks(checkpoint.model):
        return bilingual.prepare(checkpoint, text_a, text_b)
    return inputs(checkpoint, text_a, second=text_b)
