r"""A live model with one part broken: its prediction for a text, and its loss on a text held out from training.

A switch turns one part off, or gives it something wrong, in all layers at once. Most are edits of a pass:

================  ====================================================================================================
scale             the scores :math:`q k^\top`, not divided by :math:`\sqrt d`
causal            a decoder's mask lets a token attend to later ones, too
causal-added      an encoder's mask hides later tokens, as a decoder's does
mask-hidden       no token may attend to a ``[MASK]``
padding           padding beside the text, and a mask that lets all tokens attend to it
positions         position embeddings, relative terms or rotations are those of one place
reversed          the first token has the last position
keys              K = Q: the scores of two tokens for each other are the same
values            V = X: the values are the layer's input, a slice of it for each head
uniform           each token attends equally to all that it may attend to
residual          :math:`x \leftarrow \mathrm{sub}(x)`, by subtracting x from what a sub-layer adds to it
norm              a layer's norms return what they read
feed-forward      feed-forward parts add 0
first             every layer after the first returns what it reads
order             the layers in reversed order: a copy of the stack that has the same layers
================  ====================================================================================================

Losses are in bits per token, :math:`-\log_2 p` of the truth; the uniform guess has :math:`\log_2 V`.

Legend: R rows, n tokens, M predicted positions, V possible answers, H heads, d head dimension.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from core.attention.ablation.ablate import Change, kl_bits
from core.attention.ablation.question import ask, names
from core.attention.layers import blueprint_of, has_blueprint, plan_of
from core.checkpoints.families.architectures import has
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable
from core.interventions.heldout import HeldOut, held_out
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.tokens import check_length
from core.lazy import Tensor, torch
from core.run.model import Model
from core.run.odd import COMPONENTS
from core.run.prepare import AttentionLayer
from core.run.run import Edit, Kind, Site, run
from core.turns import turns

PADS = 16
"""Tokens of padding beside a text."""
Lack = Literal[
    "",
    "unscaled",
    "bidirectional",
    "causal",
    "no mask",
    "no positions",
    "not mirrored",
    "other width",
    "joint",
    "shared",
    "one layer",
    "first bias",
    "no padding",
]
"""Why an architecture lacks what a switch breaks, by the part of the content that says it; empty where it does not."""
Edits = dict[Site, Edit]


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """What a pass is made of while one part is broken."""

    model: Model
    tensors: dict[str, Tensor]
    edits: Edits = field(default_factory=dict)
    shift: int = 0
    """Tokens that stand before the text."""


class Switch(NamedTuple):
    lacks: Callable[[Checkpoint], Lack]
    broken: Callable[[Checkpoint, dict[str, Tensor]], Pass]
    """Of the tensors of a text."""


@dataclass(frozen=True, slots=True)
class Breaking:
    """A prediction before and after one part is broken."""

    changes: tuple[Change, ...]
    """The answers among the best before or after, by probability before."""
    bits: float
    """KL(before ‖ after); infinite where the broken model's numbers overflow, which predicts nothing."""
    control: float | None = None
    """The same for padding with the right mask."""


@dataclass(frozen=True, slots=True)
class PartLosses:
    """The losses of a model on its held-out text, in bits per token."""

    intact: float
    broken: dict[str, float]
    """By switch, the largest first; infinite where the numbers overflow."""
    uniform: float
    """Of a guess that gives all answers the same probability."""
    tokens: int
    """How many are predicted."""


def offered(checkpoint: Checkpoint) -> dict[str, Lack]:
    """Every switch, with why it is not offered for this model.

    Raises:
        InputUnusable: the layers of this architecture are not known, or carry several streams or adapters.
    """
    spec = checkpoint.spec
    streams = "query" in spec.family.streams or has(plan_of(checkpoint).stacks[0].config, "hashing")
    if not has_blueprint(checkpoint) or streams or spec.offers("classifies texts"):
        raise InputUnusable(
            f"No part of {spec.name} can be switched off here: its layers are not known to the Atlas, or carry "
            "several streams or adapters. Models such as BERT, GPT-2, T5 and BART work."
        )
    return {name: switch.lacks(checkpoint) for name, switch in SWITCHES.items()}


