"""The layout of a size as far as its costs need it, stored as JSON, so that costs need no torch.

A network has one stack of layers (an encoder or a decoder) or both. A layer has a query heads with keys of dimension
d_k and values of dimension d_v, and g key-value heads.

``data/shapes.json`` has a line per size, written by ``python -m lab trees``. A size added later is read from
its configuration, which imports transformers. Whether the feed-forward block has a gate is read from the module tree. A
network that is not a stack of equal layers has no shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from core import anatomy, catalogue
from core.anatomy.build import configuration, named, of_record
from core.anatomy.meaning import pieces
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of
from core.catalogue.schema import Size, System
from core.checkpoints.families.architectures import has
from core.run.model import Config

Side = Literal["encoder", "decoder"]
StackKind = Literal["encoder", "decoder", "encoder-decoder"]


@dataclass(frozen=True, slots=True)
class LayerShape:
    """The layers of an encoder or a decoder. A network without attention has ``heads`` 0."""

    side: Side
    layers: int
    """Layers that a token passes through; a shared layer counts each time."""
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    """Dimension of a query or key in one head."""
    value_dim: int
    """Dimension of a value in one head."""
    ffn: int
    """Feed-forward size; with experts, the sum over those that one token uses."""
    gated: bool
    cross: bool
    """Whether the layers have cross-attention."""
    spans: tuple[int, ...]
    """The most keys that a query attends to, per layer; 0: all keys."""
    cached: int
    """Values that one token adds to the cache of one layer: keys and values, or the latent for both."""
    constant: int = 0
    """Values that one layer caches for a text of any length (the state of a state-space model)."""
    memory: int = 0
    """Keys of earlier segments (Transformer-XL)."""

    def keys(self, length: int) -> list[int]:
        """The keys that a query attends to in each layer, for a text of ``length`` tokens."""
        available = length + self.memory
        return [min(available, span) if span else available for span in self.spans]


@dataclass(frozen=True, slots=True)
class Shape:
    """A size: its stacks (the encoder first), and what is outside them."""

    stacks: tuple[LayerShape, ...]
    vocabulary: int
    embedding: int
    """Dimension of the token embeddings, before their projection to the hidden size, if any."""
    positions: int
    """Rows of the position table, or the longest text of a model without one; 0 where the configuration has neither."""
    segments: int
    tied: bool
    experts: int = 0
    """Experts of a layer, 0 without any."""
    active: int = 0
    """Experts that one token uses."""
    uses: float = 1.0
    """How often each stored layer is applied (ALBERT: 12)."""

    @property
    def main(self) -> LayerShape:
        """The decoder, or the only stack."""
        return self.stacks[-1]

    @property
    def kind(self) -> StackKind:
        """Its stacks in a word."""
        return "encoder-decoder" if self.two_sided else self.main.side

    @property
    def two_sided(self) -> bool:
        """Whether it has an encoder and a decoder."""
        return len(self.stacks) > 1

    @property
    def generates(self) -> bool:
        """Whether it generates token by token, so that it has a cache."""
        return self.main.side == "decoder"

    def source(self, length: int) -> int:
        """The source tokens beside ``length`` target tokens: as many, or 0 where there is no encoder beside."""
        return length if self.two_sided else 0


def usual_length(shape: Shape) -> int:
    """The initial text length: the largest power of two within the positions, at most 2,048; 512 without positions."""
    most = shape.positions or 512
    return min(2048, 1 << (most.bit_length() - 1))


# Fields of configurations that transformers does not map to one name (`attribute_map`).
_FFN = ("intermediate_size", "ffn_dim", "d_ff", "d_inner", "n_inner", "dff", "hidden_dim", "feed_forward_size")
_HEAD_DIM = ("head_dim", "d_head", "attention_head_size")
_EXPERTS = ("num_local_experts", "num_experts")
_CAUSAL = ("LMHeadModel", "ForCausalLM", "ModelWithLMHead")


def shape_of_config(config: Config, architecture: str, branch: str, root: ModuleNode) -> Shape:
    """The shape behind a configuration.

    Args:
        config: an instance of a transformers configuration.
        architecture: the class that is built from it.
        branch: the system's branch, which decides where an architecture can be an encoder or a decoder.
        root: the tree of the network.

    Raises AttributeError where the configuration describes no stack of layers.
    """
    gated = any(not {"gate", "experts"}.isdisjoint(piece.part.slugs) for piece in pieces(root))  # experts have one, too
    if hasattr(config, "encoder") and hasattr(config.encoder, "model_type"):
        halves = (
            _stack(config.encoder, "encoder", gated=gated, cross=False),
            _stack(config.decoder, "decoder", gated=gated, cross=True),
        )
        return _shape(config.decoder, halves)
    if getattr(config, "is_encoder_decoder", False):
        sides: tuple[Side, Side] = ("encoder", "decoder")
        stacks = tuple(_stack(config, side, gated=gated, cross=side == "decoder") for side in sides)
        return _shape(config, stacks)
    writes = branch == "decoder" or (branch != "encoder" and architecture.endswith(_CAUSAL))
    side: Side = "decoder" if writes else "encoder"
    return _shape(config, (_stack(config, side, gated=gated, cross=False),))


def _shape(config: Config, stacks: tuple[LayerShape, ...]) -> Shape:
    groups = getattr(config, "num_hidden_groups", 0)
    experts = int(_first(config, _EXPERTS) or 0)
    return Shape(
        stacks=stacks,
        vocabulary=config.vocab_size,
        embedding=getattr(config, "embedding_size", 0) or stacks[-1].width,
        positions=max(0, int(getattr(config, "max_position_embeddings", 0) or 0)),
        segments=getattr(config, "type_vocab_size", 0) or 0,
        tied=bool(getattr(config, "tie_word_embeddings", False)),
        experts=experts,
        active=int(getattr(config, "num_experts_per_tok", 0) or 0) if experts else 0,
        uses=stacks[-1].layers / groups if groups else 1.0,
    )


def _stack(config: Config, side: Side, *, gated: bool, cross: bool) -> LayerShape:
    if len(set(getattr(config, "layers_block_type", ()))) > 1:
        raise AttributeError(f"{type(config).__name__} describes layers of several kinds")
    width = int(config.hidden_size)
    layers = int(_side(config, side, "layers") or _t5(config, side) or config.num_hidden_layers)
    heads = int(_side(config, side, "attention_heads") or getattr(config, "num_attention_heads", 0))
    if not heads:  # a state-space model, whose state does not grow with the text
        inner = int(getattr(config, "intermediate_size", 0) or 0)
        state = inner * (getattr(config, "state_size", 0) + getattr(config, "conv_kernel", 0))
        return LayerShape(side, layers, width, 0, 0, 0, 0, inner, gated, cross, (0,) * layers, 0, constant=state)
    kv_heads = int(getattr(config, "num_key_value_heads", 0) or heads)
    latent = int(getattr(config, "kv_lora_rank", 0) or 0)
    if latent:
        head_dim, value_dim = config.qk_nope_head_dim + config.qk_rope_head_dim, config.v_head_dim
        cached = latent + config.qk_rope_head_dim
    else:
        head_dim = value_dim = int(_first(config, _HEAD_DIM) or width // heads)
        cached = 2 * kv_heads * head_dim
    return LayerShape(
        side=side,
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        value_dim=value_dim,
        ffn=_ffn(config, side, width),
        gated=gated,
        cross=cross,
        spans=_spans(config, side, layers),
        cached=cached,
        memory=int(getattr(config, "mem_len", 0) or 0) if has(config, "memory") else 0,
    )


def _ffn(config: Config, side: Side, width: int) -> int:
    dense = int(_side(config, side, "ffn_dim") or _first(config, _FFN) or 4 * width)
    active = int(getattr(config, "num_experts_per_tok", 0) or 0)
    if not active or not _first(config, _EXPERTS):
        return dense
    expert = int(getattr(config, "moe_intermediate_size", 0) or dense)
    return expert * (active + int(getattr(config, "n_shared_experts", 0) or 0))


def _spans(config: Config, side: Side, layers: int) -> tuple[int, ...]:
    """The most keys that a query attends to, per layer; 0: all keys."""
    window = int(getattr(config, "sliding_window", 0) or getattr(config, "local_attention", 0) or 0)
    match config.model_type:
        case "gpt_neo":
            return tuple(config.window_size if kind == "local" else 0 for kind in config.attention_layers)
        case "longformer":
            windows = config.attention_window
            return tuple(width + 1 for width in (windows if isinstance(windows, list) else [windows] * layers))
        case "big_bird" | "bigbird_pegasus" if side == "encoder" and config.attention_type == "block_sparse":
            # three blocks of the window, two of the global tokens, and the random ones
            return ((5 + config.num_random_blocks) * config.block_size,) * layers
        case "reformer":
            return tuple(_chunks(config, kind) for kind in config.attn_layers)
        case "modernbert":
            window = config.local_attention + 1
    kinds = getattr(config, "layer_types", None)
    if window and kinds:
        return tuple(window if "sliding" in kind else 0 for kind in kinds)
    if window and getattr(config, "use_sliding_window", True):
        return (window,) * layers
    return (0,) * layers


def _chunks(config: Config, kind: str) -> int:
    """Keys of a query in Reformer: those of its chunk and of the neighboring ones, in each round of hashing."""
    before, after = (getattr(config, f"{kind}_num_chunks_{side}") for side in ("before", "after"))
    chunk: int = getattr(config, f"{kind}_attn_chunk_length") or 64
    rounds: int = config.num_hashes if kind == "lsh" else 1
    return chunk * (1 + int(before) + int(after)) * rounds


def _side(config: Config, side: Side, name: str) -> Any:
    """``encoder_layers`` and the like, of an encoder-decoder's configuration."""
    return getattr(config, f"{side}_{name}", None) if getattr(config, "is_encoder_decoder", False) else None


