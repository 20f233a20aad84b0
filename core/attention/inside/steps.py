r"""One sub-layer as its tensors, in order.

Attention (Vaswani et al. 2017) reads X (in a decoder's cross-attention, keys and values read the encoder's Z):

.. math:: Q = X W^Q,\; K = X W^K,\; V = X W^V, \quad S = Q K^\top / \sqrt d, \quad A = \mathrm{softmax}(S + M), \quad
    Y = [A_1 V_1; \dots; A_H V_H]\, W^O

and the feed-forward part :math:`\phi(X W_1 + b_1) W_2 + b_2`, or with a gate
:math:`(\phi(X W_g) \odot X W_1)\, W_2` (Shazeer 2020). Values are recorded wherever a module outputs or
reads them; scores are recomputed from their inputs, since no module outputs them.

The adapter of a sub-layer (Houlsby et al. 2019) as its tensors:

.. math:: U = Y W_d + b_d, \quad H = \mathrm{gelu}(U), \quad Y' = Y + H W_u + b_u

The norm that follows is the task's own, too.

Legend: H heads, n tokens, w hidden size, d head dimension, f feed-forward dimension, m bottleneck dimension.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from core.arrays import Floats
from core.attention.scores import AttentionScores, by_head
from core.content import content
from core.lazy import Tensor, torch
from core.run.model import Model
from core.run.prepare import AttentionLayer
from core.run.run import Kind, Run, Site
from core.run.sites import PROJECTIONS, Blueprint, SubLayer

Part = Literal["embedding", "attention", "cross-attention", "feed-forward", "end"]
ROWS = ("token", "dimension")
HEADS = ("head", "token", "head dimension")
MAPS = ("head", "query", "key")


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One tensor of a block."""

    part: Part
    name: str
    formula: str
    """LaTeX."""
    axes: tuple[str, ...]
    """The names of the axes of ``values``."""
    values: Floats
    """Read-only."""
    note: str = ""
    path: str = ""
    """The module that computes it, as the module tree writes it; empty where none does."""
    sources: tuple[str, ...] = ()
    """The slugs of the steps that it is computed from."""
    outside: str = ""
    """An input that is no step of the block; may be empty."""
    residual: bool = False
    """Whether it is on the residual stream."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of ``values``."""
        return self.values.shape

    @property
    def slug(self) -> str:
        """The step in a link: ``attention-weights``."""
        return slug(self.part, self.name)


