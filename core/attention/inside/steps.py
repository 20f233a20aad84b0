r"""One sub-layer as its tensors, in order: what a block is made of, seen from inside.

Attention (Vaswani et al. 2017) reads X (in a decoder's cross-attention, keys and values read the encoder's Z):

.. math:: Q = X W^Q,\; K = X W^K,\; V = X W^V, \quad S = Q K^\top / \sqrt d, \quad A = \mathrm{softmax}(S + M), \quad
    Y = [A_1 V_1; \dots; A_H V_H]\, W^O

and the feed-forward part :math:`\phi(X W_1 + b_1) W_2 + b_2`, or with a gate
:math:`(\phi(X W_g) \odot X W_1)\, W_2` (Shazeer 2020). Values are the model's own wherever a module gives or takes
them; scores are made anew of what entered them, as no module shows them.

Legend: H heads, n tokens, w hidden width, d width of a head, f width inside the feed-forward part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from core.attention.architectures.layout import Place
from core.attention.architectures.scores import Attended
from core.attention.architectures.watch import Watch
from core.attention.inside.plans import Blueprint
from core.attention.trace import Floats

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
    return Step(part, name, formula, axes, made, note, module_of(path))


@dataclass(frozen=True, slots=True)
class Scene:
    """A run that was looked at, and which block of it is meant."""

    watch: Watch
    plan: Blueprint
    place: Place
    """The block's own attention."""
    count: int
    """Which call of the block's modules, where layers share them."""
    task: str | None = None
    """Whose adapters run; None where none do."""

    def module(self, path: str) -> Any:
        """The module at a whole path."""
        return self.watch.model.get_submodule(module_of(path))

    def out(self, path: str) -> Tensor:
        """(n, w) what a module gave for the first row, or the part of it that the path names."""
        path, _, part = path.partition(":")
        back = self.watch.calls(path)[self._call(path)].back
        whole = self.first(back[0] if isinstance(back, tuple) else back)
        if not part:
            return whole
        number, parts = (int(n) for n in part.split("/"))
        return whole.chunk(parts, dim=-1)[number]

    def into(self, path: str) -> Tensor:
        """(n, w) what a module read of the first row."""
        return self.first(next(iter(self.watch.calls(path)[self._call(path)].given.values())))

    def first(self, tensor: Tensor) -> Tensor:
        """The first row of a batch; XLNet has tokens before rows, and what is the same for all rows has none."""
        if tensor.dim() < 3:
            return tensor
        return tensor[:, 0] if self.place.stack.type == "xlnet" else tensor[0][: self.watch.length]

    def bias(self, path: str, name: str) -> str:
        """LaTeX for the bias of a projection, where it has one."""
        return f" + {name}" if getattr(self.module(path), "bias", None) is not None else ""

    def existing(self, names: tuple[str, ...]) -> str:
        """The whole path of the first of these that the model has, or ""."""
        paths = (self.place.path(name) for name in names)
        return next((path for path in paths if exists(self.watch.model, path)), "")

    def _call(self, path: str) -> int:
        return self.count if len(self.watch.calls(path)) > 1 else 0


def module_of(path: str) -> str:
    """A path without the part that it may name."""
    return path.partition(":")[0]


def exists(model: Any, path: str) -> bool:
    """Whether a model has a module there."""
    try:
        found: bool = model.get_submodule(module_of(path)) is not None
    except AttributeError:
        return False
    return found


