"""From a :class:`Configuration` to a module tree with every tensor, so that all that draws trees draws this one, too.

No network is built: matrices, tables and norms are written down, in the shapes that torch keeps, then the layers, with
attention of every kind and one feed-forward block or experts, then what stands around them. :class:`ModuleNode` counts.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from core.anatomy.node import ModuleNode
from core.costs.configuration import STYLES, Configuration, Style, check


def group(name: str, cls: str, *children: ModuleNode) -> ModuleNode:
    """A module that holds others."""
    return ModuleNode(name, cls, "", children).counted()


def table(name: str, rows: int, width: int) -> ModuleNode:
    """A table of vectors."""
    return ModuleNode(name, "Embedding", f"{rows}, {width}", tensors=(("weight", (rows, width)),)).counted()


def vectors(name: str, cls: str, *tensors: tuple[str, tuple[int, ...]]) -> ModuleNode:
    """A module with tensors of its own that are neither matrix nor table."""
    return ModuleNode(name, cls, tensors=tensors, extra="").counted()


def linear(name: str, out: int, into: int, bias: bool) -> ModuleNode:
    """A matrix from ``into`` to ``out`` numbers."""
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (out, into)),)
    if bias:
        tensors += (("bias", (out,)),)
    return ModuleNode(name, "Linear", f"in_features={into}, out_features={out}, bias={bias}", tensors=tensors).counted()


def norm(name: str, width: int, style: Style) -> ModuleNode:
    """A norm of the style's kind."""
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (width,)),)
    if style.norm_bias:
        tensors += (("bias", (width,)),)
    cls = "LayerNorm" if style.norm_bias or style.centered else "RMSNorm"
    return ModuleNode(name, cls, f"({width},)", tensors=tensors).counted()


def block(one: Configuration, style: Style, *, cross: bool, experts: bool, hashed: bool) -> ModuleNode:
    """A layer.

    Args:
        cross: whether it also looks at the other side.
        experts: whether its feed-forward block is one of several.
        hashed: whether its queries are its keys.
    """
    attend = _latent(one, style) if one.latent else _attention("attention", one, style, hashed=hashed)
    parts = [_adapted(attend, one)]
    if cross:
        parts.append(_attention("cross_attention", one, style))
    forward = _experts(one, style) if experts else _feed_forward("feed_forward", one, style, one.ffn)
    parts.append(_adapted(forward, one))
    parts += [norm(f"norm_{number}", one.width, style) for number in range(1, style.norms + cross + 1)]
    return group("", "Block", *parts)


def expert(one: Configuration, style: Style) -> ModuleNode:
    """One expert."""
    return _feed_forward("0", one, style, one.expert_width)


def _adapted(node: ModuleNode, one: Configuration) -> ModuleNode:
    """With an adapter behind it: down to a few numbers and up again."""
    if not one.adapter:
        return node
    adapter = group(
        "adapter", "Adapter", linear("down", one.adapter, one.width, True), linear("up", one.width, one.adapter, True)
    )
    return replace(node, children=(*node.children, adapter)).counted()


def _attention(name: str, one: Configuration, style: Style, *, hashed: bool = False) -> ModuleNode:
    queries, keys = one.heads * one.dim, one.kv_heads * one.dim
    read, written = style.attention_bias in ("all", "queries"), style.attention_bias in ("all", "output", "no keys")
    valued = read or style.attention_bias == "no keys"
    reading = [
        linear("query", queries, one.width, valued),
        linear("key", keys, one.width, read),
        linear("value", keys, one.width, valued),
    ]
    if hashed:
        reading = [linear("query_key", queries, one.width, valued), reading[2]]
    parts = [*reading, linear("output", one.width, queries, written)]
    if style.head_norm:
        parts += [norm("query_norm", one.dim, style), norm("key_norm", one.dim, style)]
    if name == "attention":
        parts += _further(one, style, reading)
    return group(name, "SelfAttention" if name == "attention" else "CrossAttention", *parts)


