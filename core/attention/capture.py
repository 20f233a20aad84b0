"""Run a checkpoint over a text and keep every attention weight that it computed.

    A = softmax(Q Kᵀ / √d_k)

Encoders give one square map, decoders one lower-triangular map, encoder-decoders three: encoder, decoder, cross. XLNet
gives three as well: the whole text known, and its two streams. Sparse, hashed and remembered attention comes in its
true shape (:mod:`core.attention.architectures.shapes`). In a cross map row i belongs
to the token that is *produced* at step i, so that "chat" points at "cat"; in the decoder's own map row i belongs to the
token that is *read* at step i (the start token first, the last produced token never).

Legend: L layers, H heads, n tokens, S source tokens, T target tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from core.attention.architectures import model_masks, shapes
from core.attention.architectures.layout import refuse
from core.attention.architectures.model_masks import agreeing, allowed, around, attention_layers_of, side
from core.attention.tokens import labels
from core.attention.trace import AttentionMap, AttentionTrace, Bools, MapKind
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix
from core.language.limits import check_length, max_tokens, own_language
from core.language.segments import remembers
from core.language.text import clean
from core.language.tokens import tokenise
from core.language.translate import start_token
from core.language.types import Token

if TYPE_CHECKING:
    import torch

MAX_TOKENS = 256
"""The longest text whose weights are kept: 12 layers x 12 heads x 256² numbers are 38 MB."""

MAX_NEW_TOKENS = 64
"""How far an encoder-decoder writes on its own when no target is given."""


def capture(
    checkpoint: Checkpoint,
    text: str,
    text_b: str | None = None,
    target: str | None = None,
    *,
    vectors: bool = False,
    adapters: str | None = None,
) -> AttentionTrace:
    """Every attention weight of ``checkpoint`` over ``text``.

    ``text_b`` is a second sentence for an encoder. ``target`` is what an encoder-decoder is made to write; without it,
    its own greedy output is used. With ``vectors`` the maps have their queries and keys, for which the model runs once
    more. ``adapters`` is the task whose adapters run, of a model that has some; by default none do. The shared model is
    not changed.

    Raises:
        InputEmpty: there is no text, or no token is left of it.
        InputTooLong: more tokens than the model has positions or than :data:`MAX_TOKENS`.
        NoAttentionMatrix: the architecture, or this mode of it, computes no attention matrix, or its queries and keys
            are not known.
        OutOfRange: there are no adapters for this task.
    """
    import torch

    from core.attention.architectures.vectors import attach
    from core.language.adapters import through

    spec = checkpoint.spec
    refuse(checkpoint.model.config.model_type)
    if spec.offers("generates"):
        _refuse_switching(checkpoint.model)
    with torch.inference_mode(), through(checkpoint, adapters):
        if spec.offers("rewrites"):
            return _encoder_decoder(checkpoint, text, target, vectors=vectors)
        inputs = _tokenise(checkpoint, text, None if spec.offers("continues") else text_b)
        tokens = labels(checkpoint.tokenizer, inputs.ids[0].tolist())
        if spec.offers("continues"):
            trace = AttentionTrace(spec.slug, decoder=_decoder(checkpoint.model, inputs.ids, tokens))
            return attach(trace, checkpoint, {"input_ids": inputs.ids}) if vectors else trace
        encoder = _encoder(checkpoint.model, inputs, tokens)
        trace = AttentionTrace(spec.slug, encoder=encoder)
        if vectors:
            trace = attach(trace, checkpoint, {**inputs.tensors, **own_language(checkpoint.model, inputs.ids)})
        if not spec.offers("two streams"):
            return trace
        known = [i for i, number in enumerate(inputs.ids[0].tolist()) if number in checkpoint.tokenizer.all_special_ids]
        content, query = shapes.two_streams(checkpoint.model, inputs.ids, tokens, known)
        streams = AttentionTrace(spec.slug, decoder=content, query=query)
        if vectors:
            streams = attach(streams, checkpoint, shapes.stream_inputs(inputs.ids, known))
        assert trace.encoder is not None
        return replace(streams, encoder=replace(trace.encoder, label="All words known"))


def tokens_of(checkpoint: Checkpoint, text: str, trace: AttentionTrace) -> tuple[Token, ...]:
    """The tokens of ``text``, over which the trace's own map is.

    Raises:
        NoAttentionMatrix: it is over others.
    """
    tokens = tokenise(checkpoint, text)
    if len(tokens) != len(trace.own.key_tokens):
        raise NoAttentionMatrix(f"The attention of {checkpoint.spec.name} is not over the tokens of the sentence.")
    return tokens


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What a tokeniser makes of one text or two."""

    tensors: dict[str, torch.Tensor]
    second: int | None
    """The first token of the second text."""

    @property
    def ids(self) -> torch.Tensor:
        """(1, n)."""
        return self.tensors["input_ids"]


