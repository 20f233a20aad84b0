r"""Text from a decoder, one token at a time: greedy, sampled, or by beam search.

Greedy decoding takes the most probable token every time. It is short-sighted and, in small models above all, soon says
the same again; :func:`repetition` measures that.

At every step one token is chosen and fed back. Several decodings of one prompt are rows of one batch, each with its own
rules; its random numbers are those of its seed and the number of the step, so rows with one seed share them. A row that
is over leaves the batch. Beam search is no row, since its hypotheses swap places. What a step costs stands in
`core.language.decoding.reader`.

Statistics of a generated text: its probability under the model, the entropy, and repetition.

With :math:`p_t` the model's own probability of the token taken at step t of n, before any rule:

.. math:: \frac1n \sum_t \ln p_t, \qquad \mathrm{perplexity} = e^{-\frac1n \sum_t \ln p_t}

A k-gram is repeated if it occurred in the text before.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language import starts
from core.language.decoding.reader import Reader, ban_tokens, banned_ids, budget, end_ids
from core.language.decoding.rules import check, end_reason, pick
from core.language.decoding.search import beam_steps
from core.language.inputs import Inputs
from core.language.tokens import Wording
from core.language.types import Decoding, GenerationStep


def generate(
    checkpoint: Checkpoint,
    prompt: str,
    decoding: Decoding | None = None,
    *,
    forced: Sequence[int] = (),
    code: str | None = None,
) -> Iterator[GenerationStep]:
    """Continue ``prompt``, step by step; stop iterating to stop the generation.

    :param forced: ids of the first tokens, up to one chosen by the visitor.
    :param code: label of the control code, for a checkpoint with codes; by default the first.
    :raises InputEmpty: nothing readable in the prompt.
    :raises InputTooLong: the prompt leaves no position for a new token.
    :raises OutOfRange: a setting or a forced token is out of range.
    """
    return steps(starts.prompt(checkpoint, prompt, code), decoding or Decoding(), forced=forced)


def steps(start: Inputs, decoding: Decoding, *, forced: Sequence[int] = ()) -> Iterator[GenerationStep]:
    """Generate after ``start``, step by step, until the end token, the length, or the last position.

    :param forced: ids of the first tokens, chosen by the visitor.
    :raises OutOfRange: a setting or a forced id is out of range.
    """
    check(decoding)
    size = int(start.checkpoint.model.config.get_text_config(decoder=True).vocab_size)
    for token_id in forced:
        if not 0 <= token_id < size:
            raise OutOfRange(f"There is no token {token_id}: the vocabulary has ids 0 to {size - 1:,}.")
    if decoding.strategy == "beam":
        return beam_steps(start, decoding, forced)
    return (step for _, step in _rows(start, (decoding,), forced))


def steps_along(
    checkpoint: Checkpoint, text: str, ids: Sequence[int], task: str | None = None
) -> tuple[GenerationStep, ...]:
    """The steps of ``ids``, generated after ``text``, with the spreads, which beam search lacks."""
    if not ids:
        return ()
    return tuple(steps(starts.start(checkpoint, text, task), Decoding(max_new_tokens=len(ids)), forced=ids))


def steps_in_batch(
    checkpoint: Checkpoint, text: str, decodings: Sequence[Decoding], task: str | None = None
) -> Iterator[tuple[int, GenerationStep]]:
    """:func:`batch` after ``text``, a prompt or a source."""
    return batch(starts.start(checkpoint, text, task), decodings)


def batch(start: Inputs, decodings: Sequence[Decoding]) -> Iterator[tuple[int, GenerationStep]]:
    """Generate with several decodings in one batch: (number of the decoding, its next step).

    Raises:
        OutOfRange: a setting is out of range, or a decoding is beam search.
    """
    for decoding in decodings:
        check(decoding)
        if decoding.strategy == "beam":
            raise OutOfRange("Beam search runs alone.")
    return _rows(start, decodings)


def _rows(
    start: Inputs,
    decodings: Sequence[Decoding],
    forced: Sequence[int] = (),
) -> Iterator[tuple[int, GenerationStep]]:
    from torch import tensor

    model, prompt = start.checkpoint.model, start.ids
    reader, wording = Reader(model, start.source_ids), Wording(start.checkpoint.tokenizer)
    ends, banned = end_ids(model), banned_ids(model)
    budgets = [budget(start, decoding) for decoding in decodings]
    feed = tensor([prompt], device=model.device)
    live = [row for row, (most, _) in enumerate(budgets) if most > 0]
    generated: list[tuple[int, ...]] = [() for _ in decodings]
    index = 0
    forced_scores = reader.read_each(tensor([[*prompt, *forced[:-1]]], device=model.device), len(forced))
    while live:
        # one row at first, then one for each text
        scores = ban_tokens(next(forced_scores) if index < len(forced) else reader.next_logits(feed), banned)
        forced_id = forced[index] if index < len(forced) else None
        running: list[int] = []
        for number, row in enumerate(live):
            most, full = budgets[row]
            row_scores = scores[number if index else 0]
            before = (*prompt, *generated[row])
            token, others, spread = pick(row_scores, decodings[row], index, forced_id, wording, before)
            generated[row] = (*generated[row], token.id)
            text = wording.text(generated[row])
            reason = end_reason(token.id, text, decodings[row], ends, full if index + 1 >= most else "")
            if not reason:
                running.append(number)
            yield (
                row,
                GenerationStep(
                    index,
                    token,
                    others,
                    text,
                    generated[row],
                    finished=bool(reason),
                    reason=reason,
                    spread=spread,
                ),
            )
        if not running:
            return
        rows = running if index else [0] * len(running)
        if rows != list(range(len(scores))):
            reader.select(rows)
        live = [live[number] for number in running]
        feed = tensor([[generated[row][-1]] for row in live], device=model.device)
        index += 1


def repetition(ids: Sequence[int], n: int = 3) -> float:
    """The share of repeated n-grams in ``ids``; 0 for a text shorter than ``n``."""
    ngrams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return 1 - len(set(ngrams)) / len(ngrams) if ngrams else 0.0


NGRAM_SIZES = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of one text; a mean of nothing is None."""

    tokens: int
    mean_log: float | None
    """Mean log-probability of a token, in nats."""
    entropy: float | None
    """Mean entropy of the model's own probabilities, in bits."""
    remaining: float | None
    """Mean number of candidates after the rules."""
    repeated: tuple[float, ...]
    """The share of repeated n-grams, by `NGRAM_SIZES`."""

    @property
    def perplexity(self) -> float | None:
        """The number of equally likely tokens with the same mean surprisal."""
        return None if self.mean_log is None else math.exp(-self.mean_log)


def summary(generated: Sequence[GenerationStep]) -> Summary:
    """The statistics of a text whose steps have a `Spread`."""
    spreads = [step.spread for step in generated if step.spread is not None]
    ids = [step.token.id for step in generated]
    if not spreads:
        return Summary(len(ids), None, None, None, tuple(repetition(ids, n) for n in NGRAM_SIZES))
    return Summary(
        len(ids),
        -math.log(2) * sum(s.surprisal for s in spreads) / len(spreads),
        sum(s.entropy for s in spreads) / len(spreads),
        sum(s.remaining for s in spreads) / len(spreads),
        tuple(repetition(ids, n) for n in NGRAM_SIZES),
    )
