"""The layout of a size as far as its costs need it: small frozen data, stored as JSON, so that costs need no torch.

A network is one stack of layers (an encoder or a decoder) or two. In one layer, a heads compare vectors of d_k numbers
and carry home d_v numbers each; g of the a heads have keys and values of their own.

``data/shapes.json`` has a line a size, made by ``python -m core tree --write``. A size that was added since is read
from its configuration, which imports transformers; the classes call the same thing by many names. What a configuration
does not say is read from the tree: whether the feed-forward block has a gate. A network that is no stack has no shape.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from core import anatomy, catalogue
from core.anatomy.build import configuration, named, of_record
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of
from core.catalogue.schema import Size, System

Side = Literal["encoder", "decoder"]
Kind = Literal["encoder", "decoder", "encoder-decoder"]


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers of one side. A network without attention has ``heads`` 0."""

    side: Side
    layers: int
    """Layers that a token passes, shared ones counted each time."""
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    """Numbers of a query or key in one head."""
    value_dim: int
    """Numbers of a value in one head."""
    ffn: int
    """Width of the feed-forward block, of all the experts together that one token uses."""
    gated: bool
    cross: bool
    """Whether the layers also look at the other side."""
    spans: tuple[int, ...]
    """Keys that a token can see at most, for each layer; 0 where it can see all there are."""
    kept: int
    """Numbers that one token leaves in the cache of one layer: keys and values, or the latent that stands for both."""
    constant: int = 0
    """Numbers that one layer keeps for a text of any length (a state space's state)."""
    memory: int = 0
    """Keys of earlier segments that stand before the text (Transformer-XL)."""

    def keys(self, length: int) -> list[int]:
        """How many keys a token looks at in each layer when the text has ``length`` tokens."""
        seen = length + self.memory
        return [min(seen, span) if span else seen for span in self.spans]


@dataclass(frozen=True, slots=True)
class Shape:
    """A size: its stacks (the encoder first), and what lies outside them."""

    kind: Kind
    stacks: tuple[Stack, ...]
    vocabulary: int
    embedding: int
    """Numbers of a word's vector before it is widened, where it is; else the width."""
    positions: int
    """Rows of the position table, or the longest text of a model without one; 0 where nothing says."""
    segments: int
    tied: bool
    experts: int = 0
    """Experts of a layer, 0 without any."""
    active: int = 0
    """Experts that one token uses."""
    uses: float = 1.0
    """How often each stored layer is applied (ALBERT: 12)."""

    def stack(self, side: Side) -> Stack | None:
        """The stack of that side, or None."""
        return next((stack for stack in self.stacks if stack.side == side), None)

    @property
    def main(self) -> Stack:
        """The stack that writes, or the only one."""
        return self.stacks[-1]


def usual_length(shape: Shape) -> int:
    """A length to begin with: the largest power of two that the positions allow, at most 2,048; 512 without any."""
    most = shape.positions or 512
    return min(2048, 1 << (most.bit_length() - 1))


_LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
_WIDTH = ("hidden_size", "d_model", "n_embd", "emb_dim", "dim")
_HEADS = ("num_attention_heads", "num_heads", "n_heads", "n_head")
_FFN = ("intermediate_size", "ffn_dim", "d_ff", "d_inner", "n_inner", "dff", "hidden_dim", "feed_forward_size")
_HEAD_DIM = ("head_dim", "d_kv", "d_head", "attention_head_size")
_POSITIONS = ("max_position_embeddings", "n_positions")
_EXPERTS = ("num_local_experts", "n_routed_experts", "num_experts")
_GATES = frozenset({"gate_proj", "wi_0", "gate_up_proj", "Wi"})
_CAUSAL = ("LMHeadModel", "ForCausalLM", "ModelWithLMHead")


