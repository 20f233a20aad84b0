"""Two encoders side by side that meet in one space (CLIP, Radford et al. 2021): what each tower costs by itself.

A text tower reads s tokens, an image tower a learned vector and one for each square of p × p pixels, so that its
s = (side / p)² + 1.
With the stack's own N, L and d, and P numbers in the common space, a forward pass of one text or one image costs

    2 · s · N  +  4 · L · s² · d  +  2 · (s - 1) · 3 p² · d  +  2 · d · P    operations

of which the third term, the squares mapped to vectors, is the image tower's alone. All s × s scores count, causal or
not. The tree says all but the number of heads, which is the record's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from core import anatomy
from core.anatomy.node import ModuleNode
from core.anatomy.sizes import size_of
from core.costs.flops import TRAINING, Work, forward
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
        return f"an image of {self.tokens - 1:,} squares and the learned vector"

    @property
    def forward(self) -> Work:
        """A pass over one text or one image."""
        stack = forward(self.shape, self.root, self.tokens)
        return Work(stack.matrices + 2 * ((self.tokens - 1) * self.squares + self.projection), stack.attention)

    @property
    def training(self) -> Work:
        """A step of training on it, without recomputation."""
        there = self.forward
        return Work(TRAINING * there.matrices, TRAINING * there.attention)


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
