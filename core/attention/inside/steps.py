r"""One sub-layer as its tensors, in order: what a block is made of, seen from inside.

Attention (Vaswani et al. 2017) reads X (in a decoder's cross-attention, keys and values read the encoder's Z):

.. math:: Q = X W^Q,\; K = X W^K,\; V = X W^V, \quad S = Q K^\top / \sqrt d, \quad A = \mathrm{softmax}(S + M), \quad
    Y = [A_1 V_1; \dots; A_H V_H]\, W^O

and the feed-forward part :math:`\phi(X W_1 + b_1) W_2 + b_2`, or with a gate
:math:`(\phi(X W_g) \odot X W_1)\, W_2` (Shazeer 2020). Values are the model's own wherever a module gives or takes
them; scores are made anew of what entered them, as no module shows them.

The adapter of a sub-layer as its tensors: what a task adds to what the encoder's part made (Houlsby et al. 2019).

.. math:: U = Y W_d + b_d, \quad H = \mathrm{gelu}(U), \quad Y' = Y + H W_u + b_u

The norm that follows is the task's own, too. Legend: n tokens, w hidden width, m the bottleneck.

Legend: H heads, n tokens, w hidden width, d width of a head, f width inside the feed-forward part, m the bottleneck.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.attention.architectures.blueprint import Blueprint, SubLayer
from core.attention.architectures.layout import AttentionLayer
from core.attention.architectures.recording import Recorder
from core.attention.architectures.scores import AttentionScores, by_head
from core.attention.trace import Floats
from core.content import content

if TYPE_CHECKING:
    from torch import Tensor

Part = Literal["embedding", "attention", "cross-attention", "feed-forward", "end"]
ROWS = ("token", "width")
HEADS = ("head", "token", "width of a head")
MAPS = ("head", "query", "key")


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One tensor of a block."""

    part: Part
    name: str
    formula: str
    """LaTeX."""
    axes: tuple[str, ...]
    """What the axes of ``values`` are."""
    values: Floats
    """Read-only."""
    note: str = ""
    path: str = ""
    """The module that gives it, as the module tree writes it; empty where none does."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of ``values``."""
        return self.values.shape


def step(
    part: Part, name: str, formula: str, values: Tensor, axes: tuple[str, ...] = ROWS, note: str = "", path: str = ""
) -> Step:
    """A step with a copy of ``values``."""
    made = values.detach().float().cpu().numpy().copy()
    made.setflags(write=False)
    assert made.ndim == len(axes), (name, made.shape)
    return Step(part, name, formula, axes, made, note, path)


@dataclass(frozen=True, slots=True)
class Scene:
    """A run that was looked at, and which block of it is meant."""

    recorder: Recorder
    plan: Blueprint
    attn: AttentionLayer
    """The block's own attention."""
    count: int
    """Which call of the block's modules, where layers share them."""
    task: str | None = None
    """Whose adapters run; None where none do."""

    def module(self, path: str) -> Any:
        """The module at a whole path."""
        return self.recorder.model.get_submodule(path)

    def out(self, path: str) -> Tensor:
        """(n, w) what a module gave for the first row."""
        back = self.recorder.calls(path)[self._call(path)].output
        return self.first(back[0] if isinstance(back, tuple) else back)

    def into(self, path: str) -> Tensor:
        """(n, w) what a module read of the first row."""
        return self.first(next(iter(self.recorder.calls(path)[self._call(path)].inputs.values())))

    def first(self, tensor: Tensor) -> Tensor:
        """The first row of a batch; XLNet has tokens before rows, and what is the same for all rows has none."""
        if tensor.dim() < 3:
            return tensor
        return tensor[:, 0] if self.attn.names.score == "two_stream" else tensor[0][: self.recorder.length]

    def bias(self, path: str, name: str) -> str:
        """LaTeX for the bias of a projection, where it has one."""
        return f" + {name}" if getattr(self.module(path), "bias", None) is not None else ""

    def existing(self, *names: str) -> str:
        """The whole path of the first of these that the model has, or ""."""
        paths = (self.attn.path(name) for name in names if name)
        return next((path for path in paths if exists(self.recorder.model, path)), "")

    def _call(self, path: str) -> int:
        return self.count if len(self.recorder.calls(path)) > 1 else 0


