"""Run a checkpoint over a text and keep every attention weight that it computed.

    A = softmax(Q Kᵀ / √d_k)

Encoders give one square map (and so does XLNet where every word is known), decoders one lower-triangular map,
encoder-decoders three: encoder, decoder, cross. In a cross map row i belongs to the token that is *produced* at step i,
so that "chat" points at "cat"; in the decoder's own map row i belongs to the token that is *read* at step i (the start
token first, the last produced token never).

Legend: L layers, H heads, n tokens, S source tokens, T target tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from core.attention.tokens import labels
from core.attention.trace import AttentionMap, AttentionTrace, MapKind
from core.checkpoints.spec import Checkpoint
from core.errors import InputEmpty, InputTooLong, NoAttentionMatrix
from core.language.langs import own_language
from core.language.limits import check_length
from core.language.text import clean

if TYPE_CHECKING:
    import torch

MAX_TOKENS = 256
"""The longest text whose weights are kept: 12 layers x 12 heads x 256² numbers are 38 MB."""

MAX_NEW_TOKENS = 64
"""How far an encoder-decoder writes on its own when no target is given."""


def capture(checkpoint: Checkpoint, text: str, text_b: str | None = None, target: str | None = None) -> AttentionTrace:
    """Every attention weight of ``checkpoint`` over ``text``.

    ``text_b`` is a second sentence for an encoder. ``target`` is what an encoder-decoder is made to write; without it,
    its own greedy output is used. The shared model is not changed.

    Raises:
        InputEmpty: there is no text, or no token is left of it.
        InputTooLong: more tokens than the model has positions or than :data:`MAX_TOKENS`.
        NoAttentionMatrix: the architecture, or this mode of it, computes no attention matrix.
    """
    import torch

    if checkpoint.spec.kind not in ("masked-lm", "replaced-token", "permutation-lm", "adapters"):
        _refuse_switching(checkpoint.model)
    with torch.inference_mode():
        match checkpoint.spec.kind:
            case "masked-lm" | "replaced-token" | "permutation-lm" | "adapters":
                return AttentionTrace(checkpoint.spec.slug, encoder=_encoder(checkpoint, text, text_b))
            case "causal-lm":
                return AttentionTrace(checkpoint.spec.slug, decoder=_decoder(checkpoint, text))
            case "seq2seq-lm":
                return _encoder_decoder(checkpoint, text, target)


def _encoder(checkpoint: Checkpoint, text: str, text_b: str | None) -> AttentionMap:
    from core.efficiency import bigbird, longformer

    inputs = _tokenise(checkpoint, text, text_b)
    tokens = labels(checkpoint.tokenizer, inputs["input_ids"][0].tolist())
    if checkpoint.model.config.model_type == "big_bird":
        full = bigbird.encode(checkpoint.model, inputs["input_ids"], mode="full")
        return _map("encoder", full.attentions, tokens, tokens)
    if checkpoint.model.config.model_type == "longformer":
        return _map("encoder", longformer.encode(checkpoint.model, inputs["input_ids"]).attentions, tokens, tokens)
    language = own_language(checkpoint.model, inputs["input_ids"])
    outputs = checkpoint.model(**inputs, **language, output_attentions=True)
    return _map("encoder", outputs.attentions, tokens, tokens)


def _decoder(checkpoint: Checkpoint, text: str) -> AttentionMap:
    if checkpoint.model.config.model_type == "reformer":
        raise NoAttentionMatrix(
            "A Reformer computes no matrix of attention: it sorts the text into buckets and looks within them. Its "
            "demo shows the buckets of your text."
        )
    inputs = _tokenise(checkpoint, text)
    tokens = labels(checkpoint.tokenizer, inputs["input_ids"][0].tolist())
    outputs = checkpoint.model(**inputs, output_attentions=True, use_cache=False)
    return _map("decoder", outputs.attentions, tokens, tokens)


def _encoder_decoder(checkpoint: Checkpoint, text: str, target: str | None) -> AttentionTrace:
    model, tokenizer = checkpoint.model, checkpoint.tokenizer
    inputs = _tokenise(checkpoint, text)
    if target is None:
        first, *written = model.generate(**inputs, do_sample=False, num_beams=1, max_new_tokens=MAX_NEW_TOKENS)[
            0
        ].tolist()
    else:
        first, written = _start_token(model), tokenizer(text_target=clean(target), verbose=False)["input_ids"]
    return capture_pair(checkpoint, inputs["input_ids"][0].tolist(), [first], written)


def capture_pair(
    checkpoint: Checkpoint, source: Sequence[int], prompt: Sequence[int], written: Sequence[int]
) -> AttentionTrace:
    """The three maps of an encoder-decoder that reads ``source`` and writes ``written``, all as ids.

    ``prompt`` is what the decoder is given before it writes: the start token, and a language where one is forced. The
    last written token is produced but never read; the first token of the prompt is read but never produced.

    Raises:
        InputTooLong, NoAttentionMatrix: as :func:`capture`.
    """
    import torch

    _refuse_switching(checkpoint.model)
    read = _checked(checkpoint, [*prompt, *written][:-1])
    ids = torch.tensor([_checked(checkpoint, list(source))])
    with torch.inference_mode():
        outputs = checkpoint.model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            decoder_input_ids=torch.tensor([read]),
            output_attentions=True,
            use_cache=False,
        )
    sources, reads = labels(checkpoint.tokenizer, source), labels(checkpoint.tokenizer, read)
    first = len(prompt) - 1  # the row of the prompt's last token produces the first written one
    crossing = [layer[:, :, first:] for layer in outputs.cross_attentions or () if layer is not None]
    return AttentionTrace(
        checkpoint.spec.slug,
        encoder=_map("encoder", outputs.encoder_attentions, sources, sources),
        decoder=_map("decoder", outputs.decoder_attentions, reads, reads),
        cross=_map("cross", crossing, labels(checkpoint.tokenizer, written), sources),
    )


def _refuse_switching(model: Any) -> None:
    """BigBird's library code switches an instance to full attention for good on a short input; it must not run here."""
    if getattr(model.config, "attention_type", "") == "block_sparse":
        raise NoAttentionMatrix(
            "This model's attention is sparse and changes with the length of the text; the page of efficient models "
            "draws its pattern."
        )


