"""Query and key vectors as they enter the scores, of every layer and head.

    score(i, j) = factor · q_i · k_j  (+ further terms, by architecture: `core.attention.architectures.scores`)

Queries are not divided by anything: the factor stands beside them. They are rotated where positions do that (LLaMA),
and contain the bias that meets the content where there is one (XLNet), so that ``factor * q @ k.T`` is the score's
first term everywhere (but in the rows of Longformer's global tokens); :attr:`Vectors.whole` says whether it is the only
one.

Legend: L layers, H heads, Q query tokens, K key tokens, d width of a head.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from core.attention.architectures.hooks import SHARED, hooked_layers, hooked_scores, joined_notes
from core.attention.architectures.layout import AttentionLayer, listed, listed_layers, unread
from core.attention.architectures.recording import Recorder, private_twin, run_as_drawn
from core.attention.architectures.scores import AttentionScores, attention_scores, record_layer
from core.attention.trace import AttentionMap, AttentionTrace, Floats, MapKind
from core.checkpoints.spec import Checkpoint
from core.language.segments import SEGMENT, read, remembers

_CAPPED = "The score is not their product, but that brought between -{0:g} and {0:g} by a hyperbolic tangent."


def attention_layers(checkpoint: Checkpoint) -> dict[MapKind, tuple[AttentionLayer, ...]]:
    """Every attention of a checkpoint, by kind and layer.

    Of an architecture without a row it is found out by a pass (`core.attention.architectures.hooks`).

    Raises:
        NoAttentionMatrix: the architecture has no such matrix, or it is not known how it is made.
    """
    if listed(checkpoint):
        return listed_layers(checkpoint)
    with _sentences(checkpoint):
        return hooked_layers(checkpoint)


@contextmanager
def _sentences(checkpoint: Checkpoint) -> Iterator[None]:
    """What the library raises in code that nobody here has read is a sentence."""
    try:
        yield
    except (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError) as error:
        raise unread(checkpoint) from error


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The vectors of one kind of attention; arrays are read-only."""

    kind: MapKind
    queries: Floats  # (L, H, Q, d)
    keys: Floats  # (L, H, K, d)
    factor: tuple[float, ...]
    """(L,) what the product of a query and a key is multiplied by."""
    whole: bool
    """Whether that product is the whole score, but for the mask."""
    note: str
    """Sentences on what is unusual about them; empty where nothing is."""


def vectors(
    checkpoint: Checkpoint, inputs: Mapping[str, Any], pieces: Sequence[int] | None = None
) -> dict[MapKind, Vectors]:
    """Queries and keys of one text, by kind of attention.

    Args:
        checkpoint: its shared model is only read.
        inputs: tensors of one row, named as the model's forward pass takes them. Kinds and rows are those of the maps
            that `core.attention.capture` draws, but for a cross-attention's rows, which are here all of the decoder's:
            with a ``target_mapping`` XLNet's streams are ``decoder`` and ``query``, the latter with a row for each
            target; a long text of a Transformer-XL is read in segments.
        pieces: for a model with a memory, how many tokens it read at once, each time; segments of the usual length
            where not given. A token that was remembered has the key that it had when it was read.

    Raises:
        NoAttentionMatrix: an architecture without such vectors, or whose vectors are not known here.
    """
    found: dict[MapKind, Vectors] = {}
    for kind, layers in each(checkpoint, inputs, pieces).items():
        names = layers[0][0].names
        shared = any(one.before_rope is not None and len(one.before_rope[1]) < layer.heads for layer, one in layers)
        cap = layers[0][1].softcap
        own = joined_notes([layer for layer, _ in layers]) if names.score == "hooked" else names.note
        notes = (own, SHARED if shared else "", _CAPPED.format(cap) if cap else "")
        found[kind] = Vectors(
            kind,
            _stacked([one.query for _, one in layers]),
            _stacked([one.key for _, one in layers]),
            tuple(one.factor for _, one in layers),
            all(len(one.terms) == 1 for _, one in layers) and names.score != "sliding_window" and cap is None,
            " ".join(part for part in notes if part),
        )
    return found


