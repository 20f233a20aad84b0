r"""A sentence with its translation beside it, as XLM reads the two (Lample & Conneau 2019, arXiv 1901.07291).

Translation language modeling hides words in a pair of sentences that say the same:

.. math:: p(x_i \mid \tilde x, y)  \quad \text{against} \quad  p(x_i \mid \tilde x)

with x the sentence, x̃ the same with hidden words, y its translation. Every token is the sum of three vectors: of its
piece, of its place and of its language. Places count from 0 again where the second sentence begins, so that a word and
its counterpart stand at places close to each other:

    tokens     </s>  the  cat  </s>   </s>  le  chat  </s>
    languages  en    en   en   en     fr    fr  fr    fr
    places     0     1    2    3      0     1   2     3

A sentence alone is the first half of this. Shapes: n tokens of a row, M hidden ones, V vocabulary entries.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language.fill_mask import MAX_CHARS, masked_positions, translate_masks
from core.language.limits import check_length, speaks
from core.language.text import clean
from core.language.tokens import describe, likeliest, tokenise
from core.language.types import MaskPrediction, Token

if TYPE_CHECKING:
    from torch import Tensor

LANGUAGES = {"en": "English", "fr": "French"}
"""The two languages of the demo, in the order of a row."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the model reads; n numbers each."""

    ids: tuple[int, ...]
    langs: tuple[int, ...]
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """A pair of sentences with hidden words."""

    tokens: tuple[Token, ...]
    """What stands there, n tokens; hidden words are still readable."""
    row: Row
    """What the model gets, with the mask's id at ``hidden``."""
    hidden: tuple[int, ...]
    second: int
    """The token with which the second sentence begins."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What is guessed for one hidden token, counted in the row of both sentences."""

    position: int
    beside: MaskPrediction
    """With the other sentence there."""
    alone: MaskPrediction
    """With its own sentence only; ``position`` counts in that."""


def layout(parts: Sequence[tuple[int, Sequence[int]]], end: int) -> Row:
    """Sentences, each as (language, tokens without a frame), each in a frame of ``end`` and with places from 0."""
    ids: list[int] = []
    langs: list[int] = []
    positions: list[int] = []
    for language, tokens in parts:
        ids += [end, *tokens, end]
        langs += [language] * (len(tokens) + 2)
        positions += range(len(tokens) + 2)
    return Row(tuple(ids), tuple(langs), tuple(positions))


def numbers(checkpoint: Checkpoint) -> tuple[int, int]:
    """The model's numbers of the two `LANGUAGES`.

    Raises:
        InputUnusable: the model is no XLM with vectors for both.
    """
    known = getattr(checkpoint.model.config, "lang2id", None)
    if not speaks(checkpoint.model) or not isinstance(known, dict) or any(code not in known for code in LANGUAGES):
        raise InputUnusable(
            f"{checkpoint.spec.name} has no vectors for English and French, so a translation cannot stand beside a "
            "sentence. An XLM that was trained on both works."
        )
    english, french = (int(known[code]) for code in LANGUAGES)
    return english, french


def prepare(checkpoint: Checkpoint, first: str, second: str, hidden: Collection[int] = ()) -> Joined:
    """Tokenise an English sentence and its French translation, and hide words of either.

    Args:
        hidden: tokens of the joined row; one piece stands for its whole word. Typed masks are hidden, too.

    Raises:
        InputEmpty, InputTooLong: nothing readable in a sentence, or more tokens than the model has positions.
        InputUnusable: no mask or no languages in this model, or too many masks.
        OutOfRange: a position is no token of the row.
    """
    tokenizer: Any = checkpoint.tokenizer
    end, mask = tokenizer.eos_token_id, tokenizer.mask_token_id
    languages = numbers(checkpoint)
    if mask is None or end is None:
        raise InputUnusable(f"{checkpoint.spec.name} has no mask token: it was not trained to predict masked words.")
    frame = describe(tokenizer, [int(end)])
    sides: list[tuple[Token, ...]] = []
    for text in (first, second):
        typed, _ = translate_masks(clean(text, MAX_CHARS), str(tokenizer.mask_token))
        sides.append(tokenise(checkpoint, typed, special=False))
        check_length(checkpoint, len(sides[-1]) + 2)
    tokens = (*frame, *sides[0], *frame, *frame, *sides[1], *frame)
    row = layout([(n, [t.id for t in side]) for n, side in zip(languages, sides, strict=True)], int(end))
    masked = masked_positions(tokens, int(mask), hidden)
    ids = tuple(int(mask) if i in masked else token for i, token in enumerate(row.ids))
    return Joined(tokens, Row(ids, row.langs, row.positions), masked, len(sides[0]) + 2)


def guess(checkpoint: Checkpoint, joined: Joined, k: int = 5) -> tuple[Guess, ...]:
    """The ``k`` top predictions for every hidden token, with the translation beside its sentence and without."""
    if not joined.hidden:
        raise InputUnusable("No word is masked. Click a word of either sentence, or type [MASK] in place of one.")
    beside = _best(checkpoint, joined.row, joined.hidden, k)
    found: dict[int, MaskPrediction] = {}
    for start, stop in ((0, joined.second), (joined.second, len(joined.tokens))):
        here = [i for i in joined.hidden if start <= i < stop]
        if here:
            row = Row(joined.row.ids[start:stop], joined.row.langs[start:stop], joined.row.positions[start:stop])
            found |= dict(zip(here, _best(checkpoint, row, [i - start for i in here], k), strict=True))
    return tuple(Guess(i, with_it, found[i]) for i, with_it in zip(joined.hidden, beside, strict=True))


def scores(model: Any, row: Row, positions: Sequence[int]) -> Tensor:
    """(M, V) scores over the vocabulary at ``positions`` of a row."""
    import torch

    with torch.inference_mode():
        ids, langs, places = (torch.tensor([part], device=model.device) for part in (row.ids, row.langs, row.positions))
        every: Tensor = model(
            input_ids=ids, attention_mask=torch.ones_like(ids), langs=langs, position_ids=places
        ).logits
        return every[0, list(positions)].float()


def _best(checkpoint: Checkpoint, row: Row, positions: Sequence[int], k: int) -> tuple[MaskPrediction, ...]:
    return likeliest(checkpoint.tokenizer, positions, scores(checkpoint.model, row, positions).softmax(-1), k)