def _t5(config: Config, side: Side) -> Any:
    return getattr(config, "num_decoder_layers", None) if side == "decoder" else None


def _first(config: Config, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := getattr(config, name, None))), None)


STORED = Path(__file__).parent / "data" / "shapes.json"


def shape_of(slug: str, size: str | None = None) -> Shape | None:
    """The shape of one size of a system (by default its default size); None for a network without one.

    Raises :class:`core.errors.UnknownSystem` or :class:`core.errors.OutOfRange`, as the catalogue does, and
    :class:`core.errors.RecordUnusable` where no network can be built from the record.
    """
    chosen = size_of(slug, size)
    key = f"{slug} {chosen.name}"
    return stored_shapes()[key] if key in stored_shapes() else _live(slug, chosen.name)


@lru_cache(maxsize=256)
def _live(slug: str, name: str) -> Shape | None:
    return read_shape(catalogue.get(slug), size_of(slug, name))


def read_shape(system: System, size: Size) -> Shape | None:
    """The shape from the configuration; imports transformers."""
    with of_record(system.slug, size.name):
        settings = configuration(size.config, size.overrides, named(size.architecture))
    try:
        return shape_of_config(settings, size.architecture, system.branch, anatomy.tree(system.slug, size.name))
    except AttributeError:
        return None


@lru_cache(maxsize=1)
def stored_shapes() -> dict[str, Shape | None]:
    if not STORED.is_file():
        return {}
    return TypeAdapter(dict[str, Shape | None]).validate_json(STORED.read_text(encoding="utf-8"))