def _encoder(model: Any, inputs: _Inputs, tokens: tuple[str, ...]) -> AttentionMap:
    if has(model.config, "blocks"):
        return replace(shapes.big_bird(model, inputs.ids, tokens), second=inputs.second)
    if has(model.config, "window"):
        return replace(shapes.longformer(model, inputs.ids, tokens), second=inputs.second)
    outputs = _ran(model, **inputs.tensors, **own_language(model, inputs.ids), output_attentions=True)
    seen = around(model.config, len(tokens))
    own = _map("encoder", model, getattr(outputs, "attentions", None), tokens, tokens, seen)
    return replace(own, second=inputs.second)


def _decoder(model: Any, ids: torch.Tensor, tokens: tuple[str, ...]) -> AttentionMap:
    if has(model.config, "hashing"):
        return shapes.reformer(model, ids, tokens)
    if remembers(model):
        return shapes.transformer_xl(model, ids, tokens)
    outputs = _ran(
        model, input_ids=ids, attention_mask=ids.new_ones(ids.shape), output_attentions=True, use_cache=False
    )
    seen = allowed(model.config, len(tokens))
    return _map("decoder", model, getattr(outputs, "attentions", None), tokens, tokens, seen)


def _encoder_decoder(checkpoint: Checkpoint, text: str, target: str | None, *, vectors: bool) -> AttentionTrace:
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    inputs = _tokenise(checkpoint, text)
    if target is None:
        room = min(MAX_NEW_TOKENS, max_tokens(checkpoint) or MAX_NEW_TOKENS)
        found = model.generate(**inputs.tensors, do_sample=False, num_beams=1, max_new_tokens=room)
        first, *written = found[0].tolist()
    else:
        first, written = _start_token(model), tokenizer(text_target=clean(target), verbose=False)["input_ids"]
    return capture_pair(checkpoint, inputs.ids[0].tolist(), [first], written, vectors=vectors)


def capture_pair(
    checkpoint: Checkpoint,
    source: Sequence[int],
    prompt: Sequence[int],
    written: Sequence[int],
    *,
    vectors: bool = False,
) -> AttentionTrace:
    """The three maps of an encoder-decoder that reads ``source`` and writes ``written``, all as ids.

    ``prompt`` is what the decoder is given before it writes: the start token, and a language where one is forced. The
    last written token is produced but never read; the first token of the prompt is read but never produced.

    Raises:
        InputTooLong, NoAttentionMatrix: as :func:`capture`.
    """
    import torch

    from core.attention.architectures.vectors import attach

    _refuse_switching(checkpoint.model)
    read = _checked(checkpoint, [*prompt, *written][:-1])
    ids = torch.tensor([_checked(checkpoint, list(source))])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "decoder_input_ids": torch.tensor([read])}
    model: Any = checkpoint.model
    with torch.inference_mode():
        outputs = _ran(model, **inputs, output_attentions=True, use_cache=False)
    sources, target = labels(checkpoint.tokenizer, source), labels(checkpoint.tokenizer, [*prompt, *written])
    reads, ends = target[: len(read)], (side(model.config, "encoder"), side(model.config, "decoder"))
    first = len(prompt) - 1  # the row of the prompt's last token produces the first written one
    crossing = [layer for layer in outputs.cross_attentions or () if layer is not None]
    trace = AttentionTrace(
        checkpoint.spec.slug,
        encoder=_map("encoder", model, outputs.encoder_attentions, sources, sources, around(ends[0], len(sources))),
        decoder=_map("decoder", model, outputs.decoder_attentions, reads, reads, allowed(ends[1], len(reads))),
        cross=_map("cross", model, crossing, target[len(prompt) :], sources, start=first),
    )
    return attach(trace, checkpoint, inputs, first) if vectors else trace


