"""Live module trees: the class of transformers, built from its configuration on torch's meta device.

A tensor on the meta device has a shape and no data, so GPT-3's 174.6 billion parameters need no memory and a fraction
of a second. transformers ties weights (input and output embeddings) during initialization, which does not always happen
on the meta device; they are tied again after building, so that a shared matrix is not counted twice.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from core.anatomy.node import LISTS, ModuleNode
from core.errors import RecordUnusable
from core.lazy import nn, torch, transformers
from core.turns import building, turns

_ONE_LINE = re.compile(r"(\w+)\((.*)\)")
COPY = "{copy}"
"""Replaces the copy's own index in the path of a tie while neighbors are compared."""


@contextlib.contextmanager
def of_record(slug: str, size: str) -> Iterator[None]:
    """Prefix errors about fields inside with the record's file and the size."""
    try:
        yield
    except RecordUnusable as error:
        raise RecordUnusable(f"{slug}.toml: sizes “{size}”.{error}") from error


def build_model(architecture: str, config: str, overrides: Mapping[str, Any]) -> nn.Module:
    """An instance of a class (`named`) on the meta device: its configuration's defaults with ``overrides``.

    An ``EncoderDecoderModel`` has two configurations: ``overrides`` then has the tables ``encoder`` and ``decoder``,
    each with the name of its ``config`` class beside the arguments. Raises :class:`core.errors.RecordUnusable`, which
    starts with the field, for an unknown class or argument and where no network can be built.
    """
    model_class = named(architecture)
    settings = configuration(config, overrides, model_class)
    try:
        with turns.locked(building), torch.device("meta"):
            model = model_class(settings)
    except Exception as error:  # classes of transformers raise anything for inconsistent values
        raise RecordUnusable(f"overrides: {architecture} cannot be built from them: {_first_line(error)}") from error
    # some classes have nothing to tie
    with turns.locked(building), contextlib.suppress(NotImplementedError, AttributeError):
        model.tie_weights()
    built: nn.Module = model
    return built


def named(name: str, field: str = "architecture") -> Any:
    """The class of that name, from transformers or `core.anatomy.own`.

    Raises :class:`core.errors.RecordUnusable`, which starts with ``field``, for an unknown name.
    """
    if hasattr(transformers, name):
        return getattr(transformers, name)
    from core.anatomy import own

    model_class = getattr(own, name, None)
    if model_class is None:
        close = get_close_matches(name, dir(transformers), n=2, cutoff=0.6)
        raise RecordUnusable(
            f"{field}: there is no class named {name!r} in transformers or in core/anatomy/own.py"
            + (f"; is {' or '.join(close)} meant?" if close else ".")
        )
    return model_class


def configuration(
    config: str, overrides: Mapping[str, Any], model_class: object = None
) -> transformers.PretrainedConfig:
    """The configuration of a size: its class's defaults with ``overrides``.

    Args:
        model_class: the class to build, whose code may read arguments that the configuration lacks.

    Raises :class:`core.errors.RecordUnusable`, which starts with the field.
    """
    if config == "EncoderDecoderConfig":
        halves = [
            _configuration(f"overrides.{half}", dict(overrides[half]), model_class) for half in ("encoder", "decoder")
        ]
        # transformers sets is_decoder and add_cross_attention on the second one
        return transformers.EncoderDecoderConfig.from_encoder_decoder_configs(*halves)
    return _configuration("overrides", {"config": config, **overrides}, model_class)


def _configuration(field: str, arguments: dict[str, Any], model_class: object) -> transformers.PretrainedConfig:
    """One configuration, from the name of its class and its arguments."""
    name = arguments.pop("config")
    config_class = named(name, "config" if field == "overrides" else f"{field}.config")
    source = _source(model_class)
    for path, reason in _unknown(config_class(), arguments, source):
        raise RecordUnusable(f"{field}.{path}: {reason}")
    try:
        return config_class(**arguments)
    except Exception as error:
        raise RecordUnusable(f"{field}: {name} does not take them: {_first_line(error)}") from error


