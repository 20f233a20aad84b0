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
from core.errors import InputEmpty, InputTooLong, InputUnusable, OutOfRange
from core.language import adapters, starts, translate
from core.language.fill_mask import MAX_CHARS, ask_masks, prepare, translate_masks
from core.language.inputs import Inputs, one_text, pair
from core.language.replaced import detector_probabilities
from core.language.segments import SEGMENT, has_memory
from core.language.text import clean
from core.language.tokens import check_length, describe, remarks, tokenize
from core.language.types import Decoding
from core.lazy import torch, transformers
from core.settings import raised_with, settings
from core.words import counted

MAX_GENERATED = 64
"""The most tokens that an encoder-decoder generates as its decoder's input."""
DISCRIMINATOR_CLASSES = ("replaced", "original")
"""The two classes of a discriminator."""


def inputs(
    checkpoint: Checkpoint,
    text: str,
    task: str | None = None,
    step: int | None = None,
    *,
    second: str | None = None,
    target: str | None = None,
    joined: bool = False,
) -> Inputs:
    """What ``checkpoint`` reads of ``text``, and what it predicts there.

    Args:
        task: of an encoder-decoder, by default its first; or whose adapters are used, by default none, but the first
            where a prediction is asked.
        step: asks for a prediction: the first mask, the token most probably replaced, the next token or the class; of
            an encoder-decoder the token of its greedy output with this number, from 0. By default its decoder reads the
            whole output, of at most `MAX_GENERATED` tokens.
        second: a second text, for an encoder that reads two.
        target: an encoder-decoder's output in place of its own; an empty one leaves the first tokens of its decoder.
        joined: of a model with a memory, as many segments as there are, not one.

    Raises:
        InputEmpty, InputTooLong: nothing readable, or more tokens than the model or the settings allow.
        InputUnusable: a prediction is asked, and there is no mask.
        OutOfRange: an unknown step or unknown adapters.
        UnknownTask: the checkpoint has no such task.
    """
    if second and second.strip():
        made = replace(two_texts(checkpoint, text, second), task=task)
    else:
        made = MAKERS[checkpoint.spec.kind](checkpoint, text, task, step, target)
    mask = checkpoint.tokenizer.mask_token_id
    if all(token.special and token.start < 0 and token.id != mask for token in made.of_text):
        raise InputEmpty("The tokenizer gives no token for this text. Type a few words, or choose a sample.")
    check_size(checkpoint, max(len(made.tokens), len(made.source)), joined=joined)
    typed = "" if "\n" in made.text else text  # a decoder reads line breaks
    notes = remarks(checkpoint.tokenizer, typed, made.of_text)
    return replace(made, notes=tuple(dict.fromkeys((*made.notes, *notes))))


def check_size(checkpoint: Checkpoint, count: int, *, joined: bool = False) -> None:
    """Raise :class:`InputTooLong` above the limit of tokens, which for a Transformer-XL is one segment."""
    by_segment = has_memory(checkpoint.model) and not joined
    most = SEGMENT if by_segment else settings().max_attention_tokens
    if count > most:
        why = f", which {checkpoint.spec.name} reads as one segment" if by_segment else ""
        host = "" if by_segment else f" {raised_with('max_attention_tokens')}"
        raise InputTooLong(
            f"This text has {count:,} tokens; up to {most} are analyzed{why}. A text of about {most * 2 // 3} words "
            f"or fewer works.{host}"
        )


def two_texts(checkpoint: Checkpoint, first: str, second: str) -> Inputs:
    """Two texts as the tokenizer joins them; errors as of :func:`inputs`."""
    if checkpoint.spec.family.sides != ("encoder",):
        raise InputUnusable(f"{checkpoint.spec.name} reads one text. Leave the second one empty.")
    tokenizer = checkpoint.tokenizer
    texts, notes = [], list[str]()
    for typed in (first, second):
        part, translated = clean(typed, MAX_CHARS), list[str]()
        if tokenizer.mask_token is not None:
            part, translated = translate_masks(part, str(tokenizer.mask_token))
        texts.append(part)
        notes += [*translated, *remarks(tokenizer, typed, tokenize(checkpoint, part))]
    encoding = tokenizer(*texts, verbose=False)
    check_length(checkpoint, len(encoding["input_ids"]))
    made = one_text(checkpoint, describe(tokenizer, encoding["input_ids"]))
    tensors = {name: torch.tensor([values]) for name, values in encoding.items()} | made.tensors
    return replace(made, tensors=tensors, second=_second(tokenizer, encoding, texts[1]), notes=tuple(notes))