def attention(scene: Scene, part: Part, place: Place, met: Attended) -> Iterator[Step]:
    """Queries to output of one attention."""
    if place.names.score == "hashed":
        yield from _projected(part, place, met)
        yield from _scored(part, place, met)
        yield from _mixed(scene, part, place, met)
        return
    crossing = part == "cross-attention"
    names = [f"{place.module}.{name.partition(':')[0]}" for name in place.names.parts.split()] or [place.module] * 3
    read = ("X", "Z", "Z") if crossing else ("X", "X", "X")
    split = "Cut into heads."
    own = (met.before_norm or met.before_turn or (met.query, met.key)), met.value
    shown = (own[0][0], own[0][1], own[1])
    for letter, name, source, values, path in zip(
        "QKV", ("queries", "keys", "values"), read, shown, names, strict=True
    ):
        own_bias = getattr(scene.module(place.module), f"{letter.lower()}_bias", None)  # DeBERTa's first version
        bias = f" + b^{letter}" if place.names.parts and (scene.bias(path, "b") or own_bias is not None) else ""
        if letter == "Q" and not place.names.parts:
            bias = " + u"
        note = "From what the encoder made of its text." if source == "Z" else split
        if letter != "Q" and len(values) == place.heads and _share(place):
            note = "Several heads share these; they are shown once for each head."
        yield step(part, name, f"{letter} = {source} W^{letter}{bias}", values, HEADS, note, path)
    if met.before_norm is not None:
        yield from _normed(scene, part, place, met)
    if met.before_turn is not None:
        yield from _turned(part, place, met)
    if met.at is not None:
        for letter, name, values in zip("QKV", ("queries", "keys", "values"), met.at, strict=True):
            yield step(
                part,
                f"global {name}",
                f"{letter}^g = X W^{{g,{letter}}} + b^{{g,{letter}}}",
                values,
                HEADS,
                "For the row of the first token, which sees all.",
                f"{place.module}.{GLOBALS[letter]}",
            )
    yield from _scored(part, place, met)
    yield from _mixed(scene, part, place, met)


def _share(place: Place) -> bool:
    """Whether several heads share keys and values."""
    return getattr(place.stack.config, "num_key_value_heads", None) not in (None, place.heads)


def _projected(part: Part, place: Place, met: Attended) -> Iterator[Step]:
    """Queries, keys and values of a Reformer, whose hashing layers make keys of queries."""
    own, split = place.module, "Cut into heads."
    shared = met.shared
    query, letters = ("query_key", "{QK}") if shared else ("query", "Q")
    yield step(part, "queries", f"Q = X W^{letters}", met.query, HEADS, split, f"{own}.{query}")
    if shared:
        formula = r"\hat q_j = q_j \Big/ \sqrt{\tfrac{1}{d} \sum_k q_{jk}^2}"
        yield step(part, "keys, of one length", formula, met.key, HEADS, "A key is its query, brought to one length.")
    else:
        yield step(part, "keys", "K = X W^K", met.key, HEADS, split, f"{own}.key")
    yield step(part, "values", "V = X W^V", met.value, HEADS, split, f"{own}.value")


GLOBALS = {"Q": "query_global", "K": "key_global", "V": "value_global"}


def _normed(scene: Scene, part: Part, place: Place, met: Attended) -> Iterator[Step]:
    query, key = met.before_turn or (met.query, met.key)
    formulas = r"\bar q_i = \mathrm{norm}(q_i)", r"\bar k_j = \mathrm{norm}(k_j)"
    norms = [f"{place.module}.{name}" for name in place.names.norms.split()]
    for name, formula, values, path in zip(("queries", "keys"), formulas, (query, key), norms, strict=True):
        single = scene.module(path).weight.shape[-1] == values.shape[-1]
        note = "Each head's vectors by themselves." if single else "All heads' numbers together."
        yield step(part, f"{name}, normed", formula, values, HEADS, note, path)


def _turned(part: Part, place: Place, met: Attended) -> Iterator[Step]:
    assert met.before_turn is not None
    shared = len(met.before_turn[1]) < place.heads
    turn = "Pairs of numbers are turned by an angle that grows with the position."
    once = " Several heads share a key; it is shown once for each head." if shared else ""
    bar = "" if met.before_norm is None else r"\bar "
    yield step(part, "queries, turned", rf"\tilde q_i = R_i\, {bar}q_i", met.query, HEADS, turn)
    yield step(part, "keys, turned", rf"\tilde k_j = R_j\, {bar}k_j", met.key, HEADS, turn + once)


TERMS = {
    ("biased", "position"): ("distance", r"b_{j-i}", "A number for the bucket of the distance, learnt for each head."),
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
    ("two-stream", "content"): ("content", r"(q_i + u) \cdot k_j / \sqrt d", "What two words are."),
    ("two-stream", "position"): ("distance", r"(q_i + v) \cdot r_{i-j} / \sqrt d", "How far apart they stand."),
    ("hashed", "content"): ("content", r"q_i \cdot \hat q_j / \sqrt d", "What two tokens are."),
    ("hashed", "rounds"): (
        "rounds",
        r"\ln m_{ij}",
        "A key that is met in several rounds of hashing counts several times.",
    ),
    ("two-stream", "segment"): ("segment", r"(q_i + w) \cdot g_{ij} / \sqrt d", "Whether they are of one segment."),
}


