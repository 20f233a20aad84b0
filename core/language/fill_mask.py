"""Masked language modeling: mask tokens of a sentence and predict them.

At a masked position i, with the encoder's last hidden state h_i, the head computes

    p(w | sentence without i) = softmax_w( e_w · g(h_i) + b_w )

over the whole vocabulary, with e_w the token embedding and g the transform of the head (Devlin et al. 2018, section
3.1). Several masks are predicted in parallel, independently of each other. Logits are computed at masked positions
alone: for BERT's 30,522 tokens that product is a large part of a forward pass. The terms of a sentence head
(`core.checkpoints.heads`) are added.

Shapes: n input tokens, M masked positions, V vocabulary size, d hidden size.

Ten cloze sentences, the probes, test a model for different kinds of knowledge: eight test what pretraining can teach
(trivia, syntax, coreference, topic, sentiment, reasoning, arithmetic, bias); two are one sentence with two masks, as
dynamic masking makes them in different epochs. They come from a lecture: Naveh Porat, "Lecture 11 – Pretraining &
Transformer Variants", July 2022; the accepted answers are our choice. Results are computed live, never stored.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from core.checkpoints.families.architectures import has, word_head
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.inputs import Inputs, one_text
from core.language.permuted import at_once, equal_ranks, of_query_stream
from core.language.text import clean
from core.language.tokens import (
    Style,
    check_length,
    describe,
    known_ids,
    label,
    likeliest,
    own_language,
    pieces_of,
    read_piece,
    remarks,
    style,
    tokenize,
    words,
)
from core.language.types import MaskPrediction, Token
from core.lazy import Tensor, torch, transformers
from core.run.model import Model, call
from core.settings import ASSETS

MAX_CHARS = 5_000
MAX_MASKS = 64

_OWNERS = {"[mask]": "BERT", "<mask>": "RoBERTa and BART", "<special1>": "XLM"}
_MASKS = re.compile(r"\[mask\]|<mask>|<special1>|<extra_id_\d+>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A span of a filled sentence; ``position`` is that of a predicted token, None for the visitor's own words."""

    text: str
    position: int | None = None


def fill_mask(
    checkpoint: Checkpoint, text: str, k: int = 5, positions: tuple[int, ...] = ()
) -> tuple[MaskPrediction, ...]:
    """The ``k`` top predictions for each mask in ``text`` and each token of the words at ``positions``, in order.

    ``[MASK]`` and the model's own mask token work; another model's mask is replaced, with a note of :func:`prepare`.

    :raises InputEmpty: nothing readable in the text.
    :raises InputUnusable: no mask in the text, or a model without masks.
    :raises InputTooLong: more tokens than the model has positions.
    :raises OutOfRange: ``k`` is below 1, or a position is no token of this text.
    """
    masked = prepare(checkpoint, text, positions)
    if k < 1:
        raise OutOfRange("Ask for at least one prediction.")
    return likeliest(checkpoint.tokenizer, masked.positions, probabilities(masked), k)


def prepare(
    checkpoint: Checkpoint, text: str, positions: Collection[int] = (), *, most: int | None = MAX_CHARS
) -> Inputs:
    """``text`` with masks for the words of the tokens at ``positions``, besides its typed masks.

    ``positions`` count all tokens, special ones included; one token of a word masks the whole word. The result may have
    no mask. Its notes are on replaced masks and split words.

    :param most: the most characters, besides the limit of the settings.
    :raises OutOfRange: a position is no token of this text.
    """
    mask = checkpoint.tokenizer.mask_token
    mask_id = checkpoint.tokenizer.mask_token_id
    if mask is None or mask_id is None:
        raise InputUnusable(
            f"{checkpoint.spec.name} has no mask token: it was not trained to predict masked words. "
            "Choose an encoder with a masked-token head."
        )
    typed = text
    text, notes = translate_masks(clean(text, most), str(mask))
    tokens = tokenize(checkpoint, text)
    check_length(checkpoint, len(tokens))
    notes += remarks(checkpoint.tokenizer, typed, tokens)
    masked, numbers = masked_positions(tokens, int(mask_id), positions), words(tokens)
    for number in dict.fromkeys(numbers[i] for i in masked if tokens[i].id != mask_id):
        word = [tokens[i].text for i in masked if numbers[i] == number]
        if len(word) > 1:
            notes.append(
                f"“{''.join(word)}” is {len(word)} pieces in this vocabulary, so it became {len(word)} masks, "
                "each predicted independently of the others."
            )
    (unknown,) = describe(checkpoint.tokenizer, [int(mask_id)])
    read = [
        replace(unknown, start=token.start, end=token.end) if i in masked else token for i, token in enumerate(tokens)
    ]
    return replace(one_text(checkpoint, read, masked, text), notes=tuple(notes))