def _second(
    tokenizer: transformers.PreTrainedTokenizerBase, encoding: transformers.BatchEncoding, text: str
) -> int | None:
    """The first token of the second text; for slow tokenizers its tokens are searched for."""
    if encoding.is_fast:
        halves = encoding.sequence_ids()
        return halves.index(1) if 1 in halves else None
    ids, second_ids = encoding["input_ids"], tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    starts = [
        at
        for at in range(1, len(ids) - len(second_ids) + 1)
        if second_ids and ids[at : at + len(second_ids)] == second_ids
    ]
    return starts[-1] if starts else None


def _masked(checkpoint: Checkpoint, text: str, task: str | None, step: int | None, target: str | None) -> Inputs:
    if step is None and checkpoint.tokenizer.mask_token is None:
        return _plain(checkpoint, text)
    masked = prepare(checkpoint, text)
    return masked if step is None else ask_masks(masked)


def _plain(checkpoint: Checkpoint, text: str) -> Inputs:
    text = clean(text, MAX_CHARS)
    tokens = tokenize(checkpoint, text)
    check_length(checkpoint, len(tokens))
    return one_text(checkpoint, tokens, text=text)


def _detected(checkpoint: Checkpoint, text: str, task: str | None, step: int | None, target: str | None) -> Inputs:
    made = _plain(checkpoint, text)
    if step is None:
        return made
    chances = detector_probabilities(checkpoint, [token.id for token in made.tokens])
    ordinary = [i for i, token in enumerate(made.tokens) if not token.special] or list(range(len(made.tokens)))
    return replace(made, positions=(max(ordinary, key=chances.__getitem__),), answers=DISCRIMINATOR_CLASSES)


def _prompt(checkpoint: Checkpoint, text: str, task: str | None, step: int | None, target: str | None) -> Inputs:
    return starts.prompt(checkpoint, text)


def _with_output(checkpoint: Checkpoint, text: str, task: str | None, step: int | None, target: str | None) -> Inputs:
    made = starts.prepare(checkpoint, text, task)
    check_size(checkpoint, len(made.source))
    if target is not None:
        ids = [token.id for token in starts.answer_tokens(made, target)]
        return pair(checkpoint, made.source, made.ids, ids, made.text)
    most = settings().max_attention_tokens
    if step is not None and not 0 <= step < most:
        raise OutOfRange(f"There is no token {step} here: tokens are counted from 0 to {most - 1}.")
    room = MAX_GENERATED if step is None else step
    steps = list(translate.rewrite(checkpoint, text, task, Decoding(max_new_tokens=room))) if room else []
    output = steps[-1].ids if steps else ()
    if step is None:
        return pair(checkpoint, made.source, made.ids, output, made.text)
    if len(output) < step or (steps and steps[-1].reason == "end"):
        raise OutOfRange(f"The output ends after {counted(len(output), 'token')}; there is no token {step + 1}.")
    return pair(checkpoint, made.source, [*made.ids, *output], text=made.text)


def _classified(checkpoint: Checkpoint, text: str, task: str | None, step: int | None, target: str | None) -> Inputs:
    if task is None and step is None:
        return _masked(checkpoint, text, task, step, target)
    return adapters.prepare(checkpoint, text, task or adapters.tasks(checkpoint)[0].slug)


Maker = Callable[[Checkpoint, str, str | None, int | None, str | None], Inputs]
MAKERS: dict[Kind, Maker] = {
    "masked-lm": _masked,
    "permutation-lm": _masked,
    "replaced-token": _detected,
    "causal-lm": _prompt,
    "seq2seq-lm": _with_output,
    "adapters": _classified,
}
"""By family; arguments as of :func:`inputs`."""
