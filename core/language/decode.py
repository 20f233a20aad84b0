"""The loop that text generation and translation share: at every step one token is chosen and fed back.

Several decodings of one beginning are rows of one batch. Row r writes by its own rules; its dice are those of its seed
and the number of the step, so rows with one seed throw the same. A row that is over leaves the batch. Beam search is no
row, since its hypotheses swap places. What a step costs stands in `core.language.decoding.reader`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.decoding import picking
from core.language.decoding.picking import pick, why
from core.language.decoding.reader import Reader, Start, banned_ids, end_ids, without
from core.language.decoding.search import beam_steps
from core.language.tokens import Wording
from core.language.types import Decoding, GenerationStep


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
    picking.check(decoding)
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
        picking.check(decoding)
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