def _ran(model: Any, **given: Any) -> Any:
    """What the library's own pass returns.

    Its code for rare architectures fails on texts of some lengths (Nyströmformer) or at some settings; a folder of the
    host's may hold any of them.
    """
    try:
        return model(**given)
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError) as error:
        raise NoAttentionMatrix(
            f"The library's code for models of the type “{str(model.config.model_type)[:40]}” fails on this text "
            f"({type(error).__name__}). A text of another length may work; other models do."
        ) from error


def _refuse_switching(model: Any) -> None:
    """BigBird's library code switches an instance to full attention for good on a short input; it must not run here."""
    if getattr(model.config, "attention_type", "") == "block_sparse":
        raise NoAttentionMatrix(
            "This model's attention is sparse and changes with the length of the text; the page of efficient models "
            "draws its pattern."
        )


def _start_token(model: Any) -> int:
    """The token that an encoder-decoder reads first."""
    if (start := start_token(model)) is not None:
        return start
    raise NoAttentionMatrix("This model does not say which token its decoder starts from, so no target can be read.")


def _tokenise(checkpoint: Checkpoint, text: str, text_b: str | None = None) -> _Inputs:
    """``input_ids`` and their companions, shape (1, n)."""
    import torch

    newlines = checkpoint.spec.offers("continues")
    pair = [clean(part, newlines=newlines) for part in (text, text_b or "") if part is text or part.strip()]
    tokenizer = checkpoint.tokenizer
    encoding = tokenizer(*pair, verbose=False)
    ids = _checked(checkpoint, encoding["input_ids"])
    if set(ids) <= set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.mask_token_id}:
        raise InputEmpty("The tokenizer gives no token for this text. Type a few words, or choose a sample.")
    second = _second(tokenizer, encoding, pair[1]) if len(pair) > 1 else None
    return _Inputs({name: torch.tensor([values]) for name, values in encoding.items()}, second)


def _second(tokenizer: Any, encoding: Any, text: str) -> int | None:
    """Where the second of two texts begins; tokenisers in Python do not tell, so that its tokens are looked for."""
    if encoding.is_fast:
        halves = encoding.sequence_ids()
        return halves.index(1) if 1 in halves else None
    ids, own = encoding["input_ids"], tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    places = [at for at in range(1, len(ids) - len(own) + 1) if own and ids[at : at + len(own)] == own]
    return places[-1] if places else None


def _checked(checkpoint: Checkpoint, ids: list[int]) -> list[int]:
    """``ids``, unless they are too many for the model or for the picture."""
    check_length(checkpoint, len(ids))
    if len(ids) > MAX_TOKENS:
        raise InputTooLong(
            f"This text has {len(ids):,} tokens; attention is drawn for up to {MAX_TOKENS}. "
            f"A text of about {MAX_TOKENS * 2 // 3} words or fewer works."
        )
    return ids


def _map(
    kind: MapKind,
    model: Any,
    attentions: Sequence[torch.Tensor] | None,
    queries: tuple[str, ...],
    keys: tuple[str, ...],
    seen: Bools | None = None,
    start: int = 0,
) -> AttentionMap:
    """One tensor of shape (1, H, Q, K) for each layer, checked and stacked, without the rows before ``start``.

    transformers returns an empty tuple (not an error) when the attention implementation computes no weights, and other
    shapes for sparse architectures; neither may pass for a map.
    """
    import torch

    layers = attention_layers_of(model.config, attentions, kind)
    layers = [layer[:, :, start:] for layer in layers] if start else layers
    if not layers:
        refuse(model.config.model_type)
        raise NoAttentionMatrix("This model gives no attention weights, so there is no matrix to draw.")
    first = layers[0]
    shape = (1, first.shape[1], len(queries), len(keys)) if isinstance(first, torch.Tensor) and first.ndim > 1 else None
    if any(not isinstance(layer, torch.Tensor) or tuple(layer.shape) != shape for layer in layers):
        raise NoAttentionMatrix(
            f"This model's attention is no matrix of {len(queries)} by {len(keys)} tokens, so it cannot be drawn. It "
            "comes in blocks, windows or a state; models with full attention between tokens, such as BERT, GPT-2 "
            "or T5, work."
        )
    weights = shapes.stacked(layers)
    return AttentionMap(
        kind, queries, keys, weights, agreeing(seen, weights), note=model_masks.note(model, weights, kind)
    )
