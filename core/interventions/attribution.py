r"""Attribution of a logit: the residual stream before the head as a sum of what each part of the model wrote.

With :math:`x = e + \sum_l \bigl(\sum_h o_{lh} + b_l + m_l\bigr)` of the embedding e, each head's part of the output
projection, its bias and each feed-forward layer, the norm of a layer is linear once its scale is that of the pass,

.. math:: N(x) = \gamma \odot \frac{x - \bar x}{\sigma} + \beta, \qquad \sigma \text{ held at its value}

and so is the head: what stands between two of its projections (an activation, a factor) is held at the ratio that it
had. Every part then has a share of the logit, and the shares, with those of the biases, sum to it exactly (Elhage et
al. 2021, A Mathematical Framework for Transformer Circuits). What a part does through later layers is not in its share:
that is what ablation and patching measure.

Legend: P parts, w hidden size, H heads, d head dimension.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from core.attention.ablation.question import ask, names
from core.attention.layers import plan_of, stacks
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.interventions.answers import answer_id
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.types import labels
from core.lazy import Tensor, nn, torch
from core.run.prepare import AttentionLayer, head_modules
from core.run.run import Run

Source = Literal["embedding", "attention", "cross", "feed-forward", "biases"]
KEEP = {"resid_pre", "z", "attn_out", "mlp_out", "final", "head"}
NEAR = 2e-3
"""The largest error of the sum, in nats, that is one of rounding."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of the model wrote, as its share of the logit, in nats."""

    source: Source
    value: float
    layer: int | None = None
    head: int | None = None
    """None for a feed-forward layer, and for the bias of an output projection."""


@dataclass(frozen=True, slots=True)
class Attribution:
    parts: tuple[Part, ...]
    """In the order of the pass; the biases of norms and head last."""
    answers: tuple[str, str]
    """Whose logits are subtracted; the second is empty for a logit alone."""
    total: float
    """The logit, or the difference, as the model computes it: the sum of the parts."""
    tokens: tuple[str, ...]
    position: int
    """The token whose state the head reads."""


def attribute(
    checkpoint: Checkpoint,
    text: str,
    answers: tuple[str, str] = ("", ""),
    task: str | None = None,
    step: int = 0,
    beside: str = "",
) -> Attribution:
    """The share of each part in the logit difference of two answers.

    Args:
        answers: a word each; empty for the most probable one, and for that to ``beside`` or the next most probable.
        task, step: as for `core.language.makers.inputs`.
        beside: another text, whose most probable answer is subtracted if it is another one.

    Raises:
        InputUnusable: an answer that is no token, or an architecture whose parts do not sum to its logits here.
        InputEmpty, InputTooLong, UnknownTask, OutOfRange: as `core.language.makers.inputs`.
    """
    question = inputs(checkpoint, text, task, step)
    stack = stacks(checkpoint)[-1]
    layers = plan_of(checkpoint).layers.get(stack.kind, ())
    if question.task:
        raise _refused(checkpoint, "its head reads the mean of all states")
    if "query" in checkpoint.spec.family.streams or (stack.blueprint is not None and stack.blueprint.streams > 1):
        raise _refused(checkpoint, "its layers carry two streams")
    if stack.blueprint is None or not layers or not layers[0].names.out:
        raise _refused(checkpoint, "the Atlas does not know its layers")
    asked = ask(question, keep=KEEP)
    logs = asked.logs[0]
    ranked = logs.topk(2).indices.tolist()
    if beside:
        ranked.insert(1, int(ask(inputs(checkpoint, beside, task, step)).logs[0].argmax()))
    first = answer_id(question, answers[0]) if answers[0].strip() else ranked[0]
    second = answer_id(question, answers[1]) if answers[1].strip() else next(i for i in ranked if i != first)
    if first == second:
        raise InputUnusable(
            f"“{names(question, [first])[0]}” is compared with itself, so that nothing remains. Name another "
            "answer for one of the two."
        )
    with torch.inference_mode():
        written = _Stream(question, asked.recorded)
        written.run(layers)
        shares = written.through_head(torch.tensor([first, second]))
    total = float(logs[first] - logs[second])
    parts = tuple(
        Part(source, value, layer, head)
        for (source, layer, head), value in zip(written.names, (shares[:, 0] - shares[:, 1]).tolist(), strict=True)
    )
    if abs(sum(part.value for part in parts) - total) > NEAR * max(1.0, abs(total)):
        raise _refused(checkpoint, "its layers or its head do more than is summed")
    answer, other = names(question, (first, second))
    return Attribution(parts, (answer, other), total, labels(question.tokens), question.position)


