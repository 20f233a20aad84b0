"""From a :class:`Configuration` to a module tree with every tensor, so that all that draws trees draws this one, too.

No network is built: shapes are written down, and :class:`ModuleNode` counts them.
"""

from __future__ import annotations

from core.anatomy.node import ModuleNode
from core.costs.configuration import STYLES, Configuration, Style, check

BUCKETS = 32
"""Distances that T5 tells apart."""


def tree(one: Configuration) -> ModuleNode:
    """The tree of the network. Raises :class:`core.errors.OutOfRange` for numbers that make none."""
    check(one)
    style = STYLES[one.style]
    words = ModuleNode("words", "Embedding", f"{one.vocabulary}, {one.word_width}",
                       tensors=(("weight", (one.vocabulary, one.word_width)),)).counted()  # fmt: skip
    if one.kind == "encoder-decoder":
        sides = [
            _side(one, style, "encoder", one.layers, cross=False),
            _side(one, style, "decoder", one.decoder_layers, cross=True),
        ]
        children = [_group("embeddings", "Embeddings", words), *sides, *_head(one, style)]
    else:
        embeddings = [words, *_tables(one, style)]
        if style.word_norm:
            embeddings.append(_norm("norm", one.word_width, style))
        children = [_group("embeddings", "Embeddings", *embeddings), *_widened(one), *_stack(one, style, one.layers)]
        children += _head(one, style)
    return _group("", "Network", *children)


def _side(one: Configuration, style: Style, name: str, layers: int, *, cross: bool) -> ModuleNode:
    """One side of an encoder-decoder: its own positions and norms, and the layers."""
    own = _tables(one, style)
    if style.word_norm:
        own.append(_norm("norm", one.word_width, style))
    parts = [_group("embeddings", "Embeddings", *own)] if own else []
    cls = "Encoder" if name == "encoder" else "Decoder"
    return _group(name, cls, *parts, *_widened(one), *_stack(one, style, layers, cross=cross))


def _tables(one: Configuration, style: Style) -> list[ModuleNode]:
    tables = []
    if one.scheme == "learned" and one.positions:
        tables.append(_table("positions", one.positions + style.offset, one.word_width))
    if one.segments and one.kind != "encoder-decoder":
        tables.append(_table("segments", one.segments, one.word_width))
    return tables


def _widened(one: Configuration) -> list[ModuleNode]:
    if one.word_width == one.width:
        return []
    return [_group("embeddings_widened", "Embeddings", _linear("widen", one.width, one.word_width, True))]


def _stack(one: Configuration, style: Style, layers: int, *, cross: bool = False) -> list[ModuleNode]:
    block = _block(one, style, cross=cross)
    if one.shared:
        repeated = ModuleNode("0", block.cls, "", block.children).counted()
        run = ModuleNode("layers", "ModuleList", f"one layer, used {layers} times", (repeated,)).counted()
    else:
        name = f"0-{layers - 1}" if layers > 1 else "0"
        repeated = ModuleNode(name, block.cls, "", block.children, repeat=layers).counted()
        run = ModuleNode("layers", "ModuleList", "", (repeated,)).counted()
    parts = []
    if one.scheme == "relative":
        parts.append(_group("attention_bias", "RelativeAttention", _table("distances", BUCKETS, one.heads)))
    parts.append(run)
    if style.final_norm:
        parts.append(_norm("final_norm", one.width, style))
    return parts


def _block(one: Configuration, style: Style, *, cross: bool) -> ModuleNode:
    parts = [_attention("attention", one, style)]
    if cross:
        parts.append(_attention("cross_attention", one, style))
    matrices = [_linear("gate", one.ffn, one.width, style.ffn_bias)] if one.gated else []
    matrices += [
        _linear("up", one.ffn, one.width, style.ffn_bias),
        _linear("down", one.width, one.ffn, style.ffn_bias),
    ]
    parts.append(_group("feed_forward", "FeedForward", *matrices))
    parts += [_norm(f"norm_{number}", one.width, style) for number in range(1, style.norms + cross + 1)]
    return _group("", "Block", *parts)


def _attention(name: str, one: Configuration, style: Style) -> ModuleNode:
    queries, keys = one.heads * one.dim, one.kv_heads * one.dim
    read, written = style.attention_bias in ("all", "queries"), style.attention_bias in ("all", "output")
    parts = [
        _linear("query", queries, one.width, read),
        _linear("key", keys, one.width, read),
        _linear("value", keys, one.width, read),
        _linear("output", one.width, queries, written),
    ]
    if style.head_norm:
        parts += [_norm("query_norm", one.dim, style), _norm("key_norm", one.dim, style)]
    return _group(name, "CrossAttention" if name.startswith("cross") else "SelfAttention", *parts)


def _head(one: Configuration, style: Style) -> list[ModuleNode]:
    """What stands on top: nothing, a pooler, or a matrix that writes words."""
    if one.head == "none":
        return []
    if one.head == "pooler":
        return [_linear("pooler", one.width, one.width, True)]
    masked = one.head == "masked"
    entering = one.word_width if masked else one.width
    tied = one.tied and entering == one.word_width
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (one.vocabulary, entering)),)
    if masked or style.head_bias:
        tensors += (("bias", (one.vocabulary,)),)
    extra = f"in_features={entering}, out_features={one.vocabulary}, bias={len(tensors) > 1}"
    ties = (("weight", "embeddings.words.weight"),) if tied else ()
    if not masked:
        return [ModuleNode("lm_head", "Linear", extra, tensors=tensors, ties=ties).counted()]
    out = ModuleNode("words", "Linear", extra, tensors=tensors, ties=ties).counted()
    dense = _linear("dense", entering, one.width, True)
    return [_group("predictions", "MaskedWordHead", dense, _norm("norm", entering, style), out)]


def _group(name: str, cls: str, *children: ModuleNode) -> ModuleNode:
    return ModuleNode(name, cls, "", children).counted()


def _table(name: str, rows: int, width: int) -> ModuleNode:
    return ModuleNode(name, "Embedding", f"{rows}, {width}", tensors=(("weight", (rows, width)),)).counted()


def _linear(name: str, out: int, into: int, bias: bool) -> ModuleNode:
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (out, into)),)
    if bias:
        tensors += (("bias", (out,)),)
    return ModuleNode(name, "Linear", f"in_features={into}, out_features={out}, bias={bias}", tensors=tensors).counted()


def _norm(name: str, width: int, style: Style) -> ModuleNode:
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = (("weight", (width,)),)
    if style.norm_bias:
        tensors += (("bias", (width,)),)
    return ModuleNode(name, "LayerNorm" if style.norm_bias else "RMSNorm", f"({width},)", tensors=tensors).counted()
