"""The inputs of a text, made by the maker of the model's family.

masked-lm, permutation-lm   the text with its masks; XLNet's query stream has the first of them as its target
replaced-token              the text
causal-lm                   the prompt
seq2seq-lm                  the source for a task, and the output that the decoder reads
adapters                    the text for a task, or alone
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from core.checkpoints.families import Kind
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, OutOfRange
from core.language import adapters, translate
from core.language.fill_mask import MAX_CHARS, prepare, with_masks
from core.language.generate import prompt_tokens
from core.language.inputs import Inputs, one_text, pair
from core.language.replaced import detector_probabilities
from core.language.segments import SEGMENT, has_memory
from core.language.tasks import tasks
from core.language.text import clean
from core.language.tokens import check_length, tokenize
from core.language.types import Decoding
from core.settings import settings
from core.words import counted

MAX_GENERATED = 24
"""The most tokens that an encoder-decoder generates as its decoder's input."""
DISCRIMINATOR_CLASSES = ("replaced", "original")
"""The two classes of a discriminator."""


def inputs(checkpoint: Checkpoint, text: str, task: str | None = None, step: int | None = None) -> Inputs:
    """What ``checkpoint`` reads of ``text``, and what it predicts there.

    Args:
        task: of an encoder-decoder, by default its first; or whose adapters are used, by default none, but the first
            where a prediction is asked.
        step: asks for a prediction: the first mask, the token most probably replaced, the next token or the class; of
            an encoder-decoder the token of its greedy output with this number, from 0. By default its decoder reads the
            whole output, of at most `MAX_GENERATED` tokens.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model or the settings allow.
        InputUnusable: a prediction is asked, and there is no mask.
        OutOfRange: an unknown step or unknown adapters.
        UnknownTask: the checkpoint has no such task.
    """
    made = MAKERS[checkpoint.spec.kind](checkpoint, text, task, step)
    check_size(checkpoint, max(len(made.tokens), len(made.source)))
    return made


def check_size(checkpoint: Checkpoint, count: int) -> None:
    """Raise :class:`InputTooLong` above the limit of tokens, which for a Transformer-XL is one segment."""
    most = SEGMENT if has_memory(checkpoint.model) else settings().max_attention_tokens
    if count > most:
        why = f", which {checkpoint.spec.name} reads as one segment" if most == SEGMENT else ""
        raise InputTooLong(
            f"This text has {count:,} tokens; up to {most} are analyzed{why}. A text of about {most * 2 // 3} words "
            "or fewer works."
        )


def _masked(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    return with_masks(checkpoint, prepare(checkpoint, text), asked=step is not None)


def _with_replacements(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    text = clean(text, MAX_CHARS)
    tokens = tokenize(checkpoint, text)
    check_length(checkpoint, len(tokens))
    if step is None:
        return one_text(checkpoint, tokens, text=text)
    chances = detector_probabilities(checkpoint, [token.id for token in tokens])
    ordinary = [i for i, token in enumerate(tokens) if not token.special] or list(range(len(tokens)))
    made = one_text(checkpoint, tokens, [max(ordinary, key=chances.__getitem__)], text)
    return replace(made, answers=DISCRIMINATOR_CLASSES)


def _prompt(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    tokens = prompt_tokens(checkpoint, text)
    return one_text(checkpoint, tokens, [len(tokens) - 1], clean(text, newlines=True))


def _with_output(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    task = task or tasks(checkpoint)[0].slug
    request = translate.prepare(checkpoint, text, task)
    check_size(checkpoint, len(request.tokens))
    most = settings().max_attention_tokens
    if step is not None and not 0 <= step < most:
        raise OutOfRange(f"There is no token {step} here: tokens are counted from 0 to {most - 1}.")
    room = MAX_GENERATED if step is None else step
    steps = list(translate.rewrite(checkpoint, text, task, Decoding(max_new_tokens=room))) if room else []
    output = steps[-1].ids if steps else ()
    if step is None:
        return pair(checkpoint, request.tokens, request.prompt, output, request.text)
    if len(output) < step or (steps and steps[-1].reason == "end"):
        raise OutOfRange(f"The output ends after {counted(len(output), 'token')}; there is no token {step + 1}.")
    return pair(checkpoint, request.tokens, [*request.prompt, *output], text=request.text)


def _classified(checkpoint: Checkpoint, text: str, task: str | None, step: int | None) -> Inputs:
    if step is None:
        return replace(_masked(checkpoint, text, task, step), task=task)
    return adapters.prepare(checkpoint, text, task or adapters.tasks(checkpoint)[0].slug)


Maker = Callable[[Checkpoint, str, str | None, int | None], Inputs]
MAKERS: dict[Kind, Maker] = {
    "masked-lm": _masked,
    "permutation-lm": _masked,
    "replaced-token": _with_replacements,
    "causal-lm": _prompt,
    "seq2seq-lm": _with_output,
    "adapters": _classified,
}
"""By family; arguments as of :func:`inputs`."""
