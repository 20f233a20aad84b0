r"""Translation language modeling: masked words in a sentence and its translation (XLM: Lample & Conneau 2019, arXiv
1901.07291).

.. math:: p(x_i \mid \tilde x, y)  \quad \text{against} \quad  p(x_i \mid \tilde x)

with x the sentence, x̃ the same with masked words, y its translation. The input embedding of a token is the sum of
three: token, position and language embedding. Positions start from 0 again in the second sentence, so that a word and
its translation have similar positions:

    tokens     </s>  the  cat  </s>   </s>  le  chat  </s>
    languages  en    en   en   en     fr    fr  fr    fr
    positions  0     1    2    3      0     1   2     3

A single sentence is the first half of this. Shapes: n tokens of a row, M masked ones, V vocabulary size.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import MAX_CHARS, masked_positions, translate_masks
from core.language.inputs import Inputs
from core.language.text import clean
from core.language.tokens import check_length, describe, likeliest, speaks, tokenize
from core.language.types import MaskPrediction, Token
from core.lazy import Tensor, torch
from core.run.model import Model, call

LANGUAGES = {"en": "English", "fr": "French"}
"""The two languages of the demo, in the order of a row."""


@dataclass(frozen=True, slots=True)
class PairPrediction:
    """The predictions for one masked token, whose position counts in the row of both sentences."""

    position: int
    with_translation: MaskPrediction
    """From both sentences."""
    alone: MaskPrediction
    """From its own sentence alone; ``position`` counts in that."""


def layout(parts: Sequence[tuple[int, Sequence[int]]], end: int) -> dict[str, Tensor]:
    """A row of sentences (language, ids), each between two ``end`` tokens, with positions from 0."""
    ids: list[int] = []
    langs: list[int] = []
    positions: list[int] = []
    for language, tokens in parts:
        ids += [end, *tokens, end]
        langs += [language] * (len(tokens) + 2)
        positions += range(len(tokens) + 2)
    rows = {"input_ids": ids, "attention_mask": [1] * len(ids), "langs": langs, "position_ids": positions}
    return {name: torch.tensor([values]) for name, values in rows.items()}


def numbers(checkpoint: Checkpoint) -> tuple[int, int]:
    """The model's ids of the two `LANGUAGES`.

    Raises:
        InputUnusable: the model is not an XLM with embeddings for both.
    """
    language_ids = getattr(checkpoint.model.config, "lang2id", None)
    if (
        not speaks(checkpoint.model)
        or not isinstance(language_ids, dict)
        or any(code not in language_ids for code in LANGUAGES)
    ):
        raise InputUnusable(
            f"{checkpoint.spec.name} has no language embeddings for English and French, so it cannot read a "
            "sentence with its translation. Choose an XLM that was trained on both."
        )
    english, french = (int(language_ids[code]) for code in LANGUAGES)
    return english, french


def prepare(checkpoint: Checkpoint, first: str, second: str, chosen: Collection[int] = ()) -> Inputs:
    """An English sentence and its French translation, with masks for words of either.

    Args:
        chosen: tokens of the joined row; one token stands for its whole word. Typed masks count, too.

    Raises:
        InputEmpty, InputTooLong: nothing readable in a sentence, or more tokens than the model has positions.
        InputUnusable: no mask or no languages in this model, or too many masks.
        OutOfRange: a position is no token of the row.
    """
    tokenizer = checkpoint.tokenizer
    end, mask = tokenizer.eos_token_id, tokenizer.mask_token_id
    languages = numbers(checkpoint)
    if mask is None or end is None:
        raise InputUnusable(f"{checkpoint.spec.name} has no mask token: it was not trained to predict masked words.")
    frame = describe(tokenizer, [int(end)])
    sides: list[tuple[Token, ...]] = []
    for text in (first, second):
        typed, _ = translate_masks(clean(text, MAX_CHARS), str(tokenizer.mask_token))
        sides.append(tokenize(checkpoint, typed, special=False))
        check_length(checkpoint, len(sides[-1]) + 2)
    tokens = (*frame, *sides[0], *frame, *frame, *sides[1], *frame)
    masked = masked_positions(tokens, int(mask), chosen)
    (unknown,) = describe(tokenizer, [int(mask)])
    tokens = tuple(unknown if i in masked else token for i, token in enumerate(tokens))
    row = layout([(n, [t.id for t in side]) for n, side in zip(languages, sides, strict=True)], int(end))
    tensors = row | {"input_ids": torch.tensor([[token.id for token in tokens]])}
    return Inputs(checkpoint, tensors, tokens, positions=masked, second=len(sides[0]) + 2)


def predict(
    checkpoint: Checkpoint, first: str, second: str, chosen: tuple[int, ...] = (), k: int = 5
) -> tuple[PairPrediction, ...]:
    """The ``k`` top predictions for every masked token, with the other sentence and without; arguments as `prepare`."""
    joined = prepare(checkpoint, first, second, chosen)
    if not joined.positions:
        raise InputUnusable("No word is masked. Click a word of either sentence, or type [MASK] in place of one.")
    with_translation = _best(checkpoint, joined.tensors, joined.positions, k)
    alone: dict[int, MaskPrediction] = {}
    for start, stop in ((0, joined.second or 0), (joined.second or 0, len(joined.tokens))):
        in_sentence = [i for i in joined.positions if start <= i < stop]
        if in_sentence:
            row = {name: values[:, start:stop] for name, values in joined.tensors.items()}
            alone |= dict(zip(in_sentence, _best(checkpoint, row, [i - start for i in in_sentence], k), strict=True))
    return tuple(
        PairPrediction(i, joint, alone[i]) for i, joint in zip(joined.positions, with_translation, strict=True)
    )


def scores(model: Model, row: Mapping[str, Tensor], positions: Sequence[int]) -> Tensor:
    """(M, V) scores over the vocabulary at ``positions`` of a row."""
    with torch.inference_mode():
        every: Tensor = call(model, **{name: values.to(model.device) for name, values in row.items()}).logits
        return every[0, list(positions)].float()


def _best(
    checkpoint: Checkpoint, row: Mapping[str, Tensor], positions: Sequence[int], k: int
) -> tuple[MaskPrediction, ...]:
    return likeliest(checkpoint.tokenizer, positions, scores(checkpoint.model, row, positions).softmax(-1), k)