def exists(model: Any, path: str) -> bool:
    """Whether a model has a module there."""
    try:
        found: bool = model.get_submodule(path) is not None
    except AttributeError:
        return False
    return found


def attention(scene: Scene, part: Part, attn: AttentionLayer, scores: AttentionScores) -> Iterator[Step]:
    """Queries to output of one attention."""
    if attn.names.score == "lsh":
        yield from _projected(part, attn, scores)
        yield from _scored(part, attn, scores)
        yield from _mixed(scene, part, attn, scores)
        return
    crossing = part == "cross-attention"
    names = [f"{attn.module}.{name.partition(':')[0]}" for name in attn.names.parts.split()] or [attn.module] * 3
    read = ("X", "Z", "Z") if crossing else ("X", "X", "X")
    split = "Split into heads."
    shown = (*(scores.before_rope or (scores.query, scores.key)), scores.value)
    for letter, name, source, values, path in zip(
        "QKV", ("queries", "keys", "values"), read, shown, names, strict=True
    ):
        bias = f" + b^{letter}" if attn.names.parts and scene.bias(path, "b") else ""
        if letter == "Q" and not attn.names.parts:
            bias = " + u"
        note = "From what the encoder made of its text." if source == "Z" else split
        if letter != "Q" and len(values) == attn.heads and _share(attn):
            note = "Several heads share these; they are shown once for each head."
        yield step(part, name, f"{letter} = {source} W^{letter}{bias}", values, HEADS, note, path)
    if scores.before_rope is not None:
        yield from _rotated(part, attn, scores)
    if scores.of_global is not None:
        for letter, name, values in zip("QKV", ("queries", "keys", "values"), scores.of_global, strict=True):
            yield step(
                part,
                f"global {name}",
                f"{letter}^g = X W^{{g,{letter}}} + b^{{g,{letter}}}",
                values,
                HEADS,
                "For the query of the first token, which attends to all.",
                f"{attn.module}.{GLOBALS[letter]}",
            )
    yield from _scored(part, attn, scores)
    yield from _mixed(scene, part, attn, scores)


def _share(attn: AttentionLayer) -> bool:
    """Whether several heads share keys and values."""
    return getattr(attn.stack.config, "num_key_value_heads", None) not in (None, attn.heads)


def _projected(part: Part, attn: AttentionLayer, scores: AttentionScores) -> Iterator[Step]:
    """Queries, keys and values of a Reformer, whose hashing layers make keys of queries."""
    own, split = attn.module, "Split into heads."
    shared = scores.shared
    query, letters = ("query_key", "{QK}") if shared else ("query", "Q")
    yield step(part, "queries", f"Q = X W^{letters}", scores.query, HEADS, split, f"{own}.{query}")
    if shared:
        formula = r"\hat q_j = q_j \Big/ \sqrt{\tfrac{1}{d} \sum_k q_{jk}^2}"
        yield step(
            part, "keys, of one length", formula, scores.key, HEADS, "A key is its query, brought to one length."
        )
    else:
        yield step(part, "keys", "K = X W^K", scores.key, HEADS, split, f"{own}.key")
    yield step(part, "values", "V = X W^V", scores.value, HEADS, split, f"{own}.value")


GLOBALS = {"Q": "query_global", "K": "key_global", "V": "value_global"}


def _rotated(part: Part, attn: AttentionLayer, scores: AttentionScores) -> Iterator[Step]:
    assert scores.before_rope is not None
    shared = len(scores.before_rope[1]) < attn.heads
    turn = "Pairs of dimensions are rotated by an angle that grows with the position."
    once = " Several heads share a key; it is shown once for each head." if shared else ""
    yield step(part, "queries, rotated", r"\tilde q_i = R_i\, q_i", scores.query, HEADS, turn)
    yield step(part, "keys, rotated", r"\tilde k_j = R_j\, k_j", scores.key, HEADS, turn + once)


