"""What parameters are for: embeddings, attention, feed-forward, norms, head.

The classes of transformers name the same part in many ways (``attn``, ``self_attn``, ``EncDecAttention``,
``attentions``). The role of a tensor is decided on the way from the root to it: a module whose name or class says what
it is hands its role to all below it, a layer norm is always a norm, and a table of vectors outside attention is an
embedding. No torch here.
"""

from __future__ import annotations

import re

from core.anatomy.node import ModuleNode

EMBEDDINGS = "embeddings"
ATTENTION = "attention"
FEED_FORWARD = "feed-forward"
STATE_SPACE = "state space"
"""The role of blocks that replace attention and feed-forward, such as Mamba's."""
NORMS = "norms"
HEAD = "head"
OTHER = "other"
ROLES = (EMBEDDINGS, ATTENTION, FEED_FORWARD, STATE_SPACE, NORMS, HEAD, OTHER)

_BY_NAME: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        HEAD,
        re.compile(
            r"(generator_)?lm_head|unembed_\w+|lm_loss|cls|classifier|pooler|pred_layer|vocab_\w+|\w*predictions\w*|qa_outputs|score"
            r"|head|(text|visual)_projection"
        ),
    ),
    (ATTENTION, re.compile(r"(self_|encoder_|cross)?att(n|ention|entions)|multi_head_attention|\w+Attention")),
    (FEED_FORWARD, re.compile(r"mlp|ffns?|ffn_output|feed_forward|intermediate|output|DenseReluDense|fc[12]|lin[12]")),
    (EMBEDDINGS, re.compile(r"embeddings\w*|embedding_hidden_mapping_in|embed_\w+|shared|w[tp]e|w")),
)
"""Tried in this order on a module's whole name, only while no ancestor has decided."""

_BY_CLASS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (ATTENTION, re.compile(r"\w*Attention")),
    (STATE_SPACE, re.compile(r"\w*MambaMixer")),
    (FEED_FORWARD, re.compile(r"\w*(FF|FFN|MLP|FeedForward)")),
    (EMBEDDINGS, re.compile(r"\w*Embeddings?")),
)
"""Tried after the names: T5 numbers the parts of a block instead of naming them."""

_NORM = re.compile(r".*(Layer|RMS)Norm")


def by_role(root: ModuleNode) -> dict[str, int]:
    """Parameters of a tree by role, every role named, zeros included; they add up to ``root.total``."""
    shares, by_path = dict.fromkeys(ROLES, 0), roles(root)
    for path, node, copies in root.walk():
        shares[by_path[path] or OTHER] += node.own * copies
    return shares


def roles(root: ModuleNode) -> dict[str, str | None]:
    """The role of each module by its path."""
    by_path: dict[str, str | None] = {}
    for path, node, _ in root.walk():
        by_path[path] = role_of(node.name, node.cls, by_path.get(path.rpartition(".")[0]))
    return by_path


def role_of(name: str, cls: str, inherited: str | None) -> str | None:
    """The role of a module by its name and class, given what its ancestors decided; None while nothing says so."""
    if _NORM.fullmatch(cls):
        return NORMS
    if inherited is not None:
        return inherited
    if (name, cls) == ("decoder", "Linear"):  # ModernBERT's name for its output matrix; elsewhere a stack of layers
        return HEAD
    named = (role for role, pattern in _BY_NAME if pattern.fullmatch(name))
    classed = (role for role, pattern in _BY_CLASS if pattern.fullmatch(cls))
    return next(named, None) or next(classed, None)