def break_part(
    checkpoint: Checkpoint, text: str, switch: str, *, task: str | None = None, step: int = 0, k: int = 5
) -> Breaking:
    """The prediction for ``text`` before and after a switch.

    Args:
        task, step: as for `core.language.makers.inputs`.
        k: answers to report.

    Raises:
        InputUnusable: this model lacks what the switch breaks; also as :func:`offered`.
        InputEmpty, InputTooLong, InputUnusable, UnknownTask, OutOfRange: as `core.language.makers.inputs`.
    """
    _demand(checkpoint, switch)
    question = inputs(checkpoint, text, task, step)
    if switch == "padding" and not checkpoint.spec.offers("continues"):  # there it takes no positions
        check_length(checkpoint, len(question.of_text) + PADS)
    (before,) = ask(question).logs
    after = _answer(question, SWITCHES[switch].broken(checkpoint, question.tensors))
    control = None
    if switch == "padding":
        control = float(kl_bits(before, _answer(question, _padded(checkpoint, question.tensors, right=True))))
    overflows = bool(after.isnan().any())
    if overflows:
        after = torch.full_like(after, -torch.inf)
    ids = {
        i for logs in (before, *([] if overflows else [after])) for i in logs.topk(min(k, len(logs))).indices.tolist()
    }
    ordered = sorted(ids, key=lambda i: (-float(before[i]), i))
    changes = (
        Change(name, i, math.exp(before[i]), math.exp(after[i]))
        for name, i in zip(names(question, ordered), ordered, strict=True)
    )
    return Breaking(tuple(changes), math.inf if overflows else float(kl_bits(before, after)), control)


def part_losses(checkpoint: Checkpoint) -> PartLosses | None:
    """The losses of a model with each part broken in turn; None where no held-out text is for what it does.

    Raises:
        InputUnusable: as :func:`offered`.
    """
    switches = [switch for switch, lack in offered(checkpoint).items() if not lack]
    texts = held_out(checkpoint, PADS)
    if not texts:
        return None
    tokens = sum(text.truth.numel() for text in texts)
    sums: dict[str, float] = {}
    options = 0
    for switch in ("", *switches):
        sums[switch] = 0.0
        for text in texts:
            turns.step()
            logs = _log_probabilities(checkpoint, text, switch)
            options = logs.shape[-1]
            nats = -float(logs.gather(-1, text.truth[..., None]).double().sum())
            sums[switch] += math.inf if math.isnan(nats) else nats
    bits = {switch: total / tokens / math.log(2) for switch, total in sums.items()}
    intact = bits.pop("")
    return PartLosses(intact, dict(sorted(bits.items(), key=lambda item: -item[1])), math.log2(options), tokens)


def _demand(checkpoint: Checkpoint, switch: str) -> None:
    """Raise :class:`InputUnusable` for a switch that a model does not have."""
    if offered(checkpoint).get(switch, "unknown"):
        raise InputUnusable(f"{checkpoint.spec.name} has no part that the switch “{switch[:40]}” could break.")


def _answer(question: Inputs, broken: Pass) -> Tensor:
    """(V,) log-probabilities of the answers."""
    changed = replace(
        question,
        checkpoint=replace(question.checkpoint, model=broken.model),
        tensors=broken.tensors,
        positions=tuple(position + broken.shift for position in question.positions),
    )
    return ask(changed, edits=broken.edits).logs[0]


def _log_probabilities(checkpoint: Checkpoint, text: HeldOut, switch: str) -> Tensor:
    """(R, M, V) log-probabilities at the predicted positions of a held-out text."""
    broken = Pass(checkpoint.model, text.tensors)
    if switch:
        broken = SWITCHES[switch].broken(checkpoint, text.tensors)
    at = [position + broken.shift for position in text.positions]
    edits = broken.edits | {Site(plan_of(checkpoint).stacks[-1].kind, 0, "final"): lambda states: states[:, at]}
    logits = run(broken.model, broken.tensors, edits=edits).output.logits.float()
    with torch.inference_mode():
        if checkpoint.spec.offers("detects replaced tokens"):  # one score: that of "replaced"
            logits = torch.stack((torch.zeros_like(logits), logits), -1)
        return logits.log_softmax(-1)


class _Note:
    """An edit that changes nothing and keeps the tensor for a later edit of the same pass."""

    tensor: Tensor

    def __call__(self, tensor: Tensor) -> Tensor:
        self.tensor = tensor
        return tensor


def _by(change: Callable[..., Tensor], *notes: _Note) -> Edit:
    """The edit that calls ``change`` with the tensor of its site and those of the notes."""
    return lambda tensor: change(tensor, *(note.tensor for note in notes))


def _layers(checkpoint: Checkpoint, *kinds: Kind) -> Iterator[AttentionLayer]:
    """The attention layers of some kinds; without any, of all."""
    for kind, layers in plan_of(checkpoint).layers.items():
        if not kinds or kind in kinds:
            yield from layers


