"""From a :class:`Configuration` to a module tree with every tensor, so that all that draws trees draws this one, too.

No network is built: shapes are written down, and :class:`ModuleNode` counts them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from core.anatomy.node import ModuleNode
from core.costs.blocks import block, expert
from core.costs.configuration import Configuration, check
from core.costs.nodes import group, linear, norm, table, vectors
from core.costs.styles import STYLES, Style

BUCKETS = 32
"""Distances that T5 tells apart."""


def tree(one: Configuration) -> ModuleNode:
    """The tree of the network. Raises :class:`core.errors.OutOfRange` for numbers that make none."""
    check(one)
    style = STYLES[one.style]
    words = table("words", one.vocabulary, one.word_width)
    if one.kind == "encoder-decoder":
        held = [] if style.own_words else [group("embeddings", "Embeddings", words)]
        sides = [
            _side(one, style, "encoder", one.layers, cross=False),
            _side(one, style, "decoder", one.decoder_layers, cross=True),
        ]
        children = [*held, *sides, *_head(one, style)]
    else:
        embeddings = [words, *_tables(one, style)]
        if style.word_norm:
            embeddings.append(norm("norm", one.word_width, style))
        children = [group("embeddings", "Embeddings", *embeddings), *_widened(one), *_stack(one, style, one.layers)]
        children += _head(one, style)
    if style.mask_vector:
        children.insert(0, vectors("mask", "Vector", ("weight", (one.width,))))
    return group("", "Network", *children)


def used(one: Configuration) -> int:
    """Parameters that one token goes through: all but the experts that it does not use."""
    idle = expert(one, STYLES[one.style]).parameters * (one.experts - one.active) if one.experts else 0
    sides = [one.layers, one.decoder_layers] if one.kind == "encoder-decoder" else [one.layers]
    layers = sum(1 if one.shared and depth > one.dense else depth - one.dense for depth in sides)
    return tree(one).parameters - idle * layers


def _side(one: Configuration, style: Style, name: str, layers: int, *, cross: bool) -> ModuleNode:
    """One side of an encoder-decoder: its own positions and norms, and the layers."""
    own = [table("words", one.vocabulary, one.word_width)] if style.own_words else []
    own += _tables(one, style)
    if style.word_norm:
        own.append(norm("norm", one.word_width, style))
    parts = [group("embeddings", "Embeddings", *own)] if own else []
    cls = "Encoder" if name == "encoder" else "Decoder"
    return group(name, cls, *parts, *_widened(one), *_stack(one, style, layers, cross=cross))


def _tables(one: Configuration, style: Style) -> list[ModuleNode]:
    tables = []
    if one.scheme == "learned" and one.positions:
        tables.append(table("positions", one.positions + style.offset, one.word_width))
    if one.scheme == "axial":
        quarter = one.word_width // 4
        tables.append(table("positions_far", one.axial, quarter))
        tables.append(table("positions_near", one.positions // one.axial, one.word_width - quarter))
    if one.segments and (style.own_words or one.kind != "encoder-decoder"):
        tables.append(table("segments", one.segments, one.word_width))
    return tables


def _widened(one: Configuration) -> list[ModuleNode]:
    if one.word_width == one.width:
        return []
    return [group("embeddings_widened", "Embeddings", linear("widen", one.width, one.word_width, True))]


def _stack(one: Configuration, style: Style, layers: int, *, cross: bool = False) -> list[ModuleNode]:
    parts = []
    if one.scheme == "relative":
        parts.append(group("attention_bias", "RelativeAttention", table("distances", BUCKETS, one.heads)))
    if one.scheme == "distances" and one.positions:
        parts.append(table("distances", 2 * one.positions, one.width))
        if style.distance_norm:
            parts.append(norm("distances_norm", one.width, style))
    parts.append(_layers(one, style, layers, cross=cross))
    if style.convolution:
        three = (("weight", (one.width, one.width, 3)), ("bias", (one.width,)))
        parts.append(
            group("convolution", "Convolution", vectors("conv", "Conv1d", *three), norm("norm", one.width, style))
        )
    if style.final_norm:
        parts.append(norm("final_norm", _end(one, style), style))
    return parts


def _layers(one: Configuration, style: Style, layers: int, *, cross: bool) -> ModuleNode:
    """The layers, those that are alike as one run. A shared one stands once."""
    kinds = ((bool(one.experts) and at >= one.dense, at >= layers - one.hashed) for at in range(layers))
    runs, first = [], 0
    for (experts, hashed), alike in groupby(kinds):
        count = len(list(alike))
        found = block(one, style, cross=cross, experts=experts, hashed=hashed)
        if one.shared:
            found = replace(found, name="0")
            return ModuleNode("layers", "ModuleList", f"one layer, used {layers} times", (found,)).counted()
        last = first + count - 1
        runs.append(replace(found, name=f"{first}-{last}" if count > 1 else str(first), repeat=count))
        first = last + 1
    return group("layers", "ModuleList", *runs)


def _end(one: Configuration, style: Style) -> int:
    """Numbers of a token behind the last layer."""
    return 2 * one.width if style.two_streams else one.width


def _head(one: Configuration, style: Style) -> list[ModuleNode]:
    """What stands on top: nothing, a pooler, a matrix that writes words, or several of these."""
    if one.head == "none":
        return []
    pooler = linear("pooler", one.width, one.width, True)
    if one.head == "pooler":
        return [pooler]
    if one.head == "replaced":
        dense = linear("dense", one.width, one.width, True)
        return [group("predictions", "ReplacedWordHead", dense, linear("score", 1, one.width, True))]
    if one.head == "words":
        return [_written("lm_head", one, style, _end(one, style), style.head_bias)]
    entering = one.word_width
    parts = [linear("dense", entering, _end(one, style), style.ffn_bias), norm("norm", entering, style)]
    masked = group("predictions", "MaskedWordHead", *parts, _written("words", one, style, entering, True))
    match one.head:
        case "masked-pooler":
            return [pooler, masked]
        case "pretraining":
            return [pooler, masked, linear("classifier", 2, one.width, True)]
    return [masked]


def _written(name: str, one: Configuration, style: Style, entering: int, bias: bool) -> ModuleNode:
    """The matrix that writes words; tied to the words that are read where the two are of one width."""
    matrix = linear(name, one.vocabulary, entering, bias)
    if not one.tied or entering != one.word_width:
        return matrix
    owner = "decoder." if style.own_words and one.kind == "encoder-decoder" else ""
    return replace(matrix, ties=(("weight", f"{owner}embeddings.words.weight"),)).counted()
