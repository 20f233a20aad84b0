"""From a :class:`Configuration` to a module tree with the shape of every tensor, as torch stores it.

No network is built. :class:`ModuleNode` counts the parameters, and whatever draws a module tree can draw this one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from core.anatomy.node import ModuleNode
from core.costs.configuration import STYLES, Configuration, Style, check


def group(name: str, cls: str, *children: ModuleNode) -> ModuleNode:
    """A module with children."""
    return ModuleNode(name, cls, "", children).counted()


def table(name: str, rows: int, width: int) -> ModuleNode:
    """An embedding table (rows, width)."""
    return ModuleNode(name, "Embedding", f"{rows}, {width}", tensors=(("weight", (rows, width)),)).counted()


def vectors(name: str, cls: str, *tensors: tuple[str, tuple[int, ...]]) -> ModuleNode:
    """A module with tensors of its own, none of them a linear layer or an embedding table."""
    return ModuleNode(name, cls, tensors=tensors, extra="").counted()


def linear(name: str, out: int, into: int, bias: bool) -> ModuleNode:
    """A linear layer from ``into`` to ``out`` features."""
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


def block(config: Configuration, style: Style, *, cross: bool, experts: bool, hashed: bool) -> ModuleNode:
    """A layer.

    Args:
        cross: it has cross-attention.
        experts: its feed-forward block is a mixture of experts.
        hashed: one matrix projects its queries and its keys.
    """
    attend = _latent(config, style) if config.latent else _attention("attention", config, style, hashed=hashed)
    parts = [_adapted(attend, config)]
    if cross:
        parts.append(_attention("cross_attention", config, style))
    forward = _experts(config, style) if experts else _feed_forward("feed_forward", config, style, config.ffn)
    parts.append(_adapted(forward, config))
    parts += [norm(f"norm_{number}", config.width, style) for number in range(1, style.norms + cross + 1)]
    return group("", "Block", *parts)


def expert(config: Configuration, style: Style) -> ModuleNode:
    """One expert."""
    return _feed_forward("0", config, style, config.expert_width)


def _adapted(node: ModuleNode, config: Configuration) -> ModuleNode:
    """With an adapter behind it: a projection down to the bottleneck and one up again."""
    if not config.adapter:
        return node
    adapter = group(
        "adapter",
        "Adapter",
        linear("down", config.adapter, config.width, True),
        linear("up", config.width, config.adapter, True),
    )
    return replace(node, children=(*node.children, adapter)).counted()


def _attention(name: str, config: Configuration, style: Style, *, hashed: bool = False) -> ModuleNode:
    queries, keys = config.heads * config.dim, config.kv_heads * config.dim
    read, written = style.attention_bias in ("all", "queries"), style.attention_bias in ("all", "output", "no keys")
    valued = read or style.attention_bias == "no keys"
    reading = [
        linear("query", queries, config.width, valued),
        linear("key", keys, config.width, read),
        linear("value", keys, config.width, valued),
    ]
    if hashed:
        reading = [linear("query_key", queries, config.width, valued), reading[2]]
    parts = [*reading, linear("output", config.width, queries, written)]
    if style.head_norm:
        parts += [norm("query_norm", config.dim, style), norm("key_norm", config.dim, style)]
    if name == "attention":
        parts += _further(config, style, reading)
    return group(name, "SelfAttention" if name == "attention" else "CrossAttention", *parts)


def _further(config: Configuration, style: Style, reading: list[ModuleNode]) -> list[ModuleNode]:
    queries = config.heads * config.dim
    match style.further:
        case "global":
            return [replace(node, name=f"{node.name}_global") for node in reading]
        case "distance":
            shape = (config.heads, config.dim)
            biases = tuple((f"{name}_bias", shape) for name in ("content", "distance", "segment"))
            return [
                linear("distance", queries, config.width, False),
                vectors("biases", "Biases", *biases, ("segments", (2, *shape))),
            ]
        case "disentangled":
            return [
                linear("distance_key", queries, config.width, False),
                linear("distance_query", queries, config.width, True),
            ]
        case "sinks":
            return [vectors("sinks", "Vector", ("weight", (config.heads,)))]
    return []


def _latent(config: Configuration, style: Style) -> ModuleNode:
    """Multi-head latent attention: keys and values of all heads from one latent, queries from their own, if any."""
    biased = style.attention_bias in ("all", "queries")
    queries = config.heads * (config.dim + config.rope_dim)
    if config.query_latent:
        parts = [
            linear("query_down", config.query_latent, config.width, biased),
            norm("query_norm", config.query_latent, style),
            linear("query_up", queries, config.query_latent, False),
        ]
    else:
        parts = [linear("query", queries, config.width, False)]
    parts += [
        linear("latent", config.latent + config.rope_dim, config.width, biased),
        norm("latent_norm", config.latent, style),
        linear("key_value_up", config.heads * (config.dim + config.value_dim), config.latent, False),
        linear("output", config.width, config.heads * config.value_dim, style.attention_bias in ("all", "output")),
    ]
    return group("attention", "LatentAttention", *parts)


def _feed_forward(name: str, config: Configuration, style: Style, width: int) -> ModuleNode:
    matrices = [linear("gate", width, config.width, style.ffn_bias)] if config.gated else []
    matrices += [linear("up", width, config.width, style.ffn_bias), linear("down", config.width, width, style.ffn_bias)]
    return group(name, "FeedForward", *matrices)


def _experts(config: Configuration, style: Style) -> ModuleNode:
    repeated = replace(
        expert(config, style), name=f"0-{config.experts - 1}" if config.experts > 1 else "0", repeat=config.experts
    )
    parts = [linear("router", config.experts, config.width, style.ffn_bias), group("experts", "ModuleList", repeated)]
    if config.common:
        parts.append(_feed_forward("shared_experts", config, style, config.common * config.expert_width))
    return group("feed_forward", "Experts", *parts)


BUCKETS = 32
"""Buckets of T5's relative distances."""


