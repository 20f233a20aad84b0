r"""Text from a decoder, one token at a time: greedy, sampled, or by beam search.

Greedy decoding takes the most probable token every time. It is short-sighted and, in small models above all, soon says
the same again; :func:`repetition` measures that.

A written text in a few numbers: how probable the model found it, how sure it was, how much it repeats.

With :math:`p_t` the model's own probability of the token taken at step t of n, before any rule:

.. math:: \frac1n \sum_t \ln p_t, \qquad \mathrm{perplexity} = e^{-\frac1n \sum_t \ln p_t}

A run of k tokens is repeated when it stood in the text before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, OutOfRange
from core.language.codes import codes_of
from core.language.decode import steps
from core.language.decoding.reader import Start
from core.language.limits import max_tokens
from core.language.text import clean
from core.language.types import Decoding, GenerationStep

MAX_CHARS = 5_000


def generate(
    checkpoint: Checkpoint,
    prompt: str,
    decoding: Decoding | None = None,
    *,
    forced: Sequence[int] = (),
    code: str | None = None,
) -> Iterator[GenerationStep]:
    """Continue ``prompt``, yielding each step as soon as it is computed; stop iterating to stop the model.

    :param forced: tokens that the first steps take, as ids: the path up to and including a token chosen by hand.
    :param code: label of the control code to continue under, for a checkpoint that has codes; its first one if None.
    :raises InputEmpty: nothing readable in the prompt.
    :raises InputTooLong: the prompt leaves no position for a new token.
    :raises OutOfRange: a setting or a forced token is out of range.
    """
    return steps(checkpoint, prompted(checkpoint, prompt, code), decoding or Decoding(), forced=forced)


def prompted(checkpoint: Checkpoint, prompt: str, code: str | None = None) -> Start:
    """What a decoder writes after, refused as `prompt_ids` refuses it."""
    ids, limit = prompt_ids(checkpoint, prompt, code), max_tokens(checkpoint)
    return Start(ids, room=None if limit is None else limit - len(ids))


def prompt_ids(checkpoint: Checkpoint, prompt: str, code: str | None = None) -> tuple[int, ...]:
    """The ids that the decoder starts from; refuses a prompt after which nothing fits.

    A checkpoint with control codes has never seen a text without one: ``code`` stands first, else the code that the
    prompt itself begins with, else the first that the card lists.
    """
    if checkpoint.model.config.is_encoder_decoder:
        raise InputUnusable(f"{checkpoint.spec.name} rewrites a text; it does not continue one. Choose a decoder.")
    if checkpoint.spec.offers("two streams"):
        raise InputUnusable(f"{checkpoint.spec.name} predicts words of a text in any order; it does not continue one.")
    text = clean(prompt, MAX_CHARS, newlines=True)
    tokenizer = checkpoint.tokenizer
    ids = [int(i) for i in tokenizer(text, verbose=False)["input_ids"]]
    if len(ids) > 1 and ids[-1] == tokenizer.eos_token_id:
        ids.pop()  # some tokenisers close every text, and a closed text is not continued
    if codes := codes_of(checkpoint):
        if code is not None and code not in codes:
            raise OutOfRange(f"{checkpoint.spec.name} has no code “{code}”. Its codes: {', '.join(codes)}.")
        typed = ids.pop(0) if ids[0] in codes.values() else next(iter(codes.values()))
        ids.insert(0, typed if code is None else codes[code])
    limit = max_tokens(checkpoint)
    if limit is not None and len(ids) >= limit:
        raise InputTooLong(
            f"This prompt has {len(ids):,} tokens; {checkpoint.spec.name} has positions for {limit:,}, prompt and "
            f"continuation together. A prompt of about {limit // 2:,} words or fewer works."
        )
    return tuple(ids)


def repetition(ids: Sequence[int], n: int = 3) -> float:
    """The share of runs of ``n`` tokens that occurred before in ``ids``; 0 when nothing repeats or nothing can."""
    runs = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return 1 - len(set(runs)) / len(runs) if runs else 0.0


RUNS = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of one text; a mean is None where there is nothing to average."""

    tokens: int
    mean_log: float | None
    """Mean log-probability of a token, in nats."""
    entropy: float | None
    """Mean entropy of the model's own probabilities, in bits."""
    kept: float | None
    """Mean number of tokens that the rules left."""
    repeated: tuple[float, ...]
    """The share of repeated runs of 1, 2, 3 and 4 tokens."""

    @property
    def perplexity(self) -> float | None:
        """The number of equally likely tokens that would surprise as much."""
        return None if self.mean_log is None else math.exp(-self.mean_log)


def summary(written: Sequence[GenerationStep]) -> Summary:
    """The numbers of a text whose steps have their `Spread`."""
    spreads = [step.spread for step in written if step.spread is not None]
    ids = [step.token.id for step in written]
    if not spreads:
        return Summary(len(ids), None, None, None, tuple(repetition(ids, n) for n in RUNS))
    return Summary(
        len(ids),
        -math.log(2) * sum(s.surprise for s in spreads) / len(spreads),
        sum(s.entropy for s in spreads) / len(spreads),
        sum(s.kept for s in spreads) / len(spreads),
        tuple(repetition(ids, n) for n in RUNS),
    )