def _sites(checkpoint: Checkpoint, name: str, edit: Edit, *kinds: Kind) -> Edits:
    """The same edit at one site of all layers."""
    return {Site(layer.kind, layer.layer, name): edit for layer in _layers(checkpoint, *kinds)}


def _edited(edits: Callable[[Checkpoint], Edits]) -> Callable[[Checkpoint, dict[str, Tensor]], Pass]:
    """A pass over the same tensors with the edits of a checkpoint."""
    return lambda checkpoint, tensors: Pass(checkpoint.model, tensors, edits(checkpoint))


def _first(checkpoint: Checkpoint) -> AttentionLayer:
    return next(_layers(checkpoint))


def _scale_lacks(checkpoint: Checkpoint) -> Lack:
    return "unscaled" if _first(checkpoint).names.scale == "one" else ""


def _scale(checkpoint: Checkpoint) -> Edits:
    edits: Edits = {}
    for layer in _layers(checkpoint):
        query = edits[Site(layer.kind, layer.layer, "q")] = _Note()
        edits[Site(layer.kind, layer.layer, "scores")] = _by(lambda scores, q: scores * q.shape[-1] ** 0.5, query)
    return edits


def _causal_lacks(checkpoint: Checkpoint) -> Lack:
    return "" if "decoder" in plan_of(checkpoint).layers else "bidirectional"


def _causal(checkpoint: Checkpoint) -> Edits:
    return _sites(checkpoint, "mask", lambda allowed: allowed | allowed.transpose(-1, -2), "decoder")


def _causal_added_lacks(checkpoint: Checkpoint) -> Lack:
    return "" if "encoder" in plan_of(checkpoint).layers else "causal"


def _causal_added(checkpoint: Checkpoint) -> Edits:
    return _sites(checkpoint, "mask", lambda allowed: allowed & torch.ones_like(allowed).tril(), "encoder")


def _mask_hidden_lacks(checkpoint: Checkpoint) -> Lack:
    return "" if checkpoint.spec.offers("predicts masked tokens") else "no mask"