def tree(config: Configuration) -> ModuleNode:
    """The module tree of the network. Raises :class:`core.errors.OutOfRange` where the values are not consistent."""
    check(config)
    style = STYLES[config.style]
    if len(config.depths) > 1:
        shared = [] if style.own_words else [group("embeddings", "Embeddings", _words(config))]
        sides = zip(("encoder", "decoder"), config.depths, strict=True)
        children = shared + [
            group(
                name, name.capitalize(), *_side(config, style, layers, words=style.own_words, cross=name == "decoder")
            )
            for name, layers in sides
        ]
    else:
        children = _side(config, style, config.layers, words=True)
    children += _head(config, style)
    if style.mask_vector:
        children.insert(0, vectors("mask", "Vector", ("weight", (config.width,))))
    return group("", "Network", *children)


def used(config: Configuration) -> int:
    """Active parameters of one token: all but the experts that it is not routed to."""
    idle = expert(config, STYLES[config.style]).parameters * (config.experts - config.active) if config.experts else 0
    layers = sum(1 if config.shared and depth > config.dense else depth - config.dense for depth in config.depths)
    return tree(config).parameters - idle * layers


def _words(config: Configuration) -> ModuleNode:
    return table("words", config.vocabulary, config.word_width)


def _side(config: Configuration, style: Style, layers: int, *, words: bool, cross: bool = False) -> list[ModuleNode]:
    """The encoder, the decoder, or the only stack of a network: its embeddings, norms and layers."""
    nodes = [_words(config)] if words else []
    nodes += _tables(config, style)
    if style.word_norm:
        nodes.append(norm("norm", config.word_width, style))
    embeddings = [group("embeddings", "Embeddings", *nodes)] if nodes else []
    if config.word_width != config.width:
        widen = linear("widen", config.width, config.word_width, True)
        embeddings.append(group("embeddings_widened", "Embeddings", widen))
    return [*embeddings, *_stack(config, style, layers, cross=cross)]


