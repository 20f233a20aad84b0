"""From a configuration of transformers to a :class:`Shape`. The classes call the same thing by many names.

What the configuration does not say is read from the tree: whether the feed-forward block has a gate.
"""

from __future__ import annotations

from typing import Any

from core.anatomy.node import ModuleNode
from core.costs.shape import Kind, Shape, Side, Stack

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
        stacks = tuple(_stack(config, side, gated=gated, cross=side == "decoder") for side in _SIDES)
        return _shape(config, "encoder-decoder", stacks)
    writes = branch == "decoder" or (branch != "encoder" and architecture.endswith(_CAUSAL))
    side: Side = "decoder" if writes else "encoder"
    return _shape(config, side, (_stack(config, side, gated=gated, cross=False),))


_SIDES: tuple[Side, Side] = ("encoder", "decoder")


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
        uses=stacks[-1].layers / groups if groups else 1,
    )


def _stack(config: Any, side: Side, *, gated: bool, cross: bool) -> Stack:
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
