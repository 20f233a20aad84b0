"""Requests and results as bytes: a safetensors file with the value as JSON in its metadata and the arrays as tensors.

Only plain values, arrays and dataclasses of ``core`` can be written and read, without pickle: whoever reaches the port
of an engine can start its tasks, but cannot run other code.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

_COLLECTIONS = {"tuple": tuple, "list": list, "set": set, "frozenset": frozenset}


def encode(value: object) -> bytes:
    """``value`` as a message.

    Raises:
        TypeError: it holds something that messages do not carry.
    """
    arrays: dict[str, Any] = {}
    text = json.dumps(_plain(value, arrays))
    try:
        return save(arrays, metadata={"value": text})
    except SafetensorError as error:
        raise TypeError("A message carries arrays of numbers alone.") from error


def decode(message: bytes) -> Any:
    """The value that :func:`encode` wrote.

    Raises:
        ValueError: the bytes are not a message.
    """
    try:
        arrays = load(message)
        header = json.loads(message[8 : 8 + int.from_bytes(message[:8], "little")])
        return _value(json.loads(header["__metadata__"]["value"]), arrays)
    except (SafetensorError, LookupError, TypeError, AttributeError, ImportError) as error:
        raise ValueError("This is no message of the Atlas.") from error


def _plain(value: Any, arrays: dict[str, Any]) -> Any:
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray | np.generic):
        arrays[key := str(len(arrays))] = np.asarray(value, order="C")
        return {"array" if isinstance(value, np.ndarray) else "number": key}
    if isinstance(value, array):  # some ten numbers: a tensor for each would lengthen the header
        return {"column": [value.typecode, value.tolist()]}
    if isinstance(value, Mapping):
        return {"dict": [[_plain(key, arrays), _plain(item, arrays)] for key, item in value.items()]}
    if _is_core_data(kind):
        names = [field.name for field in fields(kind)] if is_dataclass(kind) else kind._fields
        return {f"{kind.__module__}:{kind.__qualname__}": [_plain(getattr(value, name), arrays) for name in names]}
    if _COLLECTIONS.get(kind.__name__) is kind:
        return {kind.__name__: [_plain(item, arrays) for item in value]}
    raise TypeError(f"A message cannot carry a {kind.__qualname__}.")


def _value(plain: Any, arrays: Mapping[str, Any]) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((name, content),) = plain.items()
    if name in ("array", "number"):
        return arrays[content] if name == "array" else arrays[content][()]
    if name == "column":
        return array(*content)
    if name == "dict":
        return {_value(key, arrays): _value(item, arrays) for key, item in content}
    values = [_value(item, arrays) for item in content]
    if name in _COLLECTIONS:
        return _COLLECTIONS[name](values)
    module, _, qualname = name.partition(":")
    if not module.startswith("core."):
        raise TypeError(name)
    kind: Any = getattr(sys.modules.get(module) or import_module(module), qualname)
    if not _is_core_data(kind):
        raise TypeError(name)
    if not is_dataclass(kind):
        return kind(*values)
    # no __init__: nothing is checked or computed again
    instance: Any = object.__new__(kind)  # type: ignore[arg-type]
    for field, item in zip(fields(kind), values, strict=True):
        object.__setattr__(instance, field.name, item)
    return instance


def _is_core_data(kind: Any) -> bool:
    """Whether this class is a dataclass or a named tuple of ``core``."""
    named = isinstance(kind, type) and (is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields")))
    return named and kind.__module__.startswith("core.")
