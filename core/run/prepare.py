"""Prepares a loaded model, once: our attention function, and a subclass for each module that is a site.

Its forward pass looks at the context variable of `core.run.run` and is that of the module without a run: torch calls a
module with hooks by a slower path. What a module is called in an architecture, and so which modules are sites, stands
in `sites.toml` alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, wraps
from typing import Any, Literal, NamedTuple

from core.lazy import Tensor, nn
from core.run import attend, odd
from core.run.discover import Caller, discover
from core.run.model import Config, Model
from core.run.run import CURRENT, Kind, Run, Site
from core.run.sites import ADAPTERS, TABLE, AttentionNames, Blueprint


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack of layers: most models have one, an encoder-decoder two."""

    kind: Literal["encoder", "decoder"]
    type: str
    """The model type of the configuration."""
    config: Config
    prefix: str
    """Path of the base model in the whole model, with a dot at the end, or empty."""

    @property
    def blueprint(self) -> Blueprint | None:
        """The modules of its blocks; None for an architecture without a row."""
        return TABLE.get(self.type, {}).get(self.kind)


@dataclass(frozen=True, slots=True)
class AttentionLayer:
    kind: Kind
    layer: int
    heads: int
    names: AttentionNames
    stack: Stack
    numbers: tuple[tuple[str, int], ...]
    """The values for the braces of a name."""

    def path(self, name: str) -> str:
        """A name of the blueprint as a path from the whole model."""
        return self.stack.prefix + name.format(**dict(self.numbers))

    @property
    def module(self) -> str:
        """Path of the module that computes scores and weights."""
        return self.path(self.names.module)


@dataclass(frozen=True)
class Plan:
    """What is known of a prepared model."""

    stacks: tuple[Stack, ...]
    layers: dict[Kind, tuple[AttentionLayer, ...]] = field(default_factory=dict)
    """The attention layers by kind, whose attention is that of `core.run.attend`; empty where they are not known."""


_ADAPTER = re.compile(r"tasks\.[^.]+\.adapters\.(?P<number>\d+)")
"""An adapter of `core.checkpoints.adapters`: of each layer one for attention and one for the feed-forward part."""
_DECODERS = ("decoder", "text_decoder")
"""What gives the head's input in an encoder-decoder whose base model is no module of it."""


class Place(NamedTuple):
    """What a module's input or output is: a site of each of its layers, which call it in turn."""

    kind: Kind
    layers: tuple[int, ...]
    name: str
    tokens_first: bool = False
    """Whether tokens are before rows in the tensor."""


def prepare(model: Model, sides: Sequence[Literal["encoder", "decoder"]]) -> Plan:
    """Prepare a model, if it is not prepared yet.

    Args:
        sides: of its stacks.
    """
    prepared: Plan | None = vars(model).get("_plan")
    if prepared is not None:
        return prepared
    stacks = _stacks(model, sides)
    layers = _layers(model, stacks) if all(stack.blueprint for stack in stacks) else {}
    plan = Plan(stacks, layers)
    modules = dict(model.named_modules())
    into: dict[str, list[Place]] = {}
    out: dict[str, list[Place]] = {}
    for side, path, place in _places(plan, modules):
        (into if side == "in" else out).setdefault(path, []).append(place)
    if plan.layers:
        for stack in plan.stacks:
            odd.install(stack.type, modules[stack.prefix.rstrip(".")].modules())
    for path in {**into, **out}:
        module: Any = modules[path]
        places = tuple(_joined(side.get(path, ())) for side in (into, out))
        vars(module)["_into"], vars(module)["_out"] = places
        vars(module)["_sites"] = frozenset(place.name for side in places for place in side)
        module.__class__ = _with_sites(module.__class__)
    if not plan.layers:
        plan = Plan(stacks, _discovered(discover(model, sides), stacks))
    elif not any(stack.type in odd.MODULES for stack in stacks):
        attend.register()
        getattr(model, "backbone", model).set_attn_implementation(attend.NAME)
    for kind, of_kind in plan.layers.items():
        for layer in of_kind:
            module = modules[layer.module]
            known_layers = vars(module).get("_attends", (kind, ()))[1]
            vars(module)["_attends"] = kind, (*known_layers, layer.layer)
    vars(model)["_plan"] = plan
    return plan


def _joined(places: Sequence[Place]) -> tuple[Place, ...]:
    """One place for each name, with all layers that share the module."""
    by_name: dict[tuple[Kind, str], Place] = {}
    for place in places:
        before = by_name.setdefault((place.kind, place.name), place._replace(layers=()))
        by_name[place.kind, place.name] = before._replace(layers=(*before.layers, *place.layers))
    return tuple(by_name.values())