def _further(one: Configuration, style: Style, reading: list[ModuleNode]) -> list[ModuleNode]:
    queries = one.heads * one.dim
    match style.further:
        case "global":
            return [replace(node, name=f"{node.name}_global") for node in reading]
        case "distance":
            shape = (one.heads, one.dim)
            biases = tuple((f"{name}_bias", shape) for name in ("content", "distance", "segment"))
            return [
                linear("distance", queries, one.width, False),
                vectors("biases", "Biases", *biases, ("segments", (2, *shape))),
            ]
        case "disentangled":
            return [
                linear("distance_key", queries, one.width, False),
                linear("distance_query", queries, one.width, True),
            ]
        case "sinks":
            return [vectors("sinks", "Vector", ("weight", (one.heads,)))]
    return []


def _latent(one: Configuration, style: Style) -> ModuleNode:
    """Keys and values of all heads from one short vector; queries from another, where they have one."""
    biased = style.attention_bias in ("all", "queries")
    queries = one.heads * (one.dim + one.turned)
    if one.query_latent:
        parts = [
            linear("query_down", one.query_latent, one.width, biased),
            norm("query_norm", one.query_latent, style),
            linear("query_up", queries, one.query_latent, False),
        ]
    else:
        parts = [linear("query", queries, one.width, False)]
    parts += [
        linear("latent", one.latent + one.turned, one.width, biased),
        norm("latent_norm", one.latent, style),
        linear("key_value_up", one.heads * (one.dim + one.value_dim), one.latent, False),
        linear("output", one.width, one.heads * one.value_dim, style.attention_bias in ("all", "output")),
    ]
    return group("attention", "LatentAttention", *parts)


def _feed_forward(name: str, one: Configuration, style: Style, width: int) -> ModuleNode:
    matrices = [linear("gate", width, one.width, style.ffn_bias)] if one.gated else []
    matrices += [linear("up", width, one.width, style.ffn_bias), linear("down", one.width, width, style.ffn_bias)]
    return group(name, "FeedForward", *matrices)


def _experts(one: Configuration, style: Style) -> ModuleNode:
    run = replace(expert(one, style), name=f"0-{one.experts - 1}" if one.experts > 1 else "0", repeat=one.experts)
    parts = [linear("router", one.experts, one.width, style.ffn_bias), group("experts", "ModuleList", run)]
    if one.common:
        parts.append(_feed_forward("shared_experts", one, style, one.common * one.expert_width))
    return group("feed_forward", "Experts", *parts)


BUCKETS = 32
"""Distances that T5 tells apart."""


def tree(one: Configuration) -> ModuleNode:
    """The tree of the network. Raises :class:`core.errors.OutOfRange` for numbers that make none."""
    check(one)
    style = STYLES[one.style]
    if one.kind == "encoder-decoder":
        shared = [] if style.own_words else [group("embeddings", "Embeddings", _words(one))]
        sides = (("encoder", one.layers), ("decoder", one.decoder_layers))
        children = shared + [
            group(name, name.capitalize(), *_side(one, style, layers, words=style.own_words, cross=name == "decoder"))
            for name, layers in sides
        ]
    else:
        children = _side(one, style, one.layers, words=True)
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


def _words(one: Configuration) -> ModuleNode:
    return table("words", one.vocabulary, one.word_width)


def _side(one: Configuration, style: Style, layers: int, *, words: bool, cross: bool = False) -> list[ModuleNode]:
    """The only side of a network, or one of two: its own tables and norms, and the layers."""
    own = [_words(one)] if words else []
    own += _tables(one, style)
    if style.word_norm:
        own.append(norm("norm", one.word_width, style))
    embeddings = [group("embeddings", "Embeddings", *own)] if own else []
    if one.word_width != one.width:
        widen = linear("widen", one.width, one.word_width, True)
        embeddings.append(group("embeddings_widened", "Embeddings", widen))
    return [*embeddings, *_stack(one, style, layers, cross=cross)]


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


def _stack(one: Configuration, style: Style, layers: int, *, cross: bool) -> list[ModuleNode]:
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