def _tables(config: Configuration, style: Style) -> list[ModuleNode]:
    tables = []
    if config.scheme == "learned" and config.positions:
        tables.append(table("positions", config.positions + style.offset, config.word_width))
    if config.scheme == "axial":
        quarter = config.word_width // 4
        tables.append(table("positions_far", config.axial, quarter))
        tables.append(table("positions_near", config.positions // config.axial, config.word_width - quarter))
    if config.segments and (style.own_words or len(config.depths) == 1):
        tables.append(table("segments", config.segments, config.word_width))
    return tables


def _stack(config: Configuration, style: Style, layers: int, *, cross: bool) -> list[ModuleNode]:
    parts = []
    if config.scheme == "relative":
        parts.append(group("attention_bias", "RelativeAttention", table("distances", BUCKETS, config.heads)))
    if config.scheme == "distances" and config.positions:
        parts.append(table("distances", 2 * config.positions, config.width))
        if style.distance_norm:
            parts.append(norm("distances_norm", config.width, style))
    parts.append(_layers(config, style, layers, cross=cross))
    if style.convolution:
        three = (("weight", (config.width, config.width, 3)), ("bias", (config.width,)))
        parts.append(
            group("convolution", "Convolution", vectors("conv", "Conv1d", *three), norm("norm", config.width, style))
        )
    if style.final_norm:
        parts.append(norm("final_norm", _end(config, style), style))
    return parts


def _layers(config: Configuration, style: Style, layers: int, *, cross: bool) -> ModuleNode:
    """The layers; consecutive equal ones are one node with a repeat count, and a shared layer is stored once."""
    kinds = ((bool(config.experts) and at >= config.dense, at >= layers - config.hashed) for at in range(layers))
    runs, first = [], 0
    for (experts, hashed), alike in groupby(kinds):
        count = len(list(alike))
        node = block(config, style, cross=cross, experts=experts, hashed=hashed)
        if config.shared:
            node = replace(node, name="0")
            return ModuleNode("layers", "ModuleList", f"one layer, used {layers} times", (node,)).counted()
        last = first + count - 1
        runs.append(replace(node, name=f"{first}-{last}" if count > 1 else str(first), repeat=count))
        first = last + 1
    return group("layers", "ModuleList", *runs)


def _end(config: Configuration, style: Style) -> int:
    """Dimension of a token's state after the last layer."""
    return 2 * config.width if style.two_streams else config.width


def _head(config: Configuration, style: Style) -> list[ModuleNode]:
    """The heads: none, a pooler, an output projection, or several of these."""
    if config.head == "none":
        return []
    pooler = linear("pooler", config.width, config.width, True)
    if config.head == "pooler":
        return [pooler]
    if config.head == "replaced":
        dense = linear("dense", config.width, config.width, True)
        return [group("predictions", "ReplacedWordHead", dense, linear("score", 1, config.width, True))]
    if config.head == "words":
        return [_written("lm_head", config, style, _end(config, style), style.head_bias)]
    entering = config.word_width
    parts = [linear("dense", entering, _end(config, style), style.ffn_bias), norm("norm", entering, style)]
    masked = group("predictions", "MaskedWordHead", *parts, _written("words", config, style, entering, True))
    match config.head:
        case "masked-pooler":
            return [pooler, masked]
        case "pretraining":
            return [pooler, masked, linear("classifier", 2, config.width, True)]
    return [masked]


def _written(name: str, config: Configuration, style: Style, entering: int, bias: bool) -> ModuleNode:
    """The output projection onto the vocabulary; tied to the input embeddings where both have the same dimension."""
    matrix = linear(name, config.vocabulary, entering, bias)
    if not config.tied or entering != config.word_width:
        return matrix
    owner = "decoder." if style.own_words and len(config.depths) > 1 else ""
    return replace(matrix, ties=(("weight", f"{owner}embeddings.words.weight"),)).counted()