def _places(plan: Plan, modules: dict[str, nn.Module]) -> Iterator[tuple[Literal["in", "out"], str, Place]]:
    """The side and the path of every module that is a site."""
    for stack in plan.stacks:
        of_kind = plan.layers.get(stack.kind)
        blueprint = stack.blueprint
        if not of_kind or blueprint is None:
            continue
        across = plan.layers.get("cross") if stack.kind == "decoder" else None
        for layer in of_kind:
            for side, name, path in _of_layer(blueprint, crosses=across is not None):
                if path and (path := layer.path(path)) in modules:
                    yield side, path, Place(stack.kind, (layer.layer,), name, blueprint.tokens_first)
        for layer in across or ():
            yield "out", layer.path(layer.names.out), Place("cross", (layer.layer,), "attn_out")
        for name, path in _of_stack(blueprint):
            if path and (path := of_kind[0].path(path)) in modules:
                yield "out", path, Place(stack.kind, (0,), name, blueprint.tokens_first)
    for path in modules:
        if adapter := _ADAPTER.fullmatch(path):
            number, half = divmod(int(adapter["number"]), 2)
            sub_layer = ("attn", "mlp")[half]
            yield "in", f"{path}.up", Place("encoder", (number,), f"{sub_layer}_adapter_mid")
            for part in ("down", "up", "norm"):
                yield "out", f"{path}.{part}", Place("encoder", (number,), f"{sub_layer}_adapter_{part}")
    stack = plan.stacks[-1]
    path = stack.prefix.rstrip(".") or next((name for name in _DECODERS if name in modules), "")
    if len(plan.stacks) == 1 and stack.kind == "decoder" and f"{path}.decoder" in modules:
        path = f"{path}.decoder"
    if path:
        yield "out", path, Place(stack.kind, (0,), "final")
    for number, path in enumerate(head_modules(plan, modules)):
        yield "in", path, Place(stack.kind, (number,), "head")


def head_modules(plan: Plan, modules: Mapping[str, nn.Module]) -> list[str]:
    """Paths of the projections and norms between the last stack and the scores, in no order of their calls."""
    stacks = [stack.prefix for stack in plan.stacks]
    if "" in stacks:  # the stacks are modules of the model itself, such as T5's
        layers = [layer.module for of_kind in plan.layers.values() for layer in of_kind]
        stacks = [f"{path.partition('.')[0]}." for path in layers]
        stacks += [
            f"{path}." for stack in plan.stacks if stack.blueprint for path in stack.blueprint.embedding.values()
        ]
    return [
        path
        for path, module in modules.items()
        if isinstance(module, nn.Linear | nn.LayerNorm) and not path.startswith(tuple(stacks))
    ]


def _of_layer(plan: Blueprint, *, crosses: bool) -> Iterator[tuple[Literal["in", "out"], str, str]]:
    """(side, name, module) of the sites of a layer."""
    first, second, across = (plan.norms.get(part, "") for part in ("attention", "feed-forward", "cross-attention"))
    yield "in", "resid_pre", first if plan.streams == 2 else plan.layer or plan.attention.module
    if plan.attention.score == "rope":
        parts = plan.attention.parts.split()
        yield from (
            ("out", f"{name}_pre", f"{plan.attention.module}.{part}") for name, part in zip("qk", parts, strict=False)
        )
    yield "out", "ln1", first
    yield "out", "attn_out", plan.attention.out
    if crosses:
        yield "out", "ln_cross", across
    if plan.pre_norm:
        yield "in", "resid_mid", second
    else:
        yield "out", "resid_mid", across if crosses and across else first
    yield "out", "ln2", second
    yield from (("out", "mlp_pre", name) for name in plan.inner)
    yield "out", "mlp_gate", plan.gate
    yield "in", "mlp_post", plan.outer
    yield "out", "mlp_out", plan.outer
    if plan.streams == 1:
        yield "out", "resid_post", plan.layer or second


def _of_stack(plan: Blueprint) -> Iterator[tuple[str, str]]:
    """(name, module) of the sites of a stack."""
    names = {"token": "embed", "position": "pos_embed", "segment": "type_embed", "language": "lang_embed"}
    yield from ((names[what], path) for what, path in plan.embedding.items())
    yield "ln_embed", plan.after_embedding.get("norm", "")
    yield "embed_proj", plan.after_embedding.get("projection", "")
    yield "convolution", plan.convolution
    yield "ln_final", plan.final