def _unknown(
    usual: transformers.PretrainedConfig, arguments: Mapping[str, Any], source: str
) -> Iterator[tuple[str, str]]:
    """Arguments that neither the configuration (``usual``) nor the code of the class has: (path, fault).

    A configuration of transformers accepts unknown arguments silently, so a misspelled size would be ignored.
    """
    for name, value in arguments.items():
        part = getattr(usual, name, None)
        if isinstance(value, dict) and hasattr(part, "model_type"):
            yield from ((f"{name}.{path}", reason) for path, reason in _unknown(part, value, source))
        elif not hasattr(usual, name) and not re.search(rf"\b{re.escape(name)}\b", source):
            close = get_close_matches(name, [*usual.to_dict(), *usual.attribute_map], n=1, cutoff=0.6)
            yield name, f"is no argument of {type(usual).__name__}{f'; is {close[0]} meant?' if close else '.'}"


def _source(model_class: object) -> str:
    """The source of a class's module; may be empty."""
    module = sys.modules.get(getattr(model_class, "__module__", ""))
    try:
        return inspect.getsource(module) if module else ""
    except OSError:
        return ""


def _first_line(error: Exception) -> str:
    """The first line of an error, shortened, with its type."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}{f': {text[:200]}' if text else ''}"


def describe(model: nn.Module) -> ModuleNode:
    """The tree of a module; the data of its tensors are not read."""
    owners: dict[int, str] = {}
    return _describe(model, "", "", owners)


def _describe(module: nn.Module | None, name: str, path: str, owners: dict[int, str]) -> ModuleNode:
    """One module and all below it. ``owners`` maps the identity of a tensor to its first path."""
    if module is None:
        return ModuleNode(name, "NoneType", "")
    tensors, ties = [], []
    for label, tensor in module.named_parameters(recurse=False, remove_duplicate=False):
        tensors.append((label, tuple(tensor.shape)))
        here = f"{path}.{label}" if path else label
        if owners.setdefault(id(tensor), here) != here:
            ties.append((label, owners[id(tensor)]))
    children = [
        _describe(child, label, f"{path}.{label}" if path else label, owners)
        for label, child in module._modules.items()
    ]
    cls, extra = _printed(module)
    node = ModuleNode(
        name=name,
        cls=cls,
        extra=extra,
        children=_collapse(children) if cls in LISTS else tuple(children),
        tensors=tuple(tensors),
        ties=tuple(ties),
        buffers=tuple((label, tuple(value.shape)) for label, value in module.named_buffers(recurse=False)),
    )
    return node.counted()


def _printed(module: nn.Module) -> tuple[str, str]:
    """What torch prints for the module itself: (class, text in parentheses)."""
    if type(module).__repr__ is not nn.Module.__repr__:  # transformers' Conv1D prints itself its own way
        match = _ONE_LINE.fullmatch(repr(module))
        if match and not module._modules:
            return match[1], match[2]
    return type(module).__name__, module.extra_repr()


def _collapse(children: list[ModuleNode]) -> tuple[ModuleNode, ...]:
    """Merges consecutive nodes that are equal but for their index into one with ``repeat``."""
    runs: list[tuple[ModuleNode, list[ModuleNode]]] = []
    for child in children:
        form = _retied(replace(child, name=""), child.name, COPY)
        if runs and runs[-1][0] == form:
            runs[-1][1].append(child)
        else:
            runs.append((form, [child]))
    nodes = []
    for form, members in runs:
        if len(members) == 1:
            nodes.append(members[0])
        else:
            name = f"{members[0].name}-{members[-1].name}"
            nodes.append(_retied(replace(form, name=name, repeat=len(members)), COPY, name))
    return tuple(nodes)


def _retied(node: ModuleNode, old: str, new: str) -> ModuleNode:
    """The node with one step renamed in the paths of its ties: layer 3 of a decoder can share that of the encoder."""
    if not node.ties and not node.children:
        return node
    ties = tuple(
        (label, ".".join(new if step == old else step for step in path.split("."))) for label, path in node.ties
    )
    return replace(node, ties=ties, children=tuple(_retied(child, old, new) for child in node.children))
