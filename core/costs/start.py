"""The initial values of the parameter editor: a published size.

The values come from the stored shape and tree, the head and the style from the class. A test compares the counts of all
sizes with attention layers, to the last parameter.
"""

from __future__ import annotations

from typing import Any

from core import anatomy
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of
from core.costs.configuration import STYLES, Configuration, Head, style_of
from core.costs.remarks import no_editor
from core.costs.shape import Shape, shape_of
from core.errors import OutOfRange


def start(slug: str, size: str | None = None) -> Configuration:
    """The configuration of a published size.

    Raises :class:`core.errors.OutOfRange` for a network that is not one stack of attention layers over one embedding
    matrix, and what the catalogue raises for unknown names.
    """
    chosen, shape = size_of(slug, size), shape_of(slug, size)
    refusal = no_editor(slug, chosen.name)
    if refusal or shape is None:
        raise OutOfRange(refusal)
    root = anatomy.tree(slug, chosen.name)
    style = style_of(chosen.architecture)
    if style == "deberta-3" and _named(root, "conv"):
        style = "deberta-2"
    scheme = STYLES[style].scheme
    if scheme == "learned" and not _rows(root, _POSITIONS):
        scheme = "fixed"
    stack, first = shape.main, shape.stacks[0]
    plain = stack.width == stack.heads * stack.head_dim
    values: dict[str, Any] = {
        "kind": shape.kind,
        "layers": first.layers,
        "decoder_layers": stack.layers if shape.two_sided else 0,
        "width": stack.width,
        "heads": stack.heads,
        "kv_heads": stack.kv_heads,
        "head_dim": 0 if plain else stack.head_dim,
        "ffn": stack.ffn,
        "gated": stack.gated,
        "vocabulary": shape.vocabulary,
        "embedding": 0 if shape.embedding == stack.width else shape.embedding,
        "positions": shape.positions,
        "scheme": scheme,
        "segments": _rows(root, _SEGMENTS),
        "tied": shape.tied and not chosen.architecture.startswith("Untied"),
        "shared": shape.uses > 1,
        "head": _head(chosen.architecture, shape.kind, root),
        "style": style,
        "rope_dim": stack.head_dim // 2,
        "adapter": _width(root, "adapter", "down"),
    }
    values |= _experts(root, shape) | _latent(root, shape) | _special(root, style)
    if chosen.architecture.startswith("DallE"):
        words = _rows(root, ("text_token", "image_token"))
        positions = _rows(root, ("text_padding", "text_position", "image_row", "image_column"))
        values |= {"vocabulary": words, "positions": positions, "scheme": "learned", "tied": False}
    return Configuration(**values)


_POSITIONS = ("position_embeddings", "embed_positions", "wpe", "positions_embed")
_SEGMENTS = ("token_type_embeddings", "lang_embeddings", "task_type_embeddings")


def _named(root: ModuleNode, name: str) -> ModuleNode | None:
    """The first module of that name that has parameters, of its own or in its children."""
    return next((node for _, node, _ in root.walk() if node.name == name and node.parameters), None)


def _rows(root: ModuleNode, names: tuple[str, ...]) -> int:
    """Rows of all tables of these names; a name that the encoder and the decoder have counts once."""
    return sum({n.name: n.tensors[0][1][0] for _, n, _ in root.walk() if n.name in names and n.own}.values())


def _width(root: ModuleNode, parent: str, child: str) -> int:
    """Output features of a linear layer; 0 where the tree has none of that name."""
    node = _named(root, parent)
    below = None if node is None else _named(node, child)
    return 0 if below is None else below.tensors[0][1][0]


def _experts(root: ModuleNode, shape: Shape) -> dict[str, Any]:
    """The values of a mixture of experts."""
    experts = _named(root, "experts")
    if not shape.experts or experts is None:
        return {}
    inner = dict(experts.tensors)["down_proj"][-1]
    having = sum(copies for _, node, copies in root.walk() if node.name == "experts" and node.own)
    dense = next(
        (node for _, node, _ in root.walk() if node.name == "up_proj" and node.tensors[0][1][0] != inner), None
    )
    return {
        "experts": shape.experts,
        "active": shape.active,
        "common": _width(root, "shared_experts", "up_proj") // inner,
        "inner": inner,
        "dense": shape.main.layers - having,
        "ffn": dense.tensors[0][1][0] if dense else inner * shape.active,
    }


def _latent(root: ModuleNode, shape: Shape) -> dict[str, Any]:
    """The values of latent attention."""
    norm, query = _named(root, "kv_a_layernorm"), _named(root, "q_a_layernorm")
    if norm is None:
        return {}
    latent, stack = norm.own, shape.main
    rope_dim = stack.cached - latent
    dim = stack.head_dim - rope_dim
    return {
        "latent": latent,
        "query_latent": 0 if query is None else query.own,
        "rope_dim": rope_dim,
        "head_dim": dim,
        "value": 0 if stack.value_dim == dim else stack.value_dim,
    }


def _special(root: ModuleNode, style: str) -> dict[str, Any]:
    """Values of one family alone: DeBERTa's relative embeddings, Reformer's axial tables and hashed layers."""
    if style.startswith("deberta"):
        return {"positions": _rows(root, ("rel_embeddings",)) // 2}
    if style == "reformer":
        crossed = _named(root, "weights")
        hashed = sum(copies for _, node, copies in root.walk() if node.name == "query_key")
        return {
            "axial": crossed.tensors[0][1][0] if crossed else 0,
            "hashed": hashed,
        }
    return {}


def _head(architecture: str, kind: str, root: ModuleNode) -> Head:
    pooler = any(node.name == "pooler" for _, node, _ in root.walk())
    if architecture.startswith("EncoderDecoder"):
        return "masked-pooler" if pooler else "masked"
    if kind != "encoder":
        return "words"
    if architecture.startswith("Electra"):
        return "replaced" if architecture.endswith("ForPreTraining") else "none"
    if architecture.endswith("ForPreTraining"):
        return "pretraining" if pooler else "masked"
    if architecture.endswith("ForMaskedLM"):
        return "masked-pooler" if pooler else "masked"
    if pooler:
        return "pooler"
    return "none" if not architecture.endswith("LMHeadModel") else "words"
