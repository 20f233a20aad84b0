"""Where the editor starts: a published size in its boxes, as nearly as they hold it.

What a class has on top and how it places norms and biases is named here by its family; the numbers come from the kept
shape and tree. A system with parts that the editor has no box for (disentangled attention, adapters, experts, a second
set of projections) starts near its own count, and the page shows both.
"""

from __future__ import annotations

from core import anatomy
from core.anatomy.node import ModuleNode
from core.anatomy.sizes import size_of
from core.costs.configuration import Configuration, Head, Positions
from core.costs.keep import shape_of
from core.errors import OutOfRange

_STYLES = (
    ("GPT2", "gpt-2"), ("OpenAIGPT", "gpt"), ("GPTNeo", "gpt-neo"), ("GPTJ", "gpt-j"), ("CTRL", "ctrl"),
    ("Llama", "llama"), ("Mistral", "llama"), ("Mixtral", "llama"), ("Gemma", "llama"), ("Qwen2", "qwen2"),
    ("Qwen3", "qwen3"), ("Deepseek", "llama"), ("MT5", "t5"), ("T5", "t5"), ("Bart", "bart"), ("MBart", "pegasus"),
    ("BigBirdPegasus", "pegasus"), ("M2M100", "m2m"), ("OPT", "gpt-2"), ("Reformer", "gpt-2"),
)  # fmt: skip
"""How the names of classes begin, and the style that they share; BERT's for all others."""

_SCHEMES: tuple[tuple[Positions, frozenset[str]], ...] = (
    ("rotary", frozenset({"llama", "qwen2", "qwen3", "gpt-j"})),
    ("relative", frozenset({"t5"})),
    ("fixed", frozenset({"m2m", "ctrl"})),
)


def start(slug: str, size: str | None = None) -> Configuration:
    """The editor's first values for a published size.

    Raises :class:`core.errors.OutOfRange` for a network that is not a stack of attention layers, and what the catalogue
    raises for names that it lacks.
    """
    chosen, shape = size_of(slug, size), shape_of(slug, size)
    if shape is None or not shape.main.heads:
        raise OutOfRange(f"{slug} {chosen.name} is no stack of attention layers, so the editor cannot start from it.")
    root = anatomy.tree(slug, chosen.name)
    style = next((name for begin, name in _STYLES if chosen.architecture.startswith(begin)), "bert")
    scheme: Positions = next((name for name, styles in _SCHEMES if style in styles), "learned")
    if scheme == "learned" and not _has(root, "positions"):
        scheme = "fixed"
    stack, first = shape.main, shape.stacks[0]
    plain = stack.width == stack.heads * stack.head_dim
    return Configuration(
        kind=shape.kind,
        layers=first.layers,
        decoder_layers=stack.layers if shape.kind == "encoder-decoder" else 0,
        width=stack.width,
        heads=stack.heads,
        kv_heads=stack.kv_heads,
        head_dim=0 if plain else stack.head_dim,
        ffn=stack.ffn,
        gated=stack.gated,
        vocabulary=shape.vocabulary,
        embedding=0 if shape.embedding == stack.width else shape.embedding,
        positions=shape.positions,
        scheme=scheme,
        segments=shape.segments if _has(root, "segments") else 0,
        tied=shape.tied,
        shared=shape.uses > 1,
        head=_head(chosen.architecture, shape.kind, root),
        style=style,
    )


_TABLES = {
    "positions": ("position_embeddings", "embed_positions", "wpe", "positions_embed"),
    "segments": ("token_type_embeddings",),
}


def _has(root: ModuleNode, what: str) -> bool:
    """Whether the tree has a table of that kind with numbers of its own."""
    return any(node.name in _TABLES[what] and node.own for _, node, _ in root.walk())


def _head(architecture: str, kind: str, root: ModuleNode) -> Head:
    if kind != "encoder":
        return "words"
    if architecture.endswith(("ForMaskedLM", "ForPreTraining")) and not architecture.startswith("Electra"):
        return "masked"
    if any(node.name == "pooler" for _, node, _ in root.walk()):
        return "pooler"
    return "none" if not architecture.endswith("LMHeadModel") else "words"
