"""The boxes of the calculator of parameters: what every network has, and what few have behind buttons."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.costs.configuration import HEADS, POSITIONS, Configuration
from core.costs.styles import STYLES
from core.ui.calculators.parts import number, pick, switch
from core.ui.links import PageState

_KINDS = {"encoder": "encoder", "decoder": "decoder", "encoder-decoder": "encoder and decoder"}


def boxes(state: PageState, origin: Configuration, tag: str) -> dict[str, Any]:
    """All boxes; returns what they hold, under the configuration's names."""
    got: dict[str, Any] = {"kind": pick(state, "kind", "Architecture", _KINDS, origin.kind, tag=tag)}
    two = got["kind"] == "encoder-decoder"
    one, other = st.columns(2)
    with one:
        got["layers"] = number(state, "layers", "Layers", origin.layers, 1, 1000, tag=tag)
        got["width"] = number(state, "width", "Width", origin.width, 1, 200_000, tag=tag)
        got["ffn"] = number(state, "ffn", "Feed-forward width", origin.ffn, 1, 2_000_000, tag=tag)
        got["vocabulary"] = number(state, "vocabulary", "Vocabulary", origin.vocabulary, 1, 10**7, tag=tag)
    with other:
        got["heads"] = number(state, "heads", "Heads", origin.heads, 1, 2000, tag=tag)
        got["kv_heads"] = number(
            state,
            "kv",
            "Key-value heads",
            origin.kv_heads,
            1,
            2000,
            tag=tag,
            help="Heads that have keys and values of their own; fewer than heads means that several share them. "
            "With a latent of keys and values this does not count.",
        )
        got["positions"] = number(
            state,
            "positions",
            "Positions",
            origin.positions,
            0,
            10**8,
            tag=tag,
            help="Rows of the learned table; of DeBERTa's distances, to one side. Rotary positions and sinusoids have "
            "no rows to count.",
        )
        if two:
            got["decoder_layers"] = number(
                state, "below", "Decoder layers", origin.decoder_layers or origin.layers, 1, 1000, tag=tag
            )
    one, other = st.columns(2)
    with one:
        got["gated"] = switch(
            state, "gated", "Gated", origin.gated, tag=tag, help="A third matrix that opens and shuts"
        )
        got["tied"] = switch(
            state,
            "tied",
            "Tied",
            origin.tied,
            tag=tag,
            help="The matrix that writes words is the one that reads",
        )
    with other:
        got["shared"] = switch(
            state, "shared", "Shared", origin.shared, tag=tag, help="One layer, used at every depth, as in ALBERT"
        )
        with st.popover("More", icon=":material/tune:", width="stretch"):
            got |= _more(state, origin, tag)
    one, other = st.columns(2)
    with one, st.popover("Experts", icon=":material/call_split:", width="stretch"):
        got |= _experts(state, origin, got["ffn"], tag)
    with other, st.popover("Latent", icon=":material/compress:", width="stretch"):
        got |= _latent(state, origin, tag)
    return got


def _experts(state: PageState, origin: Configuration, ffn: int, tag: str) -> dict[str, Any]:
    """Several feed-forward blocks in a layer, of which a token uses a few."""
    experts = number(
        state,
        "experts",
        "Experts in a layer (0: none)",
        origin.experts,
        0,
        10_000,
        tag=tag,
        help="Feed-forward blocks side by side; a router chooses among them for each token.",
    )
    if not experts:
        st.caption("With 0, every token goes through the one feed-forward block of a layer.")
        return {"experts": 0}
    return {
        "experts": experts,
        "active": number(state, "active", "Used by a token", origin.active, 1, 10_000, tag=tag),
        "common": number(
            state,
            "common",
            "Beside them, used by all",
            origin.common,
            0,
            10_000,
            tag=tag,
            help="DeepSeek-V3 has one of these in a layer.",
        ),
        "inner": number(
            state,
            "inner",
            f"Width of one (0: {ffn:,})",
            origin.inner,
            0,
            2_000_000,
            tag=tag,
            help="The feed-forward width of one expert; 0 stands for that of the layer.",
        ),
        "dense": number(
            state,
            "dense",
            "First layers without experts",
            origin.dense,
            0,
            10_000,
            tag=tag,
            help="These have the one feed-forward block whose width stands above.",
        ),
    }


def _latent(state: PageState, origin: Configuration, tag: str) -> dict[str, Any]:
    """Keys and values of all heads from one short vector."""
    latent = number(
        state,
        "latent",
        "Latent of keys and values (0: none)",
        origin.latent,
        0,
        200_000,
        tag=tag,
        help="Numbers that a token leaves, from which the keys and values of all heads are made.",
    )
    if not latent:
        st.caption("With 0, keys and values are made from the token's own vector.")
        return {"latent": 0}
    return {
        "latent": latent,
        "query_latent": number(
            state, "queries", "Latent of queries (0: none)", origin.query_latent, 0, 200_000, tag=tag
        ),
        "turned": number(
            state,
            "turned",
            "Turned part of a query",
            origin.turned,
            0,
            200_000,
            tag=tag,
            help="Numbers beside those of a head that carry the position; all heads share one such key.",
        ),
        "value": number(state, "value", "Value of a head (0: its width)", origin.value, 0, 200_000, tag=tag),
    }


def _more(state: PageState, origin: Configuration, tag: str) -> dict[str, Any]:
    """What few need to set."""
    words = number(
        state,
        "words",
        "Word vector (0: the width)",
        origin.embedding,
        0,
        200_000,
        tag=tag,
        help="Factorised embeddings: V × E and E × d numbers instead of V × d",
    )
    got: dict[str, Any] = {
        "embedding": words,
        "head_dim": number(state, "dim", "Width of a head (0: width / heads)", origin.head_dim, 0, 10**5, tag=tag),
        "segments": number(
            state,
            "segments",
            "Segments",
            origin.segments,
            0,
            1000,
            tag=tag,
            help="Rows of the tables of segments, languages and tasks together.",
        ),
        "adapter": number(
            state,
            "adapter",
            "Adapters, numbers inside (0: none)",
            origin.adapter,
            0,
            200_000,
            tag=tag,
            help="Two to a layer, behind attention and behind the feed-forward block: down to so many numbers and up.",
        ),
        "scheme": pick(state, "scheme", "Where positions enter", POSITIONS, origin.scheme, tag=tag),
        "head": pick(state, "head", "On top", HEADS, origin.head, tag=tag),
        "style": pick(
            state,
            "style",
            "Biases and norms",
            {key: style.name for key, style in STYLES.items()},
            origin.style,
            tag=tag,
        ),
    }
    if got["scheme"] == "axial":
        got["axial"] = number(
            state,
            "axial",
            "Rows of the first of two tables",
            origin.axial,
            0,
            10**8,
            tag=tag,
            help="The rows of both multiplied are the positions; a word's vector is shared among them one to three.",
        )
    if STYLES[got["style"]].two_streams:
        got["hashed"] = number(
            state, "hashed", "Layers whose queries are their keys", origin.hashed, 0, 10_000, tag=tag
        )
    return got
