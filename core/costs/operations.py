"""Floating-point operations of a pass, and the costs of networks that are not one stack of attention layers.

A pass takes 2N for the matrices, and the operations of attention:

    forward, per token    2 N + 2 · Σ over layers of  w_l · a · (d_k + d_v)
    training              three times that: the backward pass costs two forward passes

N counts the weights of every matrix that a token is multiplied with (twice where a matrix is applied twice, k / X of
the experts where a token is routed to k of X), without lookup tables. w_l is the number of keys a query attends to.
With a · d_k = a · d_v = d and full attention, the second term is 4 · L · s · d; then training is the 6N + 12LHQT of
Chowdhery et al. 2022, appendix B. All s × s scores count, causal or not, as a matrix product computes them. Norms,
softmax and activations are left out: they grow with the hidden size, not with its square.

Other networks are CLIP's two towers, LSTMs, and Mamba's layers.

**Two towers** with a shared embedding space (CLIP, Radford et al. 2021), each by itself. The text tower reads s tokens,
the image tower a class token and the patches of p × p pixels, so s = (side / p)² + 1. With the N, L and d of the tower
and P dimensions of the shared space, a forward pass of one text or one image costs

    2 · s · N  +  4 · L · s² · d  +  2 · (s - 1) · 3 p² · d  +  2 · d · P    operations

of which the third term, the patch embeddings, is the image tower's alone. All s × s scores count, causal or not. The
number of heads comes from the record, everything else from the module tree.

**A word in a character-based network of LSTMs** (ELMo, Peters et al. 2018). A step of an LSTM multiplies every weight
once, so a word costs 2 operations per weight. With c units, inputs and projections of dimension d, and L layers in each
of two directions:

    2 · 2 · L · (8 c d + c d)  =  36 · L · c · d    operations

A convolution of width w with f filters over character embeddings of dimension e is applied at n - w + 1 positions of a
word padded to n characters; the highway layers and the projection are applied once per word:

    2 · Σ f · w · e · (n - w + 1)  +  2 · (weights of highways and projection)

Sigmoids, sums and max-pooling are left out. The cost per word does not depend on the length of the text.

For the backward pass an LSTM stores of each word its input (d), the previous projected state (d), the four gates (4 c),
the cell, its tanh, and that times the output gate (3 c), with 2 bytes per value:

    2 · 2 · L · (2 d + 7 c)    bytes

Activations of the character embeddings are left out, as those of other networks' embeddings are.

**Activations of a Mamba layer**, per token (Gu & Dao 2023). With hidden size d, inner size e, state size n for each of
the e channels and a step Δ of rank r, with 2 bytes per value:

    2 (2 d + 9 e + r + 2 n)  bytes

that is the input and the output of the norm (2 d) and, of inner size e, the input and the output of the convolution,
the input of the scan, Δ before and after the softplus, the scan's output, the gate before and after SiLU, and their
product. The states, n e values per token, are recomputed from the input of the scan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from core import anatomy
from core.anatomy.meaning import NamedPart, Step, meaning, pieces
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of
from core.costs.shape import LayerShape, Shape
from core.words import counted

TRAINING = 3
"""Operations of a training step, in forward passes."""

_LOOKED_UP = re.compile(r"\w*Embedding(s)?")
_NOT_PER_TOKEN = frozenset({"pooler", "sentences", "global"})
"""Components that process one token per text, or global tokens alone (Longformer)."""
_NO_MATRIX = re.compile(r".*(bias|emb).*")


@dataclass(frozen=True, slots=True)
class Work:
    """Operations of one pass over one text."""

    matrices: float
    attention: float

    @property
    def total(self) -> float:
        return self.matrices + self.attention

    @property
    def training(self) -> Work:
        """The training step that has this forward pass, without recomputation."""
        return Work(TRAINING * self.matrices, TRAINING * self.attention)


def forward(shape: Shape, root: ModuleNode, tokens: int, source: int = 0) -> Work:
    """A pass over one text of ``tokens`` tokens; the encoder of an encoder-decoder reads ``source`` tokens besides."""
    weights = {"source": 0.0, "target": 0.0}  # N of a token of the encoder, and of one of the decoder
    _walk(root, shape, (("", root.cls),), 1.0, weights)
    if not shape.two_sided:
        source = tokens
    matrices = 2 * (weights["source"] * source + weights["target"] * tokens)
    attention = 0.0
    for stack in shape.stacks:
        here = source if stack.side == "encoder" else tokens
        both = stack.heads * (stack.head_dim + stack.value_dim)
        attention += 2 * here * both * sum(stack.keys(here))
        if stack.cross:
            attention += 2 * here * both * source * stack.layers
    return Work(matrices, attention)


def _walk(node: ModuleNode, shape: Shape, steps: tuple[Step, ...], times: float, weights: dict[str, float]) -> None:
    times *= node.repeat
    if _LOOKED_UP.fullmatch(node.cls):
        return
    if node.cls == "AlbertLayerGroup":
        times *= shape.uses
    for name, extents in node.tensors:
        part = meaning(steps, name)
        if len(extents) > 1 and not _NO_MATRIX.fullmatch(name) and _NOT_PER_TOKEN.isdisjoint(part.slugs):
            share = shape.active / shape.experts if part.slugs == ("experts",) else 1.0
            weights[_side(steps, part)] += times * share * prod(extents)
    for child in node.children:
        _walk(child, shape, (*steps, (child.name, child.cls)), times, weights)


def _side(steps: tuple[Step, ...], part: NamedPart) -> str:
    """Whether a matrix multiplies tokens of the source or of the target; the target where its path names none."""
    if part.group == "cross" and {"keys", "values"}.issuperset(part.slugs):
        return "source"
    half = next((name for name, _ in steps if name in ("encoder", "decoder")), "decoder")
    return "source" if half == "encoder" else "target"


_PARTS = (
    ("text", "text_model", "text_config", "text_projection"),
    ("image", "vision_model", "vision_config", "visual_projection"),
)


@dataclass(frozen=True, slots=True)
class Tower:
    """The text tower or the image tower: its layers, its tokens, and the weights before and after the layers."""

    name: str
    shape: Shape
    root: ModuleNode
    tokens: int
    patch_weights: int
    """Weights of the patch embedding; 0 in the text tower."""
    projection: int
    """Weights of the projection to the shared space."""

    @property
    def reads(self) -> str:
        """Its input in words: ``a text of 77 tokens``."""
        if not self.patch_weights:
            return f"a text of {counted(self.tokens, 'token')}"
        return f"an image of {self.tokens - 1:,} image patches and the class token"

    @property
    def forward(self) -> Work:
        """A forward pass over one text or one image."""
        stack = forward(self.shape, self.root, self.tokens)
        return Work(stack.matrices + 2 * ((self.tokens - 1) * self.patch_weights + self.projection), stack.attention)


def towers(slug: str, size: str | None = None) -> tuple[Tower, ...]:
    """The text tower and the image tower of a size; empty for other networks."""
    chosen = size_of(slug, size)
    root = anatomy.tree(slug, chosen.name)
    pair = []
    for name, part, settings, ending in _PARTS:
        tower, last, values = root.find(part), root.find(ending), chosen.overrides.get(settings, {})
        if tower is None or last is None or "num_attention_heads" not in values:
            return ()
        pair.append(_tower(name, tower, last, int(values["num_attention_heads"])))
    return tuple(pair)


def _tower(name: str, root: ModuleNode, ending: ModuleNode, heads: int) -> Tower:
    components = {(piece.part.group, piece.part.slugs[0]): piece for piece in pieces(root) if piece.tensors}
    shapes = {component: piece.tensors[0][1] for component, piece in components.items()}
    layers = components["attention", "output"].copies
    tokens = shapes["embeddings", "positions"][0]
    ffn, width = shapes["feed-forward", "in"]
    patch = shapes.get(("embeddings", "patches"), (0,))
    stack = LayerShape(
        side="encoder",
        layers=layers,
        width=width,
        heads=heads,
        kv_heads=heads,
        head_dim=width // heads,
        value_dim=width // heads,
        ffn=ffn,
        gated=False,
        cross=False,
        spans=(0,) * layers,
        cached=2 * width,
    )
    shape = Shape(
        stacks=(stack,),
        vocabulary=shapes.get(("embeddings", "words"), (0,))[0],
        embedding=width,
        positions=tokens,
        segments=0,
        tied=False,
    )
    return Tower(name, shape, root, tokens, prod(patch), prod(ending.tensors[0][1]))


LETTERS = 50
"""Characters of a padded word: ``max_characters_per_token`` of the published code."""


@dataclass(frozen=True, slots=True)
class WordWork:
    """Operations of a forward pass for one word."""

    letters: float
    recurrent: float

    @property
    def total(self) -> float:
        return self.letters + self.recurrent


def word_work(slug: str, size: str | None = None) -> WordWork | None:
    """Operations of one word; None for a network without LSTMs."""
    return of_tree(anatomy.tree(slug, size))


def activation_bytes_per_word(root: ModuleNode) -> float:
    """Bytes of activations that the LSTMs of a tree store per word; 0 for a tree without LSTMs."""
    values = 0
    for _, node, copies in root.walk():
        if "LSTM" in node.cls:
            projected, units = next(child.tensors[0][1] for child in node.children if child.name == "projection")
            inputs = next(child.tensors[0][1][1] for child in node.children if child.name == "from_input")
            values += copies * (inputs + projected + 7 * units)
    return 2.0 * values


def of_tree(root: ModuleNode) -> WordWork | None:
    """:func:`word_work` of a module tree."""
    work = {"embeddings": 0.0, "recurrence": 0.0}
    for piece in pieces(root):
        if piece.cls in ("Linear", "Conv1d") and piece.part.group in work:
            shape = piece.tensors[0][1]
            times = LETTERS - shape[2] + 1 if piece.cls == "Conv1d" else 1
            work[piece.part.group] += 2.0 * piece.copies * prod(shape) * times
    return WordWork(work["embeddings"], work["recurrence"]) if work["recurrence"] else None


def activation_bytes_per_token(root: ModuleNode) -> float:
    """Bytes of activations that the Mamba layers of a tree store per token; 0 for a tree without them."""
    return 2.0 * sum(
        copies * (2 * width + 9 * inner + rank + 2 * states) for copies, width, inner, rank, states in _mixers(root)
    )


def state_bytes_per_token(root: ModuleNode) -> float:
    """Bytes that the states of one token would take in all layers, if they were stored: n e values per layer."""
    return 2.0 * sum(copies * inner * states for copies, _, inner, _, states in _mixers(root))


def _mixers(root: ModuleNode) -> Iterator[tuple[int, int, int, int, int]]:
    """For each Mamba layer: copies, d, e, r and n."""
    for _, node, copies in root.walk():
        inside = {child.name: child.tensors[0][1] for child in node.children if child.cls == "Linear"}
        if {"in_proj", "x_proj", "dt_proj"} <= inside.keys():
            inner, rank = inside["dt_proj"]
            yield copies, inside["in_proj"][1], inner, rank, (inside["x_proj"][0] - rank) // 2
