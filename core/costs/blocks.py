"""One layer of a :class:`Configuration`, written down: attention of every kind, one feed-forward block or experts."""

from __future__ import annotations

from dataclasses import replace

from core.anatomy.node import ModuleNode
from core.costs.configuration import Configuration
from core.costs.nodes import group, linear, norm, vectors
from core.costs.styles import Style


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
    parts = [linear("router", one.experts, one.width, False), group("experts", "ModuleList", run)]
    if one.common:
        parts.append(_feed_forward("shared_experts", one, style, one.common * one.expert_width))
    return group("feed_forward", "Experts", *parts)