def attach(
    trace: AttentionTrace,
    checkpoint: Checkpoint,
    inputs: Mapping[str, Any],
    first: int = 0,
    pieces: Sequence[int] | None = None,
) -> AttentionTrace:
    """``trace`` with the queries and keys of its maps, where they are known.

    Args:
        inputs: what the trace was made from, as for :func:`vectors`.
        first: the decoder's row that is the first of the trace's cross-attention.
        pieces: as for :func:`vectors`.
    """
    found = vectors(checkpoint, inputs, pieces)
    hooked = not listed(checkpoint)  # what nobody wrote down has to be said where it is shown

    def kept(one: AttentionMap | None) -> AttentionMap | None:
        if one is None or one.kind not in found:
            return one
        queries, note = found[one.kind].queries, found[one.kind].note
        if one.kind == "cross":
            queries = queries[:, :, first : first + len(one.query_tokens)]
        return replace(
            one, queries=queries, keys=found[one.kind].keys, note=f"{one.note} {note}".strip() if hooked else one.note
        )

    maps = (trace.encoder, trace.decoder, trace.cross, trace.query)
    return AttentionTrace(trace.checkpoint, *(kept(one) for one in maps))


def each(
    checkpoint: Checkpoint, inputs: Mapping[str, Any], pieces: Sequence[int] | None = None
) -> dict[MapKind, list[tuple[AttentionLayer, AttentionScores]]]:
    """Every attention of one pass, layer by layer, by kind; arguments and errors as :func:`vectors`."""
    import torch

    if not listed(checkpoint):
        with _sentences(checkpoint):
            return hooked_scores(checkpoint, inputs)
    layers = [layer for of_kind in listed_layers(checkpoint).values() for layer in of_kind]
    recorder = Recorder(private_twin(checkpoint))
    for layer in layers:
        record_layer(recorder, layer)
    n, two_streams = inputs["input_ids"].shape[1], inputs.get("target_mapping") is not None
    done: dict[MapKind, list[tuple[AttentionLayer, AttentionScores]]] = {}
    if remembers(recorder.model) and inputs.get("mems") is None and (pieces or n > SEGMENT):
        sizes = list(pieces or [])
        with torch.inference_mode():
            count = sum(
                1 for _ in read(recorder.model, inputs["input_ids"], segment=sizes or SEGMENT, output_attentions=True)
            )
            for layer in layers:
                parts = [attention_scores(recorder, layer, number) for number in range(count)]
                done.setdefault(layer.kind, []).append((layer, _joined(parts, n)))
        return done
    run_as_drawn(recorder, inputs)
    calls: Counter[str] = Counter()
    with torch.inference_mode():
        for layer in layers:
            count = calls[layer.module]
            calls[layer.module] += 1
            kind: MapKind = "decoder" if two_streams else layer.kind
            done.setdefault(kind, []).append((layer, attention_scores(recorder, layer, count)))
            if two_streams:
                scores = attention_scores(recorder, layer, count, query_stream=True)
                done.setdefault("query", []).append((layer, scores))
    return done


def _joined(pieces: list[AttentionScores], n: int) -> AttentionScores:
    """Segments below each other: what is remembered has the keys that it had when it was read."""
    import torch

    device = pieces[0].query.device
    starts = np.cumsum([0, *(piece.query.shape[1] for piece in pieces)]).tolist()

    def placed(values: list[torch.Tensor], like: torch.dtype) -> torch.Tensor:
        whole = torch.zeros(len(values[0]), n, n, dtype=like, device=device)
        for first, last, part in zip(starts, starts[1:], values, strict=False):
            whole[:, first:last, last - part.shape[-1] : last] = part
        return whole

    def allowed_in(piece: AttentionScores) -> torch.Tensor:
        everywhere = torch.ones(1, *piece.terms["content"].shape[1:], dtype=torch.bool, device=device)
        return everywhere if piece.allowed is None else everywhere & piece.allowed

    own = [(piece, piece.query.shape[1]) for piece in pieces]
    weights = [piece.weights for piece in pieces if piece.weights is not None]
    return AttentionScores(
        torch.cat([piece.query for piece in pieces], dim=1),
        torch.cat([piece.key[:, -size:] for piece, size in own], dim=1),
        torch.cat([piece.value[:, -size:] for piece, size in own], dim=1),
        {name: placed([piece.terms[name] for piece in pieces], torch.float32) for name in pieces[0].terms},
        placed([allowed_in(piece) for piece in pieces], torch.bool),
        placed(weights, torch.float32) if len(weights) == len(pieces) else None,
        pieces[0].factor,
    )


def _stacked(layers: list[Any]) -> Floats:
    """Layers may have heads of different widths (Gemma 4): zeros, which change no product, fill up the narrower."""
    widest = max(layer.shape[-1] for layer in layers)
    made = np.stack([np.pad(one, [*[(0, 0)] * 2, (0, widest - one.shape[-1])]) for one in _numbers(layers)])
    made.setflags(write=False)
    return made


def _numbers(layers: list[Any]) -> list[Floats]:
    return [layer.float().cpu().numpy() for layer in layers]