def _mask_hidden(checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> Pass:
    other = (tensors["input_ids"] != checkpoint.tokenizer.mask_token_id)[:, None, None]  # (R, 1, 1, n)
    return Pass(checkpoint.model, tensors, _sites(checkpoint, "mask", lambda allowed: allowed & other, "encoder"))


def _padding_lacks(checkpoint: Checkpoint) -> Lack:
    return "no padding" if has(plan_of(checkpoint).stacks[0].config, "memory") else ""


def _padded(checkpoint: Checkpoint, tensors: dict[str, Tensor], *, right: bool = False) -> Pass:
    """A pass over a text with `PADS` tokens of padding: before it in a decoder, which would not see what comes later.

    Args:
        right: whether the mask hides the padding, so that nothing changes; otherwise it hides nothing. Positions are
            those of the text in both.
    """
    tokenizer = checkpoint.tokenizer
    pad = next(token for token in (tokenizer.pad_token_id, tokenizer.eos_token_id, 0) if token is not None)
    ids = tensors["input_ids"]
    before = checkpoint.spec.offers("continues")
    shift = PADS if before else 0

    def beside(values: Tensor, fill: int) -> Tensor:
        filled = values.new_full((len(values), PADS), fill)
        return torch.cat((filled, values) if before else (values, filled), dim=1)

    of_text = beside(torch.ones_like(ids), 0)
    padded = {
        **tensors,
        "input_ids": beside(ids, pad),
        "attention_mask": of_text if right else torch.ones_like(of_text),
    }
    if before and _takes_positions(checkpoint):
        padded["position_ids"] = (of_text.cumsum(-1) - 1).clamp(min=0)
    if "langs" in tensors:
        padded["langs"] = beside(tensors["langs"], int(tensors["langs"][0, 0]))
    return Pass(checkpoint.model, padded, shift=shift)


def _takes_positions(checkpoint: Checkpoint) -> bool:
    return "position_ids" in inspect.signature(type(checkpoint.model).forward).parameters


def _position_sites(checkpoint: Checkpoint) -> Iterator[Site]:
    """The sites of position embeddings, or of the summands of a score that depend on positions."""
    plan = plan_of(checkpoint)
    modules = dict(checkpoint.model.named_modules())
    for kind in ("encoder", "decoder"):
        for layer in plan.layers.get(kind, ()):
            score = layer.names.score
            path = blueprint_of(layer).embedding.get("position")
            if layer.layer == 0 and path and layer.path(path) in modules:
                yield Site(kind, 0, "pos_embed")
            if score == "relative_bias":
                yield Site(kind, layer.layer, "terms.position")
            if score == "two_stream":
                yield from (Site(kind, layer.layer, f"terms.{name}") for name in ("position", "position bias"))
            if score == "disentangled":
                terms = [name for name in COMPONENTS[1:] if name in layer.stack.config.pos_att_type]
                yield from (Site(kind, layer.layer, f"terms.{name}") for name in terms)


def _positions_lack(checkpoint: Checkpoint) -> Lack:
    return "" if any(_position_sites(checkpoint)) or _takes_positions(checkpoint) else "no positions"


def _no_positions(checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> Pass:
    if sites := [*_position_sites(checkpoint)]:
        return Pass(checkpoint.model, tensors, dict.fromkeys(sites, torch.zeros_like))
    return _at(checkpoint, tensors, torch.zeros_like(tensors["input_ids"]))


def _reversed_lacks(checkpoint: Checkpoint) -> Lack:
    if _first(checkpoint).names.score in ("two_stream", "disentangled"):
        return "not mirrored"
    return _positions_lack(checkpoint)


def _reversed_positions(checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> Pass:
    edits: Edits = {
        site: (lambda rows: rows.flip(-2)) if site.name == "pos_embed" else (lambda bias: bias.transpose(-1, -2))
        for site in _position_sites(checkpoint)
    }
    if edits:
        return Pass(checkpoint.model, tensors, edits)
    ids = tensors["input_ids"]
    places = torch.arange(ids.shape[1] - 1, -1, -1).expand(len(ids), -1)
    return _at(checkpoint, tensors, places)


def _at(checkpoint: Checkpoint, tensors: dict[str, Tensor], places: Tensor) -> Pass:
    """A pass with other positions (R, n), for rotations and sinusoids.

    Without a mask of its own transformers takes positions that do not rise for texts packed into one row.
    """
    mask = torch.ones_like(tensors["input_ids"])
    return Pass(checkpoint.model, {**tensors, "position_ids": places, "attention_mask": mask})


def _present(_: Checkpoint) -> Lack:
    return ""


def _keys(checkpoint: Checkpoint) -> Edits:
    edits: Edits = {}
    for layer in _layers(checkpoint, "encoder", "decoder"):
        query = edits[Site(layer.kind, layer.layer, "q")] = _Note()
        edits[Site(layer.kind, layer.layer, "k")] = _by(lambda _, q: q, query)
    return edits


def _values_lack(checkpoint: Checkpoint) -> Lack:
    layer = _first(checkpoint)
    if not layer.names.out:
        return ""
    weight = checkpoint.model.get_submodule(layer.path(layer.names.out)).weight
    return "" if weight.shape[0] == weight.shape[1] else "other width"


def _values(checkpoint: Checkpoint) -> Edits:
    edits: Edits = {}
    for layer in _layers(checkpoint, "encoder", "decoder"):
        read = "ln1" if blueprint_of(layer).pre_norm else "resid_pre"
        state = edits[Site(layer.kind, layer.layer, read)] = _Note()
        edits[Site(layer.kind, layer.layer, "v")] = _by(
            lambda values, x: x.unflatten(-1, (values.shape[1], -1)).transpose(1, 2), state
        )
    return edits


def _uniform(checkpoint: Checkpoint) -> Edits:
    edits: Edits = {}
    for layer in _layers(checkpoint):
        mask = edits[Site(layer.kind, layer.layer, "mask")] = _Note()
        edits[Site(layer.kind, layer.layer, "pattern")] = _by(
            lambda pattern, allowed: (allowed / allowed.sum(-1, keepdim=True)).to(pattern.dtype).expand_as(pattern),
            mask,
        )
    return edits


def _joint_lacks(checkpoint: Checkpoint) -> Lack:
    return "" if _first(checkpoint).names.out else "joint"


def _residual(checkpoint: Checkpoint) -> Edits:
    edits: Edits = {}
    for layer in _layers(checkpoint, "encoder", "decoder"):
        site = partial(Site, layer.kind, layer.layer)
        read = edits[site("resid_pre")] = _Note()
        middle = edits[site("resid_mid")] = _Note()
        attended = _Note()
        edits[site("attn_out")] = _by(partial(_noted_difference, attended), read)
        edits[site("mlp_out")] = _by(torch.sub, middle)
        if _crosses(checkpoint, layer):
            if not blueprint_of(layer).pre_norm:  # whose cross-attention adds to the norm of what attention leaves
                attended = edits[site("ln1")] = _Note()
            edits[Site("cross", layer.layer, "attn_out")] = _by(torch.sub, attended)
    return edits


def _noted_difference(note: _Note, added: Tensor, state: Tensor) -> Tensor:
    return note(added) - state


def _norm(checkpoint: Checkpoint) -> Edits:
    edits: Edits = {}
    for layer in _layers(checkpoint, "encoder", "decoder"):
        site = partial(Site, layer.kind, layer.layer)
        read = edits[site("resid_pre")] = _Note()
        attention = edits[site("attn_out")] = _Note()
        middle = edits[site("resid_mid")] = _Note()
        if blueprint_of(layer).pre_norm:
            edits[site("ln1")] = _by(lambda _, x: x, read)
            edits[site("ln2")] = _by(lambda _, x: x, middle)
            if _crosses(checkpoint, layer):
                edits[site("ln_cross")] = _by(lambda _, x, added: x + added, read, attention)
            continue
        outer = edits[site("mlp_out")] = _Note()
        edits[site("ln1")] = _by(lambda _, x, added: x + added, read, attention)
        edits[site("ln2")] = _by(lambda _, x, added: x + added, middle, outer)
        if _crosses(checkpoint, layer):
            cross = edits[Site("cross", layer.layer, "attn_out")] = _Note()
            edits[site("ln_cross")] = _by(lambda _, x, first, second: x + first + second, read, attention, cross)
    return edits


def _crosses(checkpoint: Checkpoint, layer: AttentionLayer) -> bool:
    plan = plan_of(checkpoint)
    return "cross" in plan.layers and layer.stack is plan.stacks[-1]


def _feed_forward(checkpoint: Checkpoint) -> Edits:
    return _sites(checkpoint, "mlp_out", torch.zeros_like, "encoder", "decoder")


def _depth_lacks(checkpoint: Checkpoint) -> Lack:
    layers = plan_of(checkpoint).layers
    return "" if any(len(of_kind) > 1 for of_kind in layers.values()) else "one layer"


def _first_alone(checkpoint: Checkpoint) -> Edits:
    edits: Edits = {}
    for layer in _layers(checkpoint, "encoder", "decoder"):
        if layer.layer:
            state = edits[Site(layer.kind, layer.layer, "resid_pre")] = _Note()
            edits[Site(layer.kind, layer.layer, "resid_post")] = _by(lambda _, x: x, state)
    return edits


def _order_lacks(checkpoint: Checkpoint) -> Lack:
    if has(plan_of(checkpoint).stacks[0].config, "shared layers"):
        return "shared"
    if _first(checkpoint).names.score == "relative_bias":
        return "first bias"
    return _depth_lacks(checkpoint)


def _order(checkpoint: Checkpoint, tensors: dict[str, Tensor]) -> Pass:
    lists = {
        layer.path(path).partition(".{i}")[0].partition(f".{layer.layer}")[0]: None
        for layer in _layers(checkpoint, "encoder", "decoder")
        for path, _ in blueprint_of(layer).modules()
        if ".{i}" in path
    }
    model: Any = checkpoint.model
    for path in lists:
        model = _reversed_at(model, path.split("."))
    return Pass(model, tensors)


def _reversed_at(module: Any, path: list[str]) -> Any:
    """A copy of a module, with the same weights and the submodules of the list at ``path`` in reversed order.

    Only the modules on the way are copied, so that the model that others run is left as it is.
    """
    copied = object.__new__(type(module))
    vars(copied).update(vars(module))
    children = dict(module._modules)
    if path:
        children[path[0]] = _reversed_at(children[path[0]], path[1:])
    else:
        children = dict(zip(children, reversed(children.values()), strict=True))
    vars(copied)["_modules"] = children
    return copied


SWITCHES: dict[str, Switch] = {
    "positions": Switch(_positions_lack, _no_positions),
    "reversed": Switch(_reversed_lacks, _reversed_positions),
    "causal": Switch(_causal_lacks, _edited(_causal)),
    "causal-added": Switch(_causal_added_lacks, _edited(_causal_added)),
    "padding": Switch(_padding_lacks, _padded),
    "mask-hidden": Switch(_mask_hidden_lacks, _mask_hidden),
    "scale": Switch(_scale_lacks, _edited(_scale)),
    "keys": Switch(_present, _edited(_keys)),
    "values": Switch(_values_lack, _edited(_values)),
    "uniform": Switch(_present, _edited(_uniform)),
    "residual": Switch(_joint_lacks, _edited(_residual)),
    "norm": Switch(_joint_lacks, _edited(_norm)),
    "feed-forward": Switch(_present, _edited(_feed_forward)),
    "first": Switch(_depth_lacks, _edited(_first_alone)),
    "order": Switch(_order_lacks, _order),
}
"""In the order of the menu."""