def read(config: Any, architecture: str, branch: str, root: ModuleNode) -> Shape:
    """The shape behind a configuration.

    Args:
        config: an instance of a transformers configuration.
        architecture: the class that is built from it.
        branch: the system's branch, which says what an architecture with two readings is used for.
        root: the tree of the network.

    Raises AttributeError where the configuration describes no stack of layers.
    """
    gated = any(node.name in _GATES or "gate_up_proj" in dict(node.tensors) for _, node, _ in root.walk())
    if hasattr(config, "encoder") and hasattr(config.encoder, "model_type"):
        halves = (
            _stack(config.encoder, "encoder", gated=gated, cross=False),
            _stack(config.decoder, "decoder", gated=gated, cross=True),
        )
        return _shape(config.decoder, "encoder-decoder", halves)
    if getattr(config, "is_encoder_decoder", False):
        sides: tuple[Side, Side] = ("encoder", "decoder")
        stacks = tuple(_stack(config, side, gated=gated, cross=side == "decoder") for side in sides)
        return _shape(config, "encoder-decoder", stacks)
    writes = branch == "decoder" or (branch != "encoder" and architecture.endswith(_CAUSAL))
    side: Side = "decoder" if writes else "encoder"
    return _shape(config, side, (_stack(config, side, gated=gated, cross=False),))


def _shape(config: Any, kind: Kind, stacks: tuple[Stack, ...]) -> Shape:
    groups = getattr(config, "num_hidden_groups", 0)
    experts = int(_first(config, _EXPERTS) or 0)
    return Shape(
        kind=kind,
        stacks=stacks,
        vocabulary=config.vocab_size,
        embedding=getattr(config, "embedding_size", 0) or stacks[-1].width,
        positions=max(0, int(_first(config, _POSITIONS) or 0)),
        segments=getattr(config, "type_vocab_size", 0) or 0,
        tied=bool(getattr(config, "tie_word_embeddings", False)),
        experts=experts,
        active=int(getattr(config, "num_experts_per_tok", 0) or 0) if experts else 0,
        uses=stacks[-1].layers / groups if groups else 1.0,
    )


def _stack(config: Any, side: Side, *, gated: bool, cross: bool) -> Stack:
    if len(set(getattr(config, "layers_block_type", ()))) > 1:
        raise AttributeError(f"{type(config).__name__} describes layers of several kinds")
    width = int(_need(config, _WIDTH))
    layers = int(_side(config, side, "layers") or _t5(config, side) or _need(config, _LAYERS))
    heads = int(_side(config, side, "attention_heads") or _first(config, _HEADS) or 0)
    if not heads:  # a state space: what it keeps does not grow
        inner = int(getattr(config, "intermediate_size", 0) or 0)
        state = inner * (getattr(config, "state_size", 0) + getattr(config, "conv_kernel", 0))
        return Stack(side, layers, width, 0, 0, 0, 0, inner, gated, cross, (0,) * layers, 0, constant=state)
    kv_heads = int(getattr(config, "num_key_value_heads", 0) or heads)
    latent = int(getattr(config, "kv_lora_rank", 0) or 0)
    if latent:
        head_dim, value_dim = config.qk_nope_head_dim + config.qk_rope_head_dim, config.v_head_dim
        kept = latent + config.qk_rope_head_dim
    else:
        head_dim = value_dim = int(_first(config, _HEAD_DIM) or width // heads)
        kept = 2 * kv_heads * head_dim
    return Stack(
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
        kept=kept,
        memory=int(getattr(config, "mem_len", 0) or 0) if _remembers(config) else 0,
    )


def _ffn(config: Any, side: Side, width: int) -> int:
    one = int(_side(config, side, "ffn_dim") or _first(config, _FFN) or 4 * width)
    active = int(getattr(config, "num_experts_per_tok", 0) or 0)
    if not active or not _first(config, _EXPERTS):
        return one
    each = int(getattr(config, "moe_intermediate_size", 0) or one)
    return each * (active + int(getattr(config, "n_shared_experts", 0) or 0))


def _spans(config: Any, side: Side, layers: int) -> tuple[int, ...]:
    """Keys that a token sees at most, by layer; 0 for all."""
    window = int(getattr(config, "sliding_window", 0) or getattr(config, "local_attention", 0) or 0)
    match config.model_type:
        case "gpt_neo":
            return tuple(config.window_size if kind == "local" else 0 for kind in config.attention_layers)
        case "longformer":
            wide = config.attention_window
            return tuple(one + 1 for one in (wide if isinstance(wide, list) else [wide] * layers))
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


def _chunks(config: Any, kind: str) -> int:
    """Keys of a token in Reformer: its chunk and the neighbours', in each round of hashing."""
    before, after = (getattr(config, f"{kind}_num_chunks_{way}") for way in ("before", "after"))
    chunk: int = getattr(config, f"{kind}_attn_chunk_length") or 64
    rounds: int = config.num_hashes if kind == "lsh" else 1
    return chunk * (1 + int(before) + int(after)) * rounds


def _side(config: Any, side: Side, name: str) -> Any:
    """``encoder_layers`` and its like, of a configuration that has two sides."""
    return getattr(config, f"{side}_{name}", None) if getattr(config, "is_encoder_decoder", False) else None


def _t5(config: Any, side: Side) -> Any:
    return getattr(config, "num_decoder_layers", None) if side == "decoder" else None


def _first(config: Any, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := getattr(config, name, None))), None)