TERMS = {
    ("relative_bias", "position"): (
        "distance",
        r"b_{j-i}",
        "A bias for the bucket of the distance, learned for each head.",
    ),
    ("disentangled", "c2c"): ("content to content", r"q_i \cdot k_j / \sqrt{3d}", "What two words are."),
    ("disentangled", "c2p"): (
        "content to position",
        r"q_i \cdot k^r_{\delta(i,j)} / \sqrt{3d}",
        "What a word is, and how far another stands.",
    ),
    ("disentangled", "p2c"): (
        "position to content",
        r"q^r_{\delta(i,j)} \cdot k_j / \sqrt{3d}",
        "How far a word stands, and what it is.",
    ),
    ("two_stream", "content"): ("content", r"(q_i + u) \cdot k_j / \sqrt d", "What two words are."),
    ("two_stream", "position"): ("distance", r"(q_i + v) \cdot r_{i-j} / \sqrt d", "How far apart they stand."),
    ("lsh", "content"): ("content", r"q_i \cdot \hat q_j / \sqrt d", "What two tokens are."),
    ("lsh", "rounds"): (
        "rounds",
        r"\ln m_{ij}",
        "A key that is met in several rounds of hashing counts several times.",
    ),
    ("two_stream", "segment"): ("segment", r"(q_i + w) \cdot g_{ij} / \sqrt d", "Whether they are of one segment."),
}


def _scored(part: Part, attn: AttentionLayer, scores: AttentionScores) -> Iterator[Step]:
    """The terms of the score where there are several, their sum, the mask, the weights."""
    import torch

    factor = {"root": r" / \sqrt d", "one": "", "own": rf" \cdot {scores.factor:.4g}"}[attn.names.scale]
    turned = scores.before_rope is not None
    product = (r"\tilde Q \tilde K^\top" if turned else r"Q \hat Q^\top" if scores.shared else r"Q K^\top") + factor
    if len(scores.terms) > 1:
        for key, values in scores.terms.items():
            name, formula, note = TERMS.get((attn.names.score, key), ("content", product, "What two words are."))
            yield step(part, f"scores: {name}", formula, values, MAPS, note)
        product = r"\text{the sum of the terms}"
    total = sum(scores.terms.values(), start=torch.zeros_like(next(iter(scores.terms.values()))))
    allowed = torch.ones_like(total[:1], dtype=torch.bool) if scores.allowed is None else scores.allowed
    yield step(part, "scores", f"S = {product}", total, MAPS, path=attn.module)
    mask = torch.zeros_like(total[: len(allowed)]).masked_fill(~allowed, -torch.inf)
    note = (
        "Every token attends to every other."
        if bool(allowed.all())
        else "0 where a query may attend to a key, minus infinity elsewhere."
    )
    yield step(part, "mask", r"M_{ij} \in \{0, -\infty\}", mask, MAPS, note)
    weights = scores.weights if scores.weights is not None else scores.score.softmax(-1)
    yield step(part, "weights", r"A = \mathrm{softmax}(S + M)", weights, MAPS, "Every row sums to one.", attn.module)


