"""Live module trees: the real transformers class, built from its configuration on torch's meta device.

A tensor on the meta device has a shape and no numbers, so GPT-3's 174.6 billion parameters need no memory and a
fraction of a second. transformers ties weights (input and output embeddings) while it initializes numbers, which does
not always happen on the meta device; they are tied again after building, else a shared matrix would be counted twice.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from core.anatomy.node import LISTS, ModuleNode
from core.errors import RecordUnusable

if TYPE_CHECKING:
    from torch import nn

_ONE_LINE = re.compile(r"(\w+)\((.*)\)")
COPY = "{copy}"
"""Stands in a tie's path for the copy's own index while neighbors are compared."""


@contextlib.contextmanager
def of_record(slug: str, size: str) -> Iterator[None]:
    """Put the record's file and the size before what is said of its fields inside."""
    try:
        yield
    except RecordUnusable as error:
        raise RecordUnusable(f"{slug}.toml: sizes “{size}”.{error}") from error


def build_model(architecture: str, config: str, overrides: Mapping[str, Any]) -> nn.Module:
    """An instance of a class (`named`) without weights: its configuration's defaults with ``overrides``.

    An ``EncoderDecoderModel`` has two configurations: ``overrides`` then holds the tables ``encoder`` and ``decoder``,
    each with the name of its ``config`` class beside the arguments. Raises :class:`core.errors.RecordUnusable`, which
    begins with the field, where there is no such class or no such argument or where they do not make a network.
    """
    import torch

    model_class = named(architecture)
    settings = configuration(config, overrides, model_class)
    try:
        with torch.device("meta"):
            model = model_class(settings)
    except Exception as error:  # whatever a class of another's says of values that do not go together
        raise RecordUnusable(f"overrides: {architecture} cannot be built from them: {_first_line(error)}") from error
    with contextlib.suppress(NotImplementedError, AttributeError):  # some classes have nothing to tie
        model.tie_weights()
    built: nn.Module = model
    return built


def named(name: str, field: str = "architecture") -> Any:
    """The class of that name: transformers' own, or one that it lacks and a module ``core.anatomy.own…`` has.

    Raises :class:`core.errors.RecordUnusable`, which begins with ``field``, where neither has it.
    """
    import transformers

    if hasattr(transformers, name):
        return getattr(transformers, name)
    from core.anatomy import own, own_transformer

    modules = (own, own_transformer)
    model_class = next((getattr(module, name) for module in modules if hasattr(module, name)), None)
    if model_class is None:
        close = get_close_matches(name, dir(transformers), n=2, cutoff=0.6)
        raise RecordUnusable(
            f"{field}: there is no class named {name!r} in transformers or in core/anatomy/own*.py"
            + (f"; is {' or '.join(close)} meant?" if close else ".")
        )
    return model_class


def configuration(config: str, overrides: Mapping[str, Any], model_class: Any = None) -> Any:
    """The configuration of a size: its class's defaults with ``overrides``, in two halves where it has two.

    Args:
        model_class: what is built from it, which may read arguments that the configuration does not know.

    Raises :class:`core.errors.RecordUnusable`, which begins with the field.
    """
    import transformers

    if config == "EncoderDecoderConfig":
        halves = [
            _configuration(f"overrides.{half}", dict(overrides[half]), model_class) for half in ("encoder", "decoder")
        ]
        # transformers sets is_decoder and add_cross_attention on the second one
        return transformers.EncoderDecoderConfig.from_encoder_decoder_configs(*halves)
    return _configuration("overrides", {"config": config, **overrides}, model_class)


def _configuration(field: str, arguments: dict[str, Any], model_class: Any) -> Any:
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


def _unknown(usual: Any, arguments: Mapping[str, Any], source: str) -> Iterator[tuple[str, str]]:
    """Arguments that neither a configuration (``usual``) nor the code of the class has: (path, what is wrong).

    A configuration of transformers keeps what it does not know without a word; a misspelt size would count as another.
    """
    for name, value in arguments.items():
        part = getattr(usual, name, None)
        if isinstance(value, dict) and hasattr(part, "model_type"):
            yield from ((f"{name}.{path}", reason) for path, reason in _unknown(part, value, source))
        elif not hasattr(usual, name) and not re.search(rf"\b{re.escape(name)}\b", source):
            close = get_close_matches(name, [*usual.to_dict(), *usual.attribute_map], n=1, cutoff=0.6)
            yield name, f"is no argument of {type(usual).__name__}{f'; is {close[0]} meant?' if close else '.'}"


def _source(model_class: Any) -> str:
    """The code of the file that a class stands in; empty where there is none."""
    import inspect
    import sys

    module = sys.modules.get(getattr(model_class, "__module__", ""))
    try:
        return inspect.getsource(module) if module else ""
    except OSError:
        return ""


def _first_line(error: Exception) -> str:
    """What an error of another's says, short, with its kind."""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}{f': {text[:200]}' if text else ''}"


def describe(model: nn.Module) -> ModuleNode:
    """The tree of a module that is already built; the numbers in its tensors are not looked at."""
    owners: dict[int, str] = {}
    return _describe(model, "", "", owners)


def _describe(module: nn.Module | None, name: str, path: str, owners: dict[int, str]) -> ModuleNode:
    """One module and all below it. ``owners`` maps a tensor's identity to the path where it was met first."""
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
    """What torch prints for the module itself: (class, text in the brackets)."""
    from torch import nn

    if type(module).__repr__ is not nn.Module.__repr__:  # transformers' Conv1D prints itself its own way
        own = _ONE_LINE.fullmatch(repr(module))
        if own and not module._modules:
            return own[1], own[2]
    return type(module).__name__, module.extra_repr()


def _collapse(children: list[ModuleNode]) -> tuple[ModuleNode, ...]:
    """Neighbors that are equal in everything but their index become one node with ``repeat``."""
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
    """The node with one step of its ties' paths renamed: layer 3 of a decoder may share layer 3 of the encoder."""
    if not node.ties and not node.children:
        return node
    ties = tuple(
        (label, ".".join(new if step == old else step for step in path.split("."))) for label, path in node.ties
    )
    return replace(node, ties=ties, children=tuple(_retied(child, old, new) for child in node.children))