def _refused(checkpoint: Checkpoint, reason: str) -> InputUnusable:
    return InputUnusable(
        f"The parts of {checkpoint.spec.name} do not sum to its logits here: {reason}. Models such as BERT, GPT-2, "
        "LLaMA and T5 work."
    )


class _Stream:
    """The vectors (P, w) that sum to the residual stream of one position, the sum of the biases first."""

    def __init__(self, question: Inputs, recorded: Run) -> None:
        self.model, self.recorded = question.checkpoint.model, recorded
        self.plan = plan_of(question.checkpoint)
        self.stack = self.plan.stacks[-1]
        self.cross = self.plan.layers.get("cross", ())
        self.at = question.position
        self.names: list[tuple[Source, int | None, int | None]] = [("biases", None, None), ("embedding", None, None)]
        start = self.state("resid_pre", 0)
        self.vectors = torch.stack((torch.zeros_like(start), start))

    def state(self, name: str, layer: int, kind: str | None = None) -> Tensor:
        return self.recorded[kind or self.stack.kind, layer, name][0, self.at]  # type: ignore[index]

    def run(self, layers: tuple[AttentionLayer, ...]) -> None:
        """All layers, and the norm after the last."""
        plan = self.stack.blueprint
        assert plan is not None
        for layer in layers:
            for part, norm in plan.norms.items():
                if part == "feed-forward":
                    self.add([("feed-forward", layer.layer, None)], self.state("mlp_out", layer.layer)[None])
                elif part == "attention":
                    self.attend("attention", layer)
                elif self.cross:
                    self.attend("cross", self.cross[layer.layer])
                else:
                    continue
                if not plan.pre_norm:
                    self.norm(self.model.get_submodule(layer.path(norm)))
        if plan.final:
            self.norm(self.model.get_submodule(layers[0].path(plan.final)))

    def attend(self, source: Source, layer: AttentionLayer) -> None:
        """What each head writes, and the bias of the output projection."""
        z = self.state("z", layer.layer, layer.kind)  # (H, d)
        projection = self.model.get_submodule(layer.path(layer.names.out))
        weight = projection.weight if isinstance(projection, nn.Linear) else projection.weight.T
        heads = torch.einsum("hd,whd->hw", z, weight.view(weight.shape[0], *z.shape))
        bias = self.state("attn_out", layer.layer, layer.kind) - heads.sum(0)
        self.add([(source, layer.layer, head) for head in range(len(z))], heads)
        self.vectors[0] += bias

    def add(self, names: list[tuple[Source, int | None, int | None]], vectors: Tensor) -> None:
        self.names += names
        self.vectors = torch.cat((self.vectors, vectors))

    def norm(self, module: Any) -> None:
        """A norm whose scale is that of the sum; its own bias is one of the biases."""
        total = self.vectors.sum(0)
        centered = isinstance(module, nn.LayerNorm)
        vectors = self.vectors - self.vectors.mean(-1, keepdim=True) if centered else self.vectors
        scale = (module(total) - (module.bias if centered else 0)) / vectors.sum(0)
        self.vectors = vectors * scale
        if centered:
            self.vectors[0] += module.bias

    def through_head(self, answers: Tensor) -> Tensor:
        """(P, A) shares in the logits of ``answers``."""
        modules = dict(self.model.named_modules())
        paths = head_modules(self.plan, modules)
        called = [(paths[site.layer], tensor) for site, tensor in self.recorded.tensors.items() if site.name == "head"]
        for path, entering in called:
            self.scale(entering[0, -1])
            module, last = modules[path], path == called[-1][0]
            if isinstance(module, nn.Linear):
                # of the last projection two rows are needed; a discriminator has one score, that of its first answer
                rows = answers if last and module.out_features > 1 else slice(None)
                self.vectors = self.vectors @ module.weight[rows].T
                if module.bias is not None:
                    self.vectors[0] += module.bias[rows]
            else:
                self.norm(module)
        return self.vectors if self.vectors.shape[1] > 1 else self.vectors * (answers == 0)

    def scale(self, entering: Tensor) -> None:
        """Hold what stands between two modules, such as an activation, at its ratio."""
        total = self.vectors.sum(0)
        self.vectors = self.vectors * torch.where(total == 0, 0.0, entering / total)
