r"""Control codes: a token before the text says what kind of text follows (CTRL; Keskar et al., 2019).

A model of :math:`p(x \mid c)` also tells which code a text has, by Bayes' rule with equal priors over the codes:

.. math::

    \log p(x \mid c) = \sum_{t=1}^{n} \log p(x_t \mid c, x_{<t}), \qquad
    p(c \mid x) = \frac{p(x \mid c)}{\sum_{c'} p(x \mid c')}

A checkpoint's card lists its codes in ``[extra.codes]``: the name of each code, and its token.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.errors import InputTooLong, InputUnusable
from core.language.text import clean
from core.language.tokens import max_tokens
from core.lazy import torch
from core.run.model import Model, call

MAX_CHARS = 2_000
_AT_ONCE = 1024
"""Tokens per pass, since each has logits over the whole vocabulary."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class CodePrediction:
    """The codes of a text by Bayes' rule; one entry per code, in the card's order."""

    labels: tuple[str, ...]
    probabilities: tuple[float, ...]
    """Of each code, given the text; they sum to one."""
    bits: tuple[float, ...]
    """Bits per byte of the text under each code."""
    tokens: int

    @property
    def best(self) -> str:
        """The most probable code."""
        return self.labels[int(np.argmax(self.probabilities))]


def listed(spec: CheckpointSpec) -> dict[str, str]:
    """Label and token of each code of a checkpoint, from its card; may be empty."""
    return dict(spec.card.extra.get("codes", {})) if spec.card else {}


def codes_of(checkpoint: Checkpoint) -> dict[str, int]:
    """Label and token id of each code; may be empty."""
    tokenizer = checkpoint.tokenizer
    return {label: int(tokenizer.convert_tokens_to_ids(token)) for label, token in listed(checkpoint.spec).items()}


def log_probabilities(model: Model, texts: Sequence[Sequence[int]], codes: Sequence[int]) -> Floats:
    """log p(text | code) in nats, shape (texts, codes).

    Args:
        model: a transformers decoder.
        texts: token ids, all of one length.
        codes: token ids.
    """
    rows = [(text, code) for text in texts for code in codes]
    step = max(1, _AT_ONCE // len(texts[0]))
    sums: list[float] = []
    with torch.inference_mode():
        for at in range(0, len(rows), step):
            inputs = torch.tensor([[code, *text] for text, code in rows[at : at + step]], device=model.device)
            logs = call(model, input_ids=inputs[:, :-1], use_cache=False).logits.float().log_softmax(-1)
            sums += logs.gather(2, inputs[:, 1:, None])[..., 0].sum(1).tolist()
    return np.array(sums).reshape(len(texts), len(codes))


def posterior(logs: Floats) -> Floats:
    """p(code | text) for log p(text | code) along the last axis, with equal priors."""
    shifted = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def classify(checkpoint: Checkpoint, text: str) -> CodePrediction:
    """The probabilities of the codes of ``text``.

    :raises InputUnusable: the checkpoint has no codes.
    :raises InputEmpty: nothing readable in the text.
    :raises InputTooLong: it has more tokens than the model has positions.
    """
    codes = codes_of(checkpoint)
    if not codes:
        raise InputUnusable(f"{checkpoint.spec.name} has no control codes. Choose a model that has some.")
    text = clean(text, MAX_CHARS, newlines=True)
    ids = [i for i in checkpoint.tokenizer(text, verbose=False)["input_ids"] if i not in codes.values()]
    limit = max_tokens(checkpoint)
    if limit is not None and len(ids) > limit:
        raise InputTooLong(
            f"This text has {len(ids):,} tokens; {checkpoint.spec.name} reads {limit:,} after a code. "
            f"A text of about {limit // 2:,} words or fewer works."
        )
    if not ids:
        raise InputUnusable("This text is nothing but codes. Type a sentence for the model to classify.")
    logs = log_probabilities(checkpoint.model, [ids], list(codes.values()))[0]
    bits = -logs / math.log(2) / len(text.encode())
    return CodePrediction(tuple(codes), tuple(posterior(logs).tolist()), tuple(bits.tolist()), len(ids))