def _mixed(scene: Scene, part: Part, attn: AttentionLayer, scores: AttentionScores) -> Iterator[Step]:
    """Values mixed by the weights, and the projection of all heads together."""
    import torch

    if scores.attention_output is None:  # XLNet, whose projection is no module
        weights = scores.weights if scores.weights is not None else scores.score.softmax(-1)
        mix, path = weights @ scores.value, attn.module
        out, bias = torch.einsum("hqd,whd->qw", mix, scene.module(attn.module).o), ""
    else:
        path = attn.path(attn.names.out)
        mix = by_head(scores.attention_output, scores.attention_output.shape[-1] // attn.heads)
        out, bias = scene.out(path), scene.bias(path, "b^O")
    note = "The first token's row mixes the global values." if scores.of_global is not None else ""
    yield step(part, "mix", r"O_h = A_h V_h", mix, HEADS, note, attn.module)
    formula = rf"Y = [O_1; \dots; O_H]\, W^O{bias}"
    yield step(
        part, "projected", formula, out, ROWS, "All heads side by side, and projected to the model's width.", path
    )


def feed_forward(scene: Scene) -> Iterator[Step]:
    """The part that treats every token by itself."""
    plan, config = scene.plan, scene.attn.stack.config
    inner, gate, outer = scene.existing(*plan.inner), scene.existing(plan.gate), scene.attn.path(plan.outer)
    named = getattr(config, plan.activation, plan.activation)
    function = {True: "gelu", False: "relu"}.get(named, named) if isinstance(named, bool) else str(named)
    axes = ("token", "inner width")
    part: Part = "feed-forward"
    if gate:
        yield step(part, "gate", f"G = X W_g{scene.bias(gate, 'b_g')}", scene.out(gate), axes, path=gate)
    yield step(part, "inner", f"U = X W_1{scene.bias(inner, 'b_1')}", scene.out(inner), axes, path=inner)
    formula = r"H = \phi(G) \odot U" if gate else r"H = \phi(U)"
    yield step(part, "activation", formula, scene.into(outer), axes, f"φ is {function}.")
    yield step(part, "outer", f"Y = H W_2{scene.bias(outer, 'b_2')}", scene.out(outer), path=outer)


def norm(scene: Scene, part: Part, path: str, name: str = "norm") -> Step:
    """What a norm gave."""
    own = scene.module(path)
    if not hasattr(own, "weight"):
        formula, note = "X", "No norm stands here: the embedding ends with one."
    elif hasattr(own, "bias"):
        formula = ("" if own.weight is None else r"\gamma \odot ") + r"\frac{X - \mu}{\sqrt{\sigma^2 + \epsilon}}"
        formula, note = formula + ("" if own.bias is None else r" + \beta"), "Layer norm."
    else:
        formula = r"\gamma \odot X / \sqrt{\tfrac{1}{w} \sum_i X_i^2 + \epsilon}"
        note = "Norm by the root mean square."
    return step(part, name, formula, scene.out(path), note=note, path=path)


_ADAPTER_MODULES = ("down", "up", "norm")


def adapter_paths(task: str, layer: int) -> dict[SubLayer, str]:
    """Of a layer, from 0: for each of its sub-layers the path of the task's adapter in the whole model."""
    both = f"tasks.{task}.adapters."
    return {"attention": f"{both}{2 * layer}", "feed-forward": f"{both}{2 * layer + 1}"}


def adapter_modules(task: str, layer: int) -> list[str]:
    """What is to be looked at while the task runs."""
    return [f"{path}.{name}" for path in adapter_paths(task, layer).values() for name in _ADAPTER_MODULES]


def adapter(scene: Scene, part: Part, own: str, end: str, made: Tensor) -> Iterator[Step]:
    """What is added to ``made`` (n, w), and the sum.

    Args:
        own: path of the adapter.
        end: path of what ends the sub-layer; a tree writes its adapter below.
    """
    narrow = ("token", "bottleneck")
    down, bent, up = scene.out(f"{own}.down"), scene.into(f"{own}.up"), scene.out(f"{own}.up")
    at = f"{end}.adapter"
    yield step(part, "adapter: down", "U = Y W_d + b_d", down, narrow, "To the bottleneck.", f"{at}.down")
    yield step(part, "adapter: bent", r"H = \phi(U)", bent, narrow, "φ is gelu.", f"{at}.activation")
    yield step(part, "adapter: up", "H W_u + b_u", up, note="Back to the model's width.", path=f"{at}.up")
    yield step(part, "adapted", "Y' = Y + H W_u + b_u", made + up, note="The task's share is added.", path=at)


SHARED = {
    r"\mathrm{softmax}": "makes weights of a row of scores: none is negative, and together they are one",
    r"\odot": "number by number",
}
"""What formulas have in common."""
_WORDS = re.compile(r"\\(mathrm|text)\{[^}]*\}")
_COMMANDS = re.compile(r"\\[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class StepText:
    """One step in words."""

    text: str
    symbols: tuple[tuple[str, str], ...]
    """(LaTeX, meaning) of every letter of the step's own formula."""


def step_text(step: Step) -> StepText:
    """The words for a step: every name that is given here has them in ``assets/content/attention/steps.md``."""
    entry = next(entry for entry in content("attention", "steps").front["entry"] if step.name in entry["names"])
    rest, met = step.formula, []
    for latex, meaning in (*entry["symbols"], *SHARED.items()):
        if stands(latex, rest):
            met.append((latex, meaning))
            rest = rest.replace(latex, " ") if len(latex) > 1 else rest
    return StepText(entry["text"], tuple(met))


def stands(latex: str, formula: str) -> bool:
    """Whether a symbol stands in a formula: a single letter counts where it is no part of a command or a word."""
    if len(latex) > 1:
        return latex in formula
    return latex in _COMMANDS.sub(" ", _WORDS.sub(" ", formula))