def slug(part: Part, name: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", f"{part} {name}".lower()))


def remark(name: str, /, **values: str | int) -> str:
    """The note of a step, a part of its content file."""
    return content("attention", "steps").part(f"Note: {name}", **values)


def step(
    part: Part, name: str, formula: str, values: Tensor, axes: tuple[str, ...] = ROWS, note: str = "", **more: Any
) -> Step:
    """A step with a copy of ``values``; ``more`` are further fields."""
    copied = values.detach().float().cpu().numpy().copy()
    copied.setflags(write=False)
    assert copied.ndim == len(axes), (name, copied.shape)
    return Step(part, name, formula, axes, copied, note, **more)


@dataclass(frozen=True, slots=True)
class Scene:
    """A recorded forward pass, and the block of it that is shown."""

    recorded: Run
    model: Model
    plan: Blueprint
    attn: AttentionLayer
    """The block's own attention."""
    task: str | None = None
    """Whose adapters run; None where none do."""

    def at(self, name: str, layer: int | None = None, kind: Kind | None = None) -> Tensor:
        """(n, w) a site of the block, or of another layer or kind, for the first row."""
        return self.recorded[kind or self.attn.kind, self.attn.layer if layer is None else layer, name][0]

    def of_stack(self, name: str) -> Tensor:
        """(n, w) a site of the whole stack for the first row; positions may have no rows."""
        tensor = self.recorded[self.attn.stack.kind, 0, name]
        return tensor if tensor.dim() < 3 else tensor[0]

    def has(self, name: str) -> bool:
        """Whether a site of the whole stack was passed."""
        return Site(self.attn.stack.kind, 0, name) in self.recorded.tensors

    def module(self, path: str) -> Any:
        """The module at a whole path."""
        return self.model.get_submodule(path)

    def bias(self, path: str, name: str) -> str:
        """LaTeX for the bias of a projection, where it has one."""
        return f" + {name}" if getattr(self.module(path), "bias", None) is not None else ""

    def existing(self, *names: str) -> str:
        """The whole path of the first of these that the model has, or ""."""
        paths = (self.attn.path(name) for name in names if name)
        return next((path for path in paths if exists(self.model, path)), "")


def exists(model: Model, path: str) -> bool:
    """Whether a model has a module there."""
    try:
        model.get_submodule(path)
    except AttributeError:
        return False
    return True


def attention(scene: Scene, part: Part, attn: AttentionLayer, scores: AttentionScores, read: str) -> list[Step]:
    """Queries to output of one attention, whose queries are computed from the step ``read``."""
    projected = _shared_projections if attn.names.score == "lsh" else _projections
    steps = projected(scene, part, attn, scores, read)
    at = {step.name.split(",")[0]: step.slug for step in steps}  # of several steps for queries or keys the last one
    steps += _scored(part, attn, scores, at)
    return steps + _output(scene, part, attn, scores, at)


def _projections(scene: Scene, part: Part, attn: AttentionLayer, scores: AttentionScores, read: str) -> list[Step]:
    """Queries, keys and values, with RoPE also the rotated ones."""
    crossing = part == "cross-attention"
    names = [f"{attn.module}.{name.partition(':')[0]}" for name in attn.names.parts.split()] or [attn.module] * 3
    shown = (*(scores.before_rope or (scores.query, scores.key)), scores.value)
    shared = getattr(attn.stack.config, "num_key_value_heads", None) not in (None, attn.heads)
    steps = []
    for letter, name, values, path in zip("QKV", ("queries", "keys", "values"), shown, names, strict=True):
        bias = f" + b^{letter}" if attn.names.parts and scene.bias(path, "b") else ""
        from_encoder = crossing and letter != "Q"
        note = remark("encoder" if from_encoder else "split")
        if letter != "Q" and len(values) == attn.heads and shared:
            note = remark("shared")
        formula = f"{letter} = {'Z' if from_encoder else 'X'} W^{letter}{bias}"
        more: dict[str, Any] = {"outside": ENCODER} if from_encoder else {"sources": (read,)}
        steps.append(step(part, name, formula, values, HEADS, note, path=path, **more))
    if scores.before_rope is not None:
        note = remark("rotated")
        once = f" {remark('shared key')}" if len(shown[1]) < attn.heads else ""
        for name, formula, values, more_note in (
            ("queries", r"\tilde q_i = R_i\, q_i", scores.query, ""),
            ("keys", r"\tilde k_j = R_j\, k_j", scores.key, once),
        ):
            sources = (slug(part, name),)
            steps.append(step(part, f"{name}, rotated", formula, values, HEADS, note + more_note, sources=sources))
    for letter, name, module, values in zip(
        "QKV", PROJECTIONS, attn.names.further, scores.of_global or (), strict=False
    ):
        steps.append(
            step(
                part,
                f"global {name}",
                f"{letter}^g = X W^{{g,{letter}}} + b^{{g,{letter}}}",
                values,
                HEADS,
                remark("global"),
                path=f"{attn.module}.{module}",
                sources=(read,),
            )
        )
    return steps


def _shared_projections(
    scene: Scene, part: Part, attn: AttentionLayer, scores: AttentionScores, read: str
) -> list[Step]:
    """Queries, keys and values of a Reformer, whose LSH layers derive keys from queries."""
    module, split = attn.module, remark("split")
    name, letters = ("query_key", "{QK}") if scores.shared else ("query", "Q")
    queries = step(
        part, "queries", f"Q = X W^{letters}", scores.query, HEADS, split, path=f"{module}.{name}", sources=(read,)
    )
    if scores.shared:
        formula = r"\hat q_j = q_j \Big/ \sqrt{\tfrac{1}{d} \sum_k q_{jk}^2}"
        note = remark("query as key")
        keys = step(part, "keys, of one length", formula, scores.key, HEADS, note, sources=(queries.slug,))
    else:
        keys = step(part, "keys", "K = X W^K", scores.key, HEADS, split, path=f"{module}.key", sources=(read,))
    values = step(part, "values", "V = X W^V", scores.value, HEADS, split, path=f"{module}.value", sources=(read,))
    return [queries, keys, values]


ENCODER = "the encoder's output"
TERMS = {
    ("relative_bias", "position"): (
        "distance",
        r"b_{j-i}",
        "bucket",
        "",
    ),
    ("disentangled", "c2c"): ("content to content", r"q_i \cdot k_j / \sqrt{3d}", "contents", "qk"),
    ("disentangled", "c2p"): (
        "content to position",
        r"q_i \cdot k^r_{\delta(i,j)} / \sqrt{3d}",
        "content and distance",
        "q",
    ),
    ("disentangled", "p2c"): (
        "position to content",
        r"q^r_{\delta(i,j)} \cdot k_j / \sqrt{3d}",
        "distance and content",
        "k",
    ),
    ("two_stream", "content"): ("content", r"q_i \cdot k_j / \sqrt d", "contents", "qk"),
    ("two_stream", "position"): ("distance", r"q_i \cdot r_{i-j} / \sqrt d", "content and distance", "q"),
    ("two_stream", "content bias"): ("content bias", r"u \cdot k_j / \sqrt d", "every query, content", "k"),
    ("two_stream", "position bias"): ("position bias", r"v \cdot r_{i-j} / \sqrt d", "every query, distance", ""),
    ("two_stream", "segment"): (
        "segment",
        r"(q_i + w) \cdot g_{ij} / \sqrt d",
        "segments",
        "q",
    ),
    ("lsh", "content"): ("content", r"q_i \cdot \hat q_j / \sqrt d", "contents", "qk"),
    ("lsh", "rounds"): (
        "rounds",
        r"\ln m_{ij}",
        "rounds",
        "q",
    ),
}
"""For each term of a score: name, formula, name of the note, and whether it depends on queries and keys."""


def _scored(part: Part, attn: AttentionLayer, scores: AttentionScores, at: dict[str, str]) -> list[Step]:
    """The terms of the score where there are several, their sum, the mask, the weights.

    ``at`` has the slugs of the steps for queries and keys.
    """
    factor = {"root": r" / \sqrt d", "one": "", "own": rf" \cdot {scores.factor:.4g}"}[attn.names.scale]
    rotated = scores.before_rope is not None
    product = (r"\tilde Q \tilde K^\top" if rotated else r"Q \hat Q^\top" if scores.shared else r"Q K^\top") + factor
    vectors = {"q": at["queries"], "k": at["keys"]}
    terms = []
    if len(scores.terms) > 1:
        for key, values in scores.terms.items():
            usual = ("content", product, "contents", "qk")
            name, formula, note, letters = TERMS.get((attn.names.score, key), usual)
            sources = tuple(vectors[letter] for letter in letters)
            outside = "" if letters else "the distances between the tokens"
            terms.append(
                step(part, f"scores: {name}", formula, values, MAPS, remark(note), sources=sources, outside=outside)
            )
        product = r"\text{the sum of the terms}"
    total = sum(scores.terms.values(), start=torch.zeros_like(next(iter(scores.terms.values()))))
    allowed = torch.ones_like(total[:1], dtype=torch.bool) if scores.allowed is None else scores.allowed
    read = [*vectors.values(), *(at[name] for name in ("global queries", "global keys") if name in at)]
    summed = step(
        part,
        "scores",
        f"S = {product}",
        total,
        MAPS,
        path=attn.module,
        sources=tuple(term.slug for term in terms) or tuple(read),
    )
    mask = step(
        part,
        "mask",
        r"M_{ij} \in \{0, -\infty\}",
        torch.zeros_like(total[: len(allowed)]).masked_fill(~allowed, -torch.inf),
        MAPS,
        remark("no mask" if bool(allowed.all()) else "mask"),
        outside="the attention mask",
    )
    weights = step(
        part,
        "weights",
        r"A = \mathrm{softmax}(S + M)",
        scores.weights,
        MAPS,
        remark("sums"),
        path=attn.module,
        sources=(summed.slug, mask.slug),
    )
    return [*terms, summed, mask, weights]


def _output(scene: Scene, part: Part, attn: AttentionLayer, scores: AttentionScores, at: dict[str, str]) -> list[Step]:
    """The weighted sums of the values, and the projection of all heads together."""
    path = attn.path(attn.names.out or attn.names.module)
    mix = by_head(scores.attention_output, scores.attention_output.shape[-1] // attn.heads)
    out, bias = scene.at("attn_out", attn.layer, attn.kind), scene.bias(path, "b^O") if attn.names.out else ""
    sources = [at["values"], slug(part, "weights"), *([at["global values"]] if "global values" in at else [])]
    note = remark("global mix") if scores.of_global is not None else ""
    mixed = step(part, "mix", r"O_h = A_h V_h", mix, HEADS, note, path=attn.module, sources=tuple(sources))
    formula = rf"Y = [O_1; \dots; O_H]\, W^O{bias}"
    note = remark("heads")
    return [mixed, step(part, "projected", formula, out, ROWS, note, path=path, sources=(mixed.slug,))]


def feed_forward(scene: Scene, read: str) -> list[Step]:
    """The feed-forward network, from the step ``read``."""
    plan, config = scene.plan, scene.attn.stack.config
    inner, gate, outer = scene.existing(*plan.inner), scene.existing(plan.gate), scene.attn.path(plan.outer)
    named = getattr(config, plan.activation, plan.activation)
    function = {True: "gelu", False: "relu"}.get(named, named) if isinstance(named, bool) else str(named)
    axes = ("token", "inner dimension")
    part: Part = "feed-forward"
    steps = []
    for name, letter, path in (("gate", "g", gate), ("inner", "1", inner)):
        if path:
            symbol = "G" if name == "gate" else "U"
            formula = f"{symbol} = X W_{letter}{scene.bias(path, f'b_{letter}')}"
            values = scene.at("mlp_gate" if name == "gate" else "mlp_pre")
            steps.append(step(part, name, formula, values, axes, path=path, sources=(read,)))
    formula = r"H = \phi(G) \odot U" if gate else r"H = \phi(U)"
    sources = tuple(projected.slug for projected in steps)
    active = step(
        part, "activation", formula, scene.at("mlp_post"), axes, remark("function", function=function), sources=sources
    )
    formula = f"Y = H W_2{scene.bias(outer, 'b_2')}"
    return [*steps, active, step(part, "outer", formula, scene.at("mlp_out"), path=outer, sources=(active.slug,))]


NORMS: dict[Part, str] = {
    "embedding": "ln_embed",
    "attention": "ln1",
    "cross-attention": "ln_cross",
    "feed-forward": "ln2",
    "end": "ln_final",
}
"""The site of a norm by part of the block."""


def norm(
    scene: Scene, part: Part, path: str, source: str, name: str = "norm", *, site: str = "", residual: bool = False
) -> Step:
    """The output of a norm of the step ``source``; ``site`` where it is not that of the part."""
    module = scene.module(path)
    if not hasattr(module, "weight"):
        formula, note = "X", remark("no norm")
    elif hasattr(module, "bias"):
        formula = ("" if module.weight is None else r"\gamma \odot ") + r"\frac{X - \mu}{\sqrt{\sigma^2 + \epsilon}}"
        formula, note = formula + ("" if module.bias is None else r" + \beta"), remark("LayerNorm")
    else:
        formula = r"\gamma \odot X / \sqrt{\tfrac{1}{w} \sum_i X_i^2 + \epsilon}"
        note = remark("RMSNorm")
    values = scene.of_stack(NORMS[part]) if part in ("embedding", "end") else scene.at(site or NORMS[part])
    return step(part, name, formula, values, note=note, path=path, sources=(source,), residual=residual)


ADAPTER: dict[Part, str] = {"attention": "attn", "feed-forward": "mlp"}
"""The beginning of the sites of an adapter by part of the block."""


def adapter_paths(task: str, layer: int) -> dict[SubLayer, str]:
    """The paths of the task's adapters in the model, by sub-layer of a layer (from 0)."""
    both = f"tasks.{task}.adapters."
    return {"attention": f"{both}{2 * layer}", "feed-forward": f"{both}{2 * layer + 1}"}


def adapter(scene: Scene, part: Part, end: str, output: Step) -> list[Step]:
    """The adapter's update of ``output`` (n, w), and the sum.

    Args:
        end: path of the last module of the sub-layer; the tree has its adapter below it.
    """
    narrow = ("token", "bottleneck")
    half = ADAPTER[part]
    down, bent, up = (scene.at(f"{half}_adapter_{name}") for name in ("down", "mid", "up"))
    at = f"{end}.adapter"
    total = torch.from_numpy(output.values.copy()) + up
    steps = [
        step(part, "adapter: down", "U = Y W_d + b_d", down, narrow, remark("down"), path=f"{at}.down"),
        step(
            part,
            "adapter: bent",
            r"H = \phi(U)",
            bent,
            narrow,
            remark("function", function="gelu"),
            path=f"{at}.activation",
        ),
        step(part, "adapter: up", "H W_u + b_u", up, note=remark("up"), path=f"{at}.up"),
        step(part, "adapted", "Y' = Y + H W_u + b_u", total, note=remark("adapter"), path=at),
    ]
    before = (output, *steps)
    sources = [(previous.slug,) for previous in before[:3]] + [(output.slug, steps[2].slug)]
    return [replace(own_step, sources=of) for own_step, of in zip(steps, sources, strict=True)]


_WORDS = re.compile(r"\\(mathrm|text)\{[^}]*\}")
_COMMANDS = re.compile(r"\\[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class StepText:
    text: str
    symbols: tuple[tuple[str, str], ...]
    """(LaTeX, meaning) of every symbol of the step's own formula."""


def step_text(step: Step) -> StepText:
    """The explanation of a step; ``assets/content/attention/steps.md`` has one for every name here."""
    front = content("attention", "steps").front
    entry = next(entry for entry in front["entry"] if step.name in entry["names"])
    formula, terms = step.formula, []
    for latex, meaning in (*entry["symbols"], *front["shared"]):
        if occurs(latex, formula):
            terms.append((latex, meaning))
            formula = formula.replace(latex, " ") if len(latex) > 1 else formula
    return StepText(entry["text"], tuple(terms))


def occurs(latex: str, formula: str) -> bool:
    """Whether a symbol occurs in a formula; a single letter must not be part of a command or a word."""
    if len(latex) > 1:
        return latex in formula
    return latex in _COMMANDS.sub(" ", _WORDS.sub(" ", formula))
