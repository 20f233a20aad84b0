r"""Text from a decoder, one token at a time: greedy, sampled, or by beam search.

Greedy decoding takes the most probable token every time. It is short-sighted and, in small models above all, soon says
the same again; :func:`repetition` measures that.

At every step one token is chosen and fed back. Several decodings of one prompt are rows of one batch, each with its own
rules; its random numbers are those of its seed and the number of the step, so rows with one seed share them. A row that
is over leaves the batch. Beam search is no row, since its hypotheses swap places. What a step costs stands in
`core.language.decoding.reader`.

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
from core.language.decoding.reader import Reader, Start, banned_ids, end_ids, without
from core.language.decoding.rules import check, pick, why
from core.language.decoding.search import beam_steps
from core.language.text import clean
from core.language.tokens import Wording, max_tokens
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


def steps(
    checkpoint: Checkpoint,
    begun: Start,
    decoding: Decoding,
    *,
    forced: Sequence[int] = (),
) -> Iterator[GenerationStep]:
    """Write after ``begun``, one step at a time, until the end token, the length, or the last position.

    :param forced: ids that the first steps take whatever the scores say (a path that the visitor chose).
    :raises OutOfRange: a setting or a forced id is out of range.
    """
    check(decoding)
    size = int(checkpoint.model.config.get_text_config(decoder=True).vocab_size)
    for token_id in forced:
        if not 0 <= token_id < size:
            raise OutOfRange(f"There is no token {token_id}: the vocabulary has ids 0 to {size - 1:,}.")
    if decoding.strategy == "beam":
        return beam_steps(checkpoint, begun, decoding, forced)
    return (step for _, step in _rows(checkpoint, begun, (decoding,), forced))


def along(checkpoint: Checkpoint, begun: Start, ids: Sequence[int]) -> tuple[GenerationStep, ...]:
    """The steps along a finished text ``ids``, with the spreads, which beam search does not keep."""
    if not ids:
        return ()
    return tuple(steps(checkpoint, begun, Decoding(max_new_tokens=len(ids)), forced=ids))


def together(
    checkpoint: Checkpoint, begun: Start, decodings: Sequence[Decoding]
) -> Iterator[tuple[int, GenerationStep]]:
    """(number of the decoding, its next step), by turns until all are over.

    Raises:
        OutOfRange: a setting makes no sense, or beam search is among them.
    """
    for decoding in decodings:
        check(decoding)
        if decoding.strategy == "beam":
            raise OutOfRange("Beam search runs alone.")
    return _rows(checkpoint, begun, decodings)


def _rows(
    checkpoint: Checkpoint,
    begun: Start,
    decodings: Sequence[Decoding],
    forced: Sequence[int] = (),
) -> Iterator[tuple[int, GenerationStep]]:
    from torch import tensor

    model = checkpoint.model
    reader, wording = Reader(model, begun.source), Wording(checkpoint.tokenizer)
    ends, banned = end_ids(model), banned_ids(model)
    budgets = [begun.budget(decoding) for decoding in decodings]
    feed = tensor([begun.prompt], device=model.device)
    live = [row for row, (budget, _) in enumerate(budgets) if budget > 0]
    made: list[tuple[int, ...]] = [() for _ in decodings]
    index = 0
    while live:
        scores = without(reader.read(feed), banned)  # one row at first, then one for each text
        hand = forced[index] if index < len(forced) else None
        going: list[int] = []
        for place, row in enumerate(live):
            budget, full = budgets[row]
            own = scores[place if index else 0]
            token, others, spread = pick(own, decodings[row], index, hand, wording, (*begun.prompt, *made[row]))
            made[row] = (*made[row], token.id)
            text = wording.text(made[row])
            reason = why(token.id, text, decodings[row], ends, full if index + 1 >= budget else "")
            if not reason:
                going.append(place)
            yield (
                row,
                GenerationStep(
                    index,
                    token,
                    others,
                    text,
                    made[row],
                    finished=bool(reason),
                    reason=reason,
                    spread=spread,
                ),
            )
        if not going:
            return
        rows = going if index else [0] * len(going)
        if rows != list(range(len(scores))):
            reader.keep(rows)
        live = [live[place] for place in going]
        feed = tensor([[made[row][-1]] for row in live], device=model.device)
        index += 1


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


NGRAM_SIZES = (1, 2, 3, 4)


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
        return Summary(len(ids), None, None, None, tuple(repetition(ids, n) for n in NGRAM_SIZES))
    return Summary(
        len(ids),
        -math.log(2) * sum(s.surprisal for s in spreads) / len(spreads),
        sum(s.entropy for s in spreads) / len(spreads),
        sum(s.kept for s in spreads) / len(spreads),
        tuple(repetition(ids, n) for n in NGRAM_SIZES),
    )
