"""One sentence for models of different kinds, each with the task that it was trained for.

Words are masked, not tokens, because every model tokenizes the sentence differently:

- a masked language model gets the sentence with one mask for each masked word, a permutation language model (XLNet)
  the sentence with an attention mask over those words;
- a causal language model continues the text before the first masked word;
- an encoder-decoder gets the whole sentence, unmasked, and a task;
- a discriminator gets the whole sentence and classifies each of its tokens.

The probability that a causal model assigns to a sentence x is comparable across tokenizers in bits per byte:

    bits per byte = −Σ_t log2 p(x_t | x_<t) / bytes of x
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import regex

from core.checkpoints.families import Kind
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.language import tasks, translate
from core.language.fill_mask import Part, fill_mask, prepare, refill
from core.language.generate import generate
from core.language.replaced import Detection, detect
from core.language.text import clean
from core.language.tokens import describe, max_tokens, tokenize
from core.language.types import Decoding, GenerationStep, MaskPrediction, Token
from core.lazy import torch
from core.run.model import call
from core.words import SIGN, WORD

MAX_CHARS = 600
"""One sentence, or a few: what two columns can show."""
CONTINUES = 20
"""Tokens that a causal model adds."""
WRITES = 60
"""The most tokens that an encoder-decoder generates."""
BYTES = 160
"""The same for byte-level models."""
TOP = 5

_MASK = r"\[mask\]|<mask>|<special1>|<extra_id_\d+>"
_WORD = regex.compile(rf"{_MASK}|{WORD}(?:['’\-]{WORD})*|{SIGN}", regex.IGNORECASE)
_IS_MASK = regex.compile(_MASK, regex.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    """A word or punctuation mark with its character span. ``mask``: a typed mask."""

    text: str
    start: int
    end: int
    mask: bool = False

    @property
    def is_word(self) -> bool:
        """Whether it is a word rather than punctuation or a mask."""
        return not self.mask and any(c.isalnum() for c in self.text)


@dataclass(frozen=True, slots=True)
class Filled:
    """The predictions of a masked language model at each masked position, in the order of the sentence."""

    tokens: tuple[Token, ...]
    """Of the sentence with its masks."""
    notes: tuple[str, ...]
    predictions: tuple[MaskPrediction, ...]
    filled: tuple[Part, ...]
    """The sentence with the top prediction at each mask."""


@dataclass(frozen=True, slots=True)
class Continued:
    """The continuation by a causal model."""

    prompt: str
    output: tuple[Token, ...]
    steps: tuple[GenerationStep, ...]
    bits_per_byte: float | None
    """Of the whole sentence; None where it does not fit the model or has a typed mask."""
    truncated: bool
    """Whether the prompt ends before a masked word."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The output of an encoder-decoder for the whole sentence."""

    task: tasks.Task
    output: tuple[Token, ...]
    steps: tuple[GenerationStep, ...]


Answer = Filled | Continued | Rewritten | Detection


def split(text: str) -> tuple[Word, ...]:
    """The words and punctuation marks of ``text``; a typed mask is one word."""
    return tuple(
        Word(match.group(), match.start(), match.end(), bool(_IS_MASK.fullmatch(match.group())))
        for match in _WORD.finditer(text)
    )


def default_mask(words: Sequence[Word]) -> tuple[int, ...]:
    """The word that is masked by default: the last, unless there is a typed mask."""
    if any(word.mask for word in words):
        return ()
    return tuple([i for i, word in enumerate(words) if word.is_word][-1:])


def carry_over(before: Sequence[str], now: Sequence[str], chosen: Collection[int]) -> tuple[int, ...] | None:
    """The positions of masked words in a changed sentence; None where it is another sentence."""
    moved = {
        block.a + i: block.b + i
        for block in SequenceMatcher(None, list(before), list(now), autojunk=False).get_matching_blocks()
        for i in range(block.size)
    }
    if 2 * len(moved) < len(now):
        return None
    return tuple(sorted(moved[i] for i in chosen if i in moved))


def masked(text: str, words: Sequence[Word], chosen: Collection[int]) -> str:
    """``text`` with ``[MASK]`` for each masked word."""
    parts, at = [], 0
    for i, word in enumerate(words):
        if i in chosen:
            parts += [text[at : word.start], "[MASK]"]
            at = word.end
    return "".join(parts) + text[at:]


