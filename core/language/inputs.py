"""One text as the input of a model.

Legend: n tokens, S source tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty
from core.language.text import clean
from core.language.tokens import check_length, describe, own_language
from core.language.types import Token
from core.lazy import Tensor, torch, transformers


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """One text as a model reads it."""

    checkpoint: Checkpoint
    tensors: dict[str, Tensor]
    """One row, by the argument names of the forward pass."""
    tokens: tuple[Token, ...]
    """The n tokens; of an encoder-decoder, those that its decoder reads."""
    source: tuple[Token, ...] = ()
    """An encoder-decoder's S source tokens."""
    positions: tuple[int, ...] = ()
    """Where the head reads ``tokens`` to predict; empty where nothing is predicted, or a class from all of them."""
    output: tuple[Token, ...] = ()
    """An encoder-decoder's tokens predicted at ``positions``, where they are known."""
    text: str = ""
    """The cleaned text, in which the offsets of its tokens count; empty where they are unknown."""
    second: int | None = None
    """The first token of the second of two texts."""
    answers: tuple[str, ...] = ()
    """Names of the predicted classes; empty for the vocabulary."""
    task: str | None = None
    """The task whose adapters are used, if any."""

    @property
    def position(self) -> int:
        """The first predicted position; 0 where the head reads all tokens."""
        return self.positions[0] if self.positions else 0

    @property
    def of_text(self) -> tuple[Token, ...]:
        """The tokens of the text: of an encoder-decoder, those of its source."""
        return self.source or self.tokens

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(token.label for token in self.tokens)

    @property
    def source_labels(self) -> tuple[str, ...]:
        return tuple(token.label for token in self.source)


def one_text(checkpoint: Checkpoint, tokens: Sequence[Token], positions: Sequence[int] = (), text: str = "") -> Inputs:
    """The inputs of a single stack, or of the encoder of two, over ``tokens``."""
    ids = torch.tensor([[token.id for token in tokens]])
    tensors = {"input_ids": ids, **own_language(checkpoint.model, ids)}
    return Inputs(checkpoint, tensors, tuple(tokens), positions=tuple(positions), text=text)


def pair(
    checkpoint: Checkpoint, source: Sequence[Token], prompt: Sequence[int], output: Sequence[int] = (), text: str = ""
) -> Inputs:
    """The inputs of an encoder-decoder over ``source``, with the ids of ``prompt`` and ``output`` in its decoder.

    The prompt has the start token, and a forced language token. The last token of the output is never read, the first
    one of the prompt never predicted.
    """
    ids = torch.tensor([[token.id for token in source]])
    read = [*prompt, *output[:-1]]
    tensors = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([read])}
    tokens = describe(checkpoint.tokenizer, [*prompt, *output])
    positions = tuple(range(len(prompt) - 1, len(read)))
    return Inputs(checkpoint, tensors, tokens[: len(read)], tuple(source), positions, tokens[len(prompt) :], text)


def as_typed(checkpoint: Checkpoint, text: str, second: str | None = None) -> Inputs:
    """The tokenizer's own inputs for one text or two, without a task or a control code.

    Raises:
        InputEmpty: there is no text, or no token of it.
        InputTooLong: more tokens than the model has positions.
    """
    tokenizer = checkpoint.tokenizer
    newlines = checkpoint.spec.offers("continues")
    texts = [clean(part, newlines=newlines) for part in (text, second or "") if part is text or part.strip()]
    encoding = tokenizer(*texts, return_offsets_mapping=tokenizer.is_fast, verbose=False)
    ids = encoding["input_ids"]
    check_length(checkpoint, len(ids))
    if set(ids) <= set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.mask_token_id}:
        raise InputEmpty("The tokenizer gives no token for this text. Type a few words, or choose a sample.")
    offsets = encoding.pop("offset_mapping") if tokenizer.is_fast else None
    spans = (texts[0], offsets, encoding.word_ids()) if offsets is not None and len(texts) == 1 else ()
    made = one_text(checkpoint, describe(tokenizer, ids, *spans), text=texts[0] if spans else "")
    if newlines:
        return made
    tensors = {name: torch.tensor([values]) for name, values in encoding.items()}
    start = _second(tokenizer, encoding, texts[1]) if len(texts) > 1 else None
    return replace(made, tensors=tensors | made.tensors, second=start)


def _second(
    tokenizer: transformers.PreTrainedTokenizerBase, encoding: transformers.BatchEncoding, text: str
) -> int | None:
    """The first token of the second text; for slow tokenizers its tokens are searched for."""
    if encoding.is_fast:
        halves = encoding.sequence_ids()
        return halves.index(1) if 1 in halves else None
    ids, own = encoding["input_ids"], tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    starts = [at for at in range(1, len(ids) - len(own) + 1) if own and ids[at : at + len(own)] == own]
    return starts[-1] if starts else None
