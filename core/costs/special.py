"""The costs of networks that are not one stack of attention layers: two towers, LSTMs, and Mamba's layers.

**Two towers** that meet in one space (CLIP, Radford et al. 2021), each by itself. A text tower reads s tokens, an image
tower a learned vector and one for each square of p × p pixels, so that its s = (side / p)² + 1. With the stack's own N,
L and d, and P numbers in the common space, a forward pass of one text or one image costs

    2 · s · N  +  4 · L · s² · d  +  2 · (s - 1) · 3 p² · d  +  2 · d · P    operations

of which the third term, the squares mapped to vectors, is the image tower's alone. All s × s scores count, causal or
not. The tree says all but the number of heads, which is the record's.

**A word in a network of LSTMs** that reads letters (ELMo, Peters et al. 2018). An LSTM multiplies every weight once a
step, so a word costs 2 operations for each of them. With c units, inputs and projections of d numbers, and L layers in
each of two directions:

    2 · 2 · L · (8 c d + c d)  =  36 · L · c · d    operations

A convolution over w letters with f filters of e numbers stands at n - w + 1 places of a word that is filled up to n
letters, and what follows the letters is multiplied once a word:

    2 · Σ f · w · e · (n - w + 1)  +  2 · (weights of highways and projection)

Sigmoids, sums and the largest of the places are left out. Nothing here grows with the length of the text.

For the way back an LSTM keeps of each word what came in (d) and the projected state before it (d), its four gates
(4 c), the cell, the cell bent, and that times the last gate (3 c), with 16 bits a number:

    2 · 2 · L · (2 d + 7 c)    bytes

What the letters keep is left out, as the embeddings of other networks are.

**What a layer of Mamba keeps of a token** for the backward pass (Gu & Dao 2023). With width d, inner width e, n states
for each of the e channels and a step of rank r, in 16 bits a number:

    2 (2 d + 9 e + r + 2 n)  bytes

that is what came into the norm and what left it, and of the inner width what enters and leaves the convolution, what
the scan reads, its steps before and after they are made positive, what it gives, the gate before and after it is bent,
and their product; the states themselves, n e numbers a token, are computed again from what the scan reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from core import anatomy
from core.anatomy.node import ModuleNode
from core.anatomy.store import size_of
from core.costs.flops import Work, forward
from core.costs.shape import Shape, Stack

_PARTS = (
    ("text", "text_model", "text_config", "text_projection"),
    ("image", "vision_model", "vision_config", "visual_projection"),
)


@dataclass(frozen=True, slots=True)
class Tower:
    """One of the two: its stack, the tokens that it reads, and what its ends weigh."""

    name: str
    shape: Shape
    root: ModuleNode
    tokens: int
    squares: int
    """Weights that map one square of pixels to a vector; 0 in the text tower."""
    projection: int
    """Weights from the tower's one feature to the common space."""

    @property
    def reads(self) -> str:
        """What it is given: ``a text of 77 tokens``."""
        if not self.squares:
            return f"a text of {self.tokens:,} tokens"
        return f"an image of {self.tokens - 1:,} image patches and the class token"

    @property
    def forward(self) -> Work:
        """A pass over one text or one image."""
        stack = forward(self.shape, self.root, self.tokens)
        return Work(stack.matrices + 2 * ((self.tokens - 1) * self.squares + self.projection), stack.attention)


def towers(slug: str, size: str | None = None) -> tuple[Tower, ...]:
    """The text tower and the image tower of a size; empty for a network that is not built so."""
    chosen = size_of(slug, size)
    root = anatomy.tree(slug, chosen.name)
    found = []
    for name, part, settings, ending in _PARTS:
        tower, last, values = root.find(part), root.find(ending), chosen.overrides.get(settings, {})
        if tower is None or last is None or "num_attention_heads" not in values:
            return ()
        found.append(_tower(name, tower, last, int(values["num_attention_heads"])))
    return tuple(found)


def _tower(name: str, root: ModuleNode, ending: ModuleNode, heads: int) -> Tower:
    shapes = {node.name: node.tensors[0][1] for _, node, _ in root.walk() if node.tensors}
    layers = sum(copies for _, node, copies in root.walk() if node.name == "self_attn")
    tokens = shapes["position_embedding"][0]
    ffn, width = shapes["fc1"]
    stack = Stack(
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
        kept=2 * width,
    )
    shape = Shape(
        kind="encoder",
        stacks=(stack,),
        vocabulary=shapes.get("token_embedding", (0,))[0],
        embedding=width,
        positions=tokens,
        segments=0,
        tied=False,
    )
    return Tower(name, shape, root, tokens, prod(shapes.get("patch_embedding", (0,))), prod(ending.tensors[0][1]))


LETTERS = 50
"""Letters of a word, shorter ones filled up: the published code's ``max_characters_per_token``."""


@dataclass(frozen=True, slots=True)
class WordWork:
    """Operations of a forward pass for one word."""

    letters: float
    recurrent: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.letters + self.recurrent


def word_work(slug: str, size: str | None = None) -> WordWork | None:
    """What one word costs; None for a network without LSTMs."""
    return of_tree(anatomy.tree(slug, size))


def activation_bytes_per_word(root: ModuleNode) -> float:
    """Bytes that all LSTMs of a tree keep of one word for the way back; 0 for a tree without them."""
    kept = 0
    for _, node, copies in root.walk():
        if "LSTM" in node.cls:
            projected, units = next(child.tensors[0][1] for child in node.children if child.name == "projection")
            came = next(child.tensors[0][1][1] for child in node.children if child.name == "from_input")
            kept += copies * (came + projected + 7 * units)
    return 2.0 * kept


def of_tree(root: ModuleNode) -> WordWork | None:
    """The same for a tree."""
    letters = recurrent = 0.0
    for path, node, copies in root.walk():
        if node.cls not in ("Linear", "Conv1d") or not node.tensors:
            continue
        shape = node.tensors[0][1]
        times = LETTERS - shape[2] + 1 if node.cls == "Conv1d" else 1
        work = 2.0 * copies * prod(shape) * times
        if path.startswith("embeddings"):
            letters += work
        else:
            recurrent += work
    has_lstm = any("LSTM" in node.cls for _, node, _ in root.walk())
    return WordWork(letters, recurrent) if has_lstm else None


def activation_bytes_per_token(root: ModuleNode) -> float:
    """Bytes that all layers of a tree keep of one token; 0 for a tree without such layers."""
    return 2.0 * sum(
        copies * (2 * width + 9 * inner + rank + 2 * states) for copies, width, inner, rank, states in _mixers(root)
    )


def state_bytes_per_token(root: ModuleNode) -> float:
    """Bytes of the states of a token in all layers, if they were kept: n e numbers each."""
    return 2.0 * sum(copies * inner * states for copies, _, inner, _, states in _mixers(root))


def _mixers(root: ModuleNode) -> Iterator[tuple[int, int, int, int, int]]:
    """Of each layer of Mamba its copies, d, e, r and n."""
    for _, node, copies in root.walk():
        inside = {child.name: child.tensors[0][1] for child in node.children if child.cls == "Linear"}
        if {"in_proj", "x_proj", "dt_proj"} <= inside.keys():
            inner, rank = inside["dt_proj"]
            yield copies, inside["in_proj"][1], inner, rank, (inside["x_proj"][0] - rank) // 2