def _scored(part: Part, place: Place, met: Attended) -> Iterator[Step]:
    """The terms of the score where there are several, their sum, the mask, the weights."""
    import torch

    factor = {"root": r" / \sqrt d", "one": "", "own": rf" \cdot {met.factor:.4g}"}[place.names.scale]
    turned = met.before_turn is not None
    product = (r"\tilde Q \tilde K^\top" if turned else r"Q \hat Q^\top" if met.shared else r"Q K^\top") + factor
    if len(met.terms) > 1:
        for key, values in met.terms.items():
            name, formula, note = TERMS.get((place.names.score, key), ("content", product, "What two words are."))
            yield step(part, f"scores: {name}", formula, values, MAPS, note)
        product = r"\text{the sum of the terms}"
    total = sum(met.terms.values(), start=torch.zeros_like(next(iter(met.terms.values()))))
    note = ""
    if met.cap is not None:
        product, note = rf"c \tanh({product} / c)", f"c is {met.cap:g}: no score is further from 0."
    seen = torch.ones_like(total[:1], dtype=torch.bool) if met.seen is None else met.seen
    yield step(part, "scores", f"S = {product}", total, MAPS, note, place.module)
    mask = torch.zeros_like(total[: len(seen)]).masked_fill(~seen, -torch.inf)
    told = (
        "Every token sees every other."
        if bool(seen.all())
        else "0 where a token may be seen, minus infinity elsewhere."
    )
    yield step(part, "mask", r"M_{ij} \in \{0, -\infty\}", mask, MAPS, told)
    weights = met.weights if met.weights is not None else met.score.softmax(-1)
    yield step(part, "weights", r"A = \mathrm{softmax}(S + M)", weights, MAPS, "Every row sums to one.", place.module)


def _mixed(scene: Scene, part: Part, place: Place, met: Attended) -> Iterator[Step]:
    """Values mixed by the weights, and the projection of all heads together."""
    import torch

    if met.mixed is None:  # XLNet, whose projection is no module
        weights = met.weights if met.weights is not None else met.score.softmax(-1)
        mix, path = weights @ met.value, place.module
        out, bias = torch.einsum("hqd,whd->qw", mix, scene.module(place.module).o), ""
    else:
        mix, path = met.mixed.reshape(len(met.mixed), place.heads, -1).transpose(0, 1), place.path(place.names.out)
        out, bias = scene.out(path), scene.bias(path, "b^O")
    note = "The first token's row mixes the global values." if met.at is not None else ""
    yield step(part, "mix", r"O_h = A_h V_h", mix, HEADS, note, place.module)
    formula = rf"Y = [O_1; \dots; O_H]\, W^O{bias}"
    yield step(
        part, "projected", formula, out, ROWS, "All heads side by side, and projected to the model's width.", path
    )


def feed_forward(scene: Scene) -> Iterator[Step]:
    """The part that treats every token by itself."""
    plan, config = scene.plan, scene.place.stack.config
    inner, gate, outer = scene.existing(plan.inner), scene.existing(plan.gate), scene.place.path(plan.outer)
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


def norm(scene: Scene, part: Part, path: str, name: str = "norm", of: str = "X") -> Step:
    """What a norm gave; ``of`` is the letter of what it read."""
    own = scene.module(path)
    factor = r"(1 + \gamma)" if scene.plan.from_one else r"\gamma"
    if not hasattr(own, "weight"):
        formula, note = "X", "No norm stands here: the embedding ends with one."
    elif hasattr(own, "bias"):
        formula = ("" if own.weight is None else rf"{factor} \odot ") + r"\frac{X - \mu}{\sqrt{\sigma^2 + \epsilon}}"
        formula, note = formula + ("" if own.bias is None else r" + \beta"), "Layer norm."
    else:
        formula = rf"{factor} \odot X / \sqrt{{\tfrac{{1}}{{w}} \sum_i X_i^2 + \epsilon}}"
        note = "Norm by the root mean square."
    return step(part, name, formula.replace("X", of), scene.out(path), note=note, path=path)
