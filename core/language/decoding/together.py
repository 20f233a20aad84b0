"""One beginning under several rules at once: the model reads all the texts as rows of one batch.

Row r writes by its own rules; its dice are those of its seed and the number of the step, so rows with one seed throw
the same. A row that is over leaves the batch. Beam search is no row, since its hypotheses swap places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.language.decode import steps
from core.language.decoding import picking
from core.language.decoding.picking import pick, why
from core.language.decoding.reader import Reader, banned_ids, end_ids, without
from core.language.generate import prompt_ids
from core.language.limits import max_tokens
from core.language.tokens import Wording
from core.language.types import Decoding, GenerationStep


@dataclass(frozen=True, slots=True)
class Start:
    """What a text is written after."""

    prompt: tuple[int, ...]
    """What the decoder starts from."""
    source: tuple[int, ...] | None
    """What the encoder reads, where there is one."""
    room: int | None
    """How many tokens the positions leave; None where nothing bounds them."""


def start(checkpoint: Checkpoint, text: str, task: str | None = None) -> Start:
    """The beginning ``text`` for a decoder, or for an encoder-decoder the text that it rewrites by ``task``.

    Raises:
        AtlasError: the text or the task does not suit the model.
    """
    limit = max_tokens(checkpoint)
    if checkpoint.model.config.is_encoder_decoder:
        from core.language.tasks import tasks
        from core.language.translate import prepare

        request = prepare(checkpoint, text, task or tasks(checkpoint)[0].slug)
        room = None if limit is None else limit - len(request.prompt)
        return Start(request.prompt, request.source, room)
    prompt = prompt_ids(checkpoint, text)
    return Start(prompt, None, None if limit is None else limit - len(prompt))


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
            raise OutOfRange("Beam search writes alone.")
    return _rows(checkpoint, begun, tuple(decodings))


def _rows(
    checkpoint: Checkpoint, begun: Start, decodings: tuple[Decoding, ...]
) -> Iterator[tuple[int, GenerationStep]]:
    from torch import tensor

    if not decodings:
        return
    model = checkpoint.model
    reader, wording = Reader(model, begun.source), Wording(checkpoint.tokenizer)
    ends, banned = end_ids(model), banned_ids(model)
    feed = tensor([list(begun.prompt)], device=model.device)
    live = list(range(len(decodings)))
    made: list[tuple[int, ...]] = [() for _ in decodings]
    index = 0
    while live:
        scores = without(reader.read(feed), banned)  # one row at first, then one for each text
        going: list[int] = []
        for place, row in enumerate(live):
            decoding = decodings[row]
            before = (*begun.prompt, *made[row])
            own = scores[place if index else 0]
            token, others, spread = pick(own, decoding, index, None, wording, before)
            made[row] = (*made[row], token.id)
            text = wording.text(made[row])
            reason = why(token.id, text, decoding, ends, _full(decoding, begun, index))
            if not reason:
                going.append(place)
            yield (
                row,
                GenerationStep(
                    index, token, others, text, made[row], finished=bool(reason), reason=reason, spread=spread
                ),
            )
        if not going:
            return
        reader.keep(going if index else [0] * len(going))
        live = [live[place] for place in going]
        feed = tensor([[made[row][-1]] for row in live], device=model.device)
        index += 1


def _full(decoding: Decoding, begun: Start, index: int) -> str:
    """Why no token can follow the one at ``index``; "" where one can."""
    if begun.room is not None and index + 1 >= begun.room < decoding.max_new_tokens:
        return "positions"
    return "length" if index + 1 >= decoding.max_new_tokens else ""


def alone(
    checkpoint: Checkpoint, begun: Start, decoding: Decoding, forced: Sequence[int] = ()
) -> Iterator[GenerationStep]:
    """The steps of one decoding, beam search too."""
    return steps(
        checkpoint, begun.prompt, decoding, room=begun.room, forced=forced, source=begun.source, with_attention=False
    )


def along(checkpoint: Checkpoint, begun: Start, ids: Sequence[int]) -> tuple[GenerationStep, ...]:
    """The steps along a finished text, with how the probabilities were spread: what beam search does not keep."""
    if not ids:
        return ()
    return tuple(alone(checkpoint, begun, Decoding(max_new_tokens=len(ids)), forced=ids))
