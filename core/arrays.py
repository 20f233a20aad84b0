"""Arrays in dataclasses, as pydantic writes and reads them."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Base64Bytes, GetCoreSchemaHandler, GetPydanticSchema
from pydantic_core import core_schema

N = TypeVar("N", bound=np.generic)


def _schema(source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
    """In JSON the shape and the bytes, in C order, of the declared kind of number. What is read is read-only."""
    number = get_args(get_args(source)[1])[0]  # NDArray[number] is ndarray[shape, dtype[number]]
    parts = handler.generate_schema(tuple[tuple[int, ...], Base64Bytes])

    def from_parts(parts: tuple[tuple[int, ...], bytes]) -> NDArray[Any]:
        return np.frombuffer(parts[1], number).reshape(parts[0])

    def to_parts(values: NDArray[Any]) -> tuple[tuple[int, ...], bytes]:
        return values.shape, values.astype(number, casting="same_kind", copy=False).tobytes()

    return core_schema.json_or_python_schema(
        core_schema.no_info_after_validator_function(from_parts, parts),
        core_schema.is_instance_schema(np.ndarray),
        serialization=core_schema.plain_serializer_function_ser_schema(to_parts, return_schema=parts),
    )


_ArrayOf = Annotated[NDArray[N], GetPydanticSchema(_schema)]
Floats = _ArrayOf[np.float32]
Doubles = _ArrayOf[np.float64]
Integers = _ArrayOf[np.int64]
Bools = _ArrayOf[np.bool_]
