"""The loop that text generation and translation share: at every step one token is chosen and fed back.

What a step costs and how its attention looks stands in `core.language.decoding.reader`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.decoding import picking
from core.language.decoding.picking import pick, why
from core.language.decoding.reader import Reader, banned_ids, end_ids, without
from core.language.decoding.search import beam_steps
from core.language.tokens import Wording
from core.language.types import Decoding, GenerationStep


def steps(
    checkpoint: Checkpoint,
    prompt: Sequence[int],
    decoding: Decoding,
    *,
    room: int | None = None,
    forced: Sequence[int] = (),
    source: Sequence[int] | None = None,
    with_attention: bool = True,
) -> Iterator[GenerationStep]:
    """Generate after ``prompt``, one step at a time, until the end token, the length, or the last position.

    :param prompt: ids that the decoder starts from, not empty; for an encoder-decoder its start token (and language).
    :param room: how many tokens the model's positions leave; None where nothing bounds them.
    :param forced: ids that the first steps take whatever the scores say (a path that the visitor chose).
    :param source: ids that the encoder reads, for an encoder-decoder.
    :param with_attention: keep each step's attention rows. Beam search never has them, as its hypotheses swap places;
        read the result once more with ``forced`` to see them.
    :raises OutOfRange: a setting or a forced id is out of range.
    """
    picking.check(decoding)
    size = int(checkpoint.model.config.get_text_config(decoder=True).vocab_size)
    for token_id in forced:
        if not 0 <= token_id < size:
            raise OutOfRange(f"There is no token {token_id}: the vocabulary has ids 0 to {size - 1:,}.")
    budget = decoding.max_new_tokens if room is None else min(decoding.max_new_tokens, room)
    full = "positions" if budget < decoding.max_new_tokens else "length"
    if decoding.strategy == "beam":
        return beam_steps(checkpoint, prompt, decoding, budget, full, tuple(forced), source)
    return _one_by_one(checkpoint, prompt, decoding, budget, full, tuple(forced), source, with_attention)


def _one_by_one(
    checkpoint: Checkpoint,
    prompt: Sequence[int],
    decoding: Decoding,
    budget: int,
    full: str,
    forced: tuple[int, ...],
    source: Sequence[int] | None,
    with_attention: bool,
) -> Iterator[GenerationStep]:
    """Greedy decoding and sampling."""
    import torch

    reader = Reader(checkpoint.model, source, attention=with_attention)
    wording = Wording(checkpoint.tokenizer)
    ends, banned = end_ids(checkpoint.model), banned_ids(checkpoint.model)
    device = checkpoint.model.device
    feed = torch.tensor([list(prompt)], device=device)
    ids: tuple[int, ...] = ()
    for index in range(budget):
        scores = without(reader.read(feed), banned)[0]  # (V,)
        hand = forced[index] if index < len(forced) else None
        chosen, alternatives, spread = pick(scores, decoding, index, hand, wording, (*prompt, *ids))
        ids = (*ids, chosen.id)
        text = wording.text(ids)
        reason = why(chosen.id, text, decoding, ends, full if index == budget - 1 else "")
        yield GenerationStep(
            index,
            chosen,
            alternatives,
            text,
            ids,
            reader.attention,
            finished=bool(reason),
            reason=reason,
            spread=spread,
        )
        if reason:
            return
        feed = torch.tensor([[chosen.id]], device=device)