def answer(checkpoint: Checkpoint, text: str, chosen: Sequence[int] = (), task: str | None = None) -> Answer:
    """The output of ``checkpoint`` for the sentence; ``chosen`` are the masked words, as indices of :func:`split`.

    Raises :class:`InputUnusable` for a kind that this comparison lacks, and what the kind's own demo raises.
    """
    text = clean(text, MAX_CHARS)
    words = split(text)
    return ANSWERS[checkpoint.spec.kind](checkpoint, text, words, chosen, task)


def _fill(
    checkpoint: Checkpoint, text: str, words: Sequence[Word], chosen: Collection[int], task: str | None
) -> Filled:
    typed = masked(text, words, chosen)
    sentence, predictions = prepare(checkpoint, typed), fill_mask(checkpoint, typed, TOP)
    return Filled(sentence.tokens, sentence.notes, predictions, refill(sentence, predictions))


def _detect(
    checkpoint: Checkpoint, text: str, words: Sequence[Word], chosen: Collection[int], task: str | None
) -> Detection:
    _refuse_masks(checkpoint, words, "detects replaced tokens")
    return detect(checkpoint, text)


def _refuse(
    checkpoint: Checkpoint, text: str, words: Sequence[Word], chosen: Collection[int], task: str | None
) -> Answer:
    raise InputUnusable(f"{checkpoint.spec.name} is of a kind that this comparison cannot run yet.")


def _continue(
    checkpoint: Checkpoint, text: str, words: Sequence[Word], chosen: Collection[int], task: str | None
) -> Continued:
    first = min([i for i, word in enumerate(words) if word.mask or i in chosen], default=None)
    prompt = text if first is None else text[: words[first].start].rstrip()
    if not prompt:
        raise InputUnusable(
            f"{checkpoint.spec.name} predicts from left to right and has no context before the first masked word. "
            "Mask a later one."
        )
    steps = tuple(generate(checkpoint, prompt, Decoding(max_new_tokens=CONTINUES)))
    has_typed_mask = any(word.mask for word in words)
    return Continued(
        prompt,
        _output(checkpoint, steps),
        steps,
        None if has_typed_mask else bits_per_byte(checkpoint, text),
        first is not None,
    )


def _rewrite(
    checkpoint: Checkpoint, text: str, words: Sequence[Word], chosen: Collection[int], task: str | None
) -> Rewritten:
    _refuse_masks(checkpoint, words, "rewrites whole sentences")
    offered = tasks.tasks(checkpoint)
    asked = next((candidate for candidate in offered if candidate.slug == task), offered[0])
    room = BYTES if asked.respells else WRITES
    steps = tuple(translate.rewrite(checkpoint, text, asked.slug, Decoding(max_new_tokens=room)))
    return Rewritten(asked, _output(checkpoint, steps), steps)


ANSWERS: dict[Kind, Callable[[Checkpoint, str, Sequence[Word], Collection[int], str | None], Answer]] = {
    "masked-lm": _fill,
    "permutation-lm": _fill,
    "replaced-token": _detect,
    "causal-lm": _continue,
    "seq2seq-lm": _rewrite,
    "adapters": _refuse,
}
"""By family; arguments are the model, the cleaned sentence, its words, the masked ones, and a task."""


def _refuse_masks(checkpoint: Checkpoint, words: Sequence[Word], does: str) -> None:
    if any(word.mask for word in words):
        raise InputUnusable(
            f"{checkpoint.spec.name} {does} and has no use for a mask. Type the word itself; "
            "for the other model a click masks it."
        )


def _output(checkpoint: Checkpoint, steps: Sequence[GenerationStep]) -> tuple[Token, ...]:
    return describe(checkpoint.tokenizer, [step.token.id for step in steps])


def bits_per_byte(checkpoint: Checkpoint, text: str) -> float | None:
    """Bits per byte of ``text`` under a causal model; None where the text does not fit or is one token.

    The first token is predicted from the token that begins a text; without such a token, it does not count.
    """
    tokens = tokenize(checkpoint, text, special=False)
    ids, size = [token.id for token in tokens], len(text.encode())
    start = checkpoint.tokenizer.bos_token_id
    if start is not None:
        ids = [int(start), *ids]
    elif tokens and tokens[0].end > 0:
        size = len(text[tokens[0].end :].encode())
    limit = max_tokens(checkpoint)
    if len(ids) < 2 or size <= 0 or (limit is not None and len(ids) > limit):
        return None
    with torch.inference_mode():
        read = torch.tensor([ids], device=checkpoint.model.device)
        logs = call(checkpoint.model, input_ids=read).logits[0, :-1].float().log_softmax(-1)
        nats = -float(logs.gather(1, read[0, 1:, None]).sum())
    return nats / math.log(2) / size