def _need(config: Any, names: tuple[str, ...]) -> Any:
    found = _first(config, names)
    if found is None:
        raise AttributeError(f"{type(config).__name__} has none of {', '.join(names)}")
    return found


def _remembers(config: Any) -> bool:
    """Whether keys of an earlier segment are looked at: in a Transformer-XL, built of XLNet's class or of ours."""
    return getattr(config, "attn_type", "") == "uni" or config.model_type == "transformer-xl"


STORED = Path(__file__).parent / "data" / "shapes.json"


def shape_of(slug: str, size: str | None = None) -> Shape | None:
    """The shape of a system at one of its sizes (its default size without one); None where it has none.

    Raises :class:`core.errors.UnknownSystem` or :class:`core.errors.OutOfRange`, as the catalogue has it, and
    :class:`core.errors.RecordUnusable` where the record makes no network.
    """
    chosen = size_of(slug, size)
    key = f"{slug} {chosen.name}"
    return _stored()[key] if key in _stored() else _live(slug, chosen.name)


@lru_cache(maxsize=256)
def _live(slug: str, name: str) -> Shape | None:
    return read_shape(catalogue.get(slug), size_of(slug, name))


def read_shape(system: System, size: Size) -> Shape | None:
    """The shape as the configuration of transformers has it; imports transformers."""
    with of_record(system.slug, size.name):
        settings = configuration(size.config, size.overrides, named(size.architecture))
    try:
        return read(settings, size.architecture, system.branch, anatomy.tree(system.slug, size.name))
    except AttributeError:
        return None


def write_all(path: Path = STORED) -> int:
    """Read every size of every system and write the file; returns how many sizes have a shape."""
    rows = {
        f"{system.slug} {size.name}": read_shape(system, size)
        for system in catalogue.systems()
        for size in system.sizes
    }
    path.write_text(dump(rows), encoding="utf-8")
    _stored.cache_clear()
    return sum(shape is not None for shape in rows.values())


def dump(shapes: dict[str, Shape | None]) -> str:
    """The text of the file: one line a size."""
    rows = [
        f"{json.dumps(key)}: {json.dumps(shape and asdict(shape), separators=(',', ':'))}"
        for key, shape in shapes.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


@lru_cache(maxsize=1)
def _stored() -> dict[str, Shape | None]:
    if not STORED.is_file():
        return {}
    return TypeAdapter(dict[str, Shape | None]).validate_json(STORED.read_text(encoding="utf-8"))