def _start_token(model: Any) -> int:
    """The token that an encoder-decoder reads first."""
    for config in (model.generation_config, model.config):
        start = getattr(config, "decoder_start_token_id", None)
        if start is not None:
            return int(start)
    raise NoAttentionMatrix("This model does not say which token its decoder starts from, so no target can be read.")


def _tokenise(checkpoint: Checkpoint, text: str, text_b: str | None = None) -> dict[str, torch.Tensor]:
    """``input_ids`` and their companions, shape (1, n)."""
    import torch

    newlines = checkpoint.spec.kind == "causal-lm"
    pair = [clean(part, newlines=newlines) for part in (text, text_b or "") if part is text or part.strip()]
    tokenizer = checkpoint.tokenizer
    encoding = tokenizer(*pair, verbose=False)
    ids = _checked(checkpoint, encoding["input_ids"])
    if set(ids) <= set(tokenizer.all_special_ids) - {tokenizer.unk_token_id, tokenizer.mask_token_id}:
        raise InputEmpty("The tokeniser leaves nothing of this text. Type a few words, or choose a sample.")
    return {name: torch.tensor([values]) for name, values in encoding.items()}


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
    kind: MapKind, attentions: Sequence[torch.Tensor] | None, queries: tuple[str, ...], keys: tuple[str, ...]
) -> AttentionMap:
    """One tensor of shape (1, H, Q, K) for each layer, checked and stacked.

    transformers returns an empty tuple (not an error) when the attention implementation computes no weights, and other
    shapes for sparse architectures; neither may pass for a map.
    """
    layers = [layer for layer in attentions or () if layer is not None]
    if not layers:
        raise NoAttentionMatrix("This model gives no attention weights, so there is no matrix to draw.")
    shape = (1, layers[0].shape[1], len(queries), len(keys))
    if any(tuple(layer.shape) != shape for layer in layers):
        raise NoAttentionMatrix(
            f"This model's attention is no matrix of {len(queries)} by {len(keys)} tokens, so it cannot be drawn."
        )
    return AttentionMap(kind, queries, keys, frozen(np.stack([layer[0].float().cpu().numpy() for layer in layers])))


def frozen(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same array, read-only from here on: results are shared between visitors."""
    weights.setflags(write=False)
    return weights