@cache
def _with_sites(module_class: type[Any]) -> type[Any]:
    """The subclass of the same name whose first argument and output are sites: the places of its instances."""

    original = module_class.forward

    @wraps(original)
    def forward(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        run = CURRENT.get()
        if run is None or run.names.isdisjoint(vars(self)["_sites"]):
            return original(self, *args, **kwargs)
        if args:
            args = (_visited(run, self, "_into", args[0]), *args[1:])
        elif kwargs:
            name, value = next(iter(kwargs.items()))
            kwargs[name] = _visited(run, self, "_into", value)
        return _left(run, self, original(self, *args, **kwargs))

    names = {name: getattr(module_class, name) for name in ("__module__", "__qualname__")}
    return type(module_class.__name__, (module_class,), {"forward": forward, **names})


def _left(run: Run, module: nn.Module, output: Any) -> Any:
    """The output of a module: a tensor, the first of several, or the last state of a base model."""
    if isinstance(output, tuple | list):  # a list of GPT's blocks
        return type(output)((_visited(run, module, "_out", output[0]), *output[1:]))
    if hasattr(output, "last_hidden_state"):
        output.last_hidden_state = _visited(run, module, "_out", output.last_hidden_state)
        return output
    return _visited(run, module, "_out", output)


def _visited(run: Run, module: nn.Module, side: str, tensor: Tensor) -> Tensor:
    for kind, layers, name, tokens_first in vars(module)[side]:
        if name not in run.names:
            continue
        site = Site(run.stream or kind, run.layer_of(module, name, layers), name)
        if run.wants(site):
            rows_first = run.at(site, tensor.transpose(0, 1) if tokens_first else tensor)
            if site in run.tensors:
                run.tensors[site] = rows_first.clone()  # some architectures write into theirs later
            tensor = rows_first.transpose(0, 1) if tokens_first else rows_first
    return tensor


def _stacks(model: Model, sides: Sequence[Literal["encoder", "decoder"]]) -> tuple[Stack, ...]:
    """The stacks of a model, encoder first."""
    config = model.config
    if config.model_type == "encoder-decoder":
        return (
            Stack("encoder", config.encoder.model_type, config.encoder, "encoder."),
            Stack("decoder", config.decoder.model_type, config.decoder, f"decoder.{model.decoder.base_model_prefix}."),
        )
    if hasattr(model, "tasks") and hasattr(model, "backbone"):
        return (Stack("encoder", ADAPTERS, config, "backbone."),)
    names = (model.base_model_prefix, "model")  # the first is another in a text model cut out of a larger one (Llama 4)
    prefix = next((f"{name}." for name in names if hasattr(model, name)), "")
    return tuple(Stack(side, config.model_type, config, prefix) for side in sides)


def _layers(model: Model, stacks: Sequence[Stack]) -> dict[Kind, tuple[AttentionLayer, ...]]:
    """The attention layers of stacks with blueprints, by kind."""
    layers: dict[Kind, tuple[AttentionLayer, ...]] = {}
    for stack in stacks:
        plan = stack.blueprint
        assert plan is not None
        kinds: dict[Kind, AttentionNames | None] = {stack.kind: plan.attention}
        if stack.kind == "decoder" and len(stacks) > 1:
            kinds["cross"] = plan.cross
        for kind, names in kinds.items():
            assert names is not None
            heads = int(getattr(stack.config, names.heads))
            layers[kind] = tuple(
                AttentionLayer(kind, i, heads, names, stack, numbers)
                for i, numbers in enumerate(_numbers(model, stack, names))
            )
    return layers


def _discovered(callers: dict[Kind, list[Caller]], stacks: Sequence[Stack]) -> dict[Kind, tuple[AttentionLayer, ...]]:
    """The attention layers of stacks without blueprints, by kind."""
    layers: dict[Kind, tuple[AttentionLayer, ...]] = {}
    for kind, of_kind in callers.items():
        stack = replace(stacks[0 if kind == "encoder" else -1], prefix="")
        names = (AttentionNames(module=caller.path, out="", parts="") for caller in of_kind)
        layers[kind] = tuple(
            AttentionLayer(kind, i, caller.heads, caller_names, stack, ())
            for i, (caller, caller_names) in enumerate(zip(of_kind, names, strict=True))
        )
    return layers


def _numbers(model: Model, stack: Stack, names: AttentionNames) -> list[tuple[tuple[str, int], ...]]:
    """For each layer the values for the braces of its names."""
    if "{group}" in names.module:
        config = stack.config
        layers, groups, inner = config.num_hidden_layers, config.num_hidden_groups, config.inner_group_num
        return [
            (("group", int(layer / (layers / groups))), ("inner", part))
            for layer in range(layers)
            for part in range(inner)
        ]
    count = len(model.get_submodule(stack.prefix + names.module.partition(".{i}")[0]))
    return [(("i", i),) for i in range(count)]