def ask_masks(masked: Inputs) -> Inputs:
    """``masked`` as it is read where its masks are predicted, of an XLNet, whose query stream has a target, the first.

    Raises:
        InputUnusable: no token is masked.
    """
    if not masked.positions:
        raise InputUnusable("There is no mask in this text. Type [MASK] in place of a word.")
    if not masked.checkpoint.spec.offers("two streams"):
        return masked
    return of_query_stream(masked, equal_ranks(masked.positions, len(masked.tokens)), masked.positions[:1])


def masked_positions(tokens: Sequence[Token], mask_id: int, positions: Collection[int]) -> tuple[int, ...]:
    """The positions of typed masks and of all tokens of the words at ``positions``, without special tokens.

    Raises:
        OutOfRange: a position is no token of the text.
        InputUnusable: more than `MAX_MASKS` masks.
    """
    numbers = words(tokens)
    if outside := [position for position in positions if not 0 <= position < len(tokens)]:
        raise OutOfRange(f"There is no token {outside[0]} to mask: this text has tokens 0 to {len(tokens) - 1}.")
    chosen = {numbers[position] for position in positions if not tokens[position].special}
    masked = tuple(
        i for i, token in enumerate(tokens) if token.id == mask_id or (numbers[i] in chosen and not token.special)
    )
    if len(masked) > MAX_MASKS:
        raise InputUnusable(f"{len(masked)} masks leave too little context. Up to {MAX_MASKS} work here.")
    return masked


def translate_masks(text: str, mask: str) -> tuple[str, list[str]]:
    """``text`` with all known mask tokens replaced by ``mask``, and sentences on the replacements."""
    notes: list[str] = []

    def swap(match: re.Match[str]) -> str:
        typed = match.group()
        if typed != mask and typed.lower() != "[mask]":
            owner = _OWNERS.get(typed.lower(), "T5")
            note = f"“{typed}” is the mask of {owner}; this model masks with {mask}, which replaces it here."
            if note not in notes:
                notes.append(note)
        return mask

    return _MASKS.sub(swap, text), notes


def predict_together(
    checkpoint: Checkpoint, calls: Sequence[tuple[str, int, tuple[int, ...]]]
) -> list[tuple[MaskPrediction, ...]]:
    """The results of :func:`fill_mask` for several arguments, equal to 1e-4, by one forward pass over padded texts.

    One by one where the model's head needs more than each position's own state, or where an argument is refused.
    """
    model = checkpoint.model
    head, pad = word_head(model), checkpoint.tokenizer.pad_token_id
    special = any(has(model.config, trait) for trait in ("two streams", "padding in states"))
    texts = [prepare(checkpoint, text, positions) for text, _, positions in calls]
    valid = all(text.positions and k > 0 for text, (_, k, _) in zip(texts, calls, strict=True))
    if head is None or pad is None or special or not valid or len(calls) == 1:
        return [fill_mask(checkpoint, *call) for call in calls]
    longest = max(len(text.ids) for text in texts)
    with torch.inference_mode():
        ids = torch.tensor([[*text.ids, *[pad] * (longest - len(text.ids))] for text in texts], device=model.device)
        lengths = torch.tensor([len(text.ids) for text in texts], device=model.device)
        attend = (torch.arange(longest, device=model.device) < lengths[:, None]).long()  # (rows, n)
        inputs = {"input_ids": ids, "attention_mask": attend, **own_language(model, ids)}
        states = call(model.base_model, **inputs)[0]  # (rows, n, d)
        rows = [row for row, text in enumerate(texts) for _ in text.positions]
        scores = head(states[rows, [position for text in texts for position in text.positions]])  # (all M, V)
        chances = torch.split(scores.float().softmax(-1), [len(text.positions) for text in texts])  # each (M, V)
    return [
        likeliest(checkpoint.tokenizer, text.positions, chances_of_text, k)
        for text, chances_of_text, (_, k, _) in zip(texts, chances, calls, strict=True)
    ]


def probabilities(masked: Inputs) -> Tensor:
    """The probabilities (M, V) at the masked positions.

    Raises:
        InputUnusable: there is no mask.
    """
    checkpoint = masked.checkpoint
    if not masked.positions:
        of_tokenizer = str(checkpoint.tokenizer.mask_token)
        mask = "[MASK]" if of_tokenizer == "[MASK]" else f"[MASK] (or {of_tokenizer})"
        raise InputUnusable(
            f"There is no mask in this text. Type {mask} in place of a word, or click a word to mask it."
        )
    with torch.inference_mode():
        ids = masked.tensors["input_ids"].to(checkpoint.model.device)
        return masked_logits(checkpoint.model, ids, masked.positions).float().softmax(-1)


def refill(
    masked: Inputs, predictions: Sequence[MaskPrediction], choice: Sequence[int] | None = None
) -> tuple[Part, ...]:
    """The sentence with a prediction at each mask, as consecutive parts.

    :param choice: for each prediction the rank of the token to use, from 0; by default 0.
    """
    ranks = [0] * len(predictions) if choice is None else list(choice)
    tokenizer = masked.checkpoint.tokenizer
    kind = style(tokenizer)
    parts: list[Part] = []
    at = 0
    for prediction, rank in zip(predictions, ranks, strict=True):
        token = masked.tokens[prediction.position]
        if token.start < 0:
            return _refill_by_ids(masked, predictions, ranks)
        glued, word = _joined_text(tokenizer, prediction.ids[rank], kind)
        before = masked.text[at : token.start]
        if glued:
            before = before.rstrip(" ")
        elif not before and parts and kind in ("wordpiece", "byte-level", "sentencepiece"):
            before = " "  # two masks of one word became two words
        if before:
            parts.append(Part(before))
        parts.append(Part(word, prediction.position))
        at = token.end
    return (*parts, Part(masked.text[at:])) if masked.text[at:] else tuple(parts)


def _joined_text(tokenizer: transformers.PreTrainedTokenizerBase, token_id: int, kind: Style) -> tuple[bool, str]:
    """Whether a token continues the text before it, and its text."""
    (piece,) = pieces_of(tokenizer, (token_id,))
    text, _, marked = read_piece(piece, kind)
    text = text or label(tokenizer, token_id)
    if kind == "wordpiece":
        return marked, text
    return kind in ("byte-level", "sentencepiece") and piece[:1] not in ("Ġ", "▁"), text


def _refill_by_ids(masked: Inputs, predictions: Sequence[MaskPrediction], ranks: Sequence[int]) -> tuple[Part, ...]:
    """For tokenizers without offsets: decodes the filled ids."""
    ids = list(masked.ids)
    for prediction, rank in zip(predictions, ranks, strict=True):
        ids[prediction.position] = prediction.ids[rank]
    tokenizer = masked.checkpoint.tokenizer
    decodable = known_ids(tokenizer, ids)
    return (Part(str(tokenizer.decode(decodable, skip_special_tokens=True))),)


def masked_logits(model: Model, ids: Tensor, positions: Sequence[int]) -> Tensor:
    """Logits (M, V) at ``positions`` of one sentence ``ids`` (1, n) without padding."""
    if has(model.config, "two streams"):
        return at_once(model, ids, positions)
    head = word_head(model)
    attend = torch.ones_like(ids)
    if head is None:
        every: Tensor = call(model, input_ids=ids, attention_mask=attend).logits  # (1, n, V)
        return every[0, list(positions)]
    states = call(model.base_model, input_ids=ids, attention_mask=attend, **own_language(model, ids))[0]  # (1, n, d)
    # On a CPU the product of two or three rows with a vocabulary takes twice as long as that of four (20 ms against 9
    # for 30,522 words), so that a few masks are filled up with copies of the last one.
    asked = [*positions, *[positions[-1]] * (4 - len(positions))] if len(positions) in (2, 3) else list(positions)
    return head(states[:, asked])[0, : len(positions)]


@dataclass(frozen=True, slots=True)
class Probe:
    """A sentence with one mask, what it tests, and the accepted answers."""

    name: str
    text: str
    asks: str
    answers: tuple[str, ...]
    """Accepted words, the most expected first; may be empty."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    probe: Probe
    predictions: tuple[tuple[str, float], ...]
    """The five most probable tokens, with probabilities."""
    answer: str | None
    """The most probable accepted word; None where none is a single token of the vocabulary."""
    rank: int | None
    """The rank of that word in the vocabulary, from 1."""
    probability: float | None


PROBES: tuple[Probe, ...] = tuple(
    Probe(row["name"], row["text"], row["asks"], tuple(row["answers"]))
    for row in tomllib.loads((ASSETS / "probes.toml").read_text(encoding="utf-8"))["probes"]
)


def run_probe(checkpoint: Checkpoint, probe: Probe) -> ProbeResult:
    """Predict the mask of a probe, and rank the best of the accepted words in the vocabulary."""
    scores = probabilities(prepare(checkpoint, probe.text))[0]  # (V,) at the first mask
    best = scores.topk(5)
    predictions = tuple(
        (label(checkpoint.tokenizer, i), p) for i, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    scored = [
        (float(scores[i]), word) for word in probe.answers for i in _single(checkpoint, word) if i < scores.shape[-1]
    ]
    if not scored:
        return ProbeResult(probe, predictions, None, None, None)
    probability, word = max(scored)
    return ProbeResult(probe, predictions, word, int((scores > probability).sum()) + 1, probability)


def word_probabilities(checkpoint: Checkpoint, text: str, choices: tuple[str, ...]) -> dict[str, float]:
    """The probability of each of ``choices`` at the first mask of ``text``, without words of several tokens."""
    scores = probabilities(prepare(checkpoint, text))[0]
    return {word: max(float(scores[i]) for i in ids) for word in choices if (ids := _single(checkpoint, word))}


def _single(checkpoint: Checkpoint, word: str) -> set[int]:
    """The ids of single tokens for ``word``, with and without a space before it."""
    tokenizer = checkpoint.tokenizer
    single: set[int] = set()
    for form in (word, f" {word}"):
        ids = tokenizer(form, add_special_tokens=False)["input_ids"]
        if len(ids) == 1 and ids[0] != tokenizer.unk_token_id:
            single.add(int(ids[0]))
    return single
