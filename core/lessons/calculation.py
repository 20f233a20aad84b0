"""An expression of numbers, computed: ``(1*3 + 2*1) / sqrt(2)`` is 3.54.

It has numbers, ``+ - * / **``, parentheses, and the functions of :data:`FUNCTIONS`; ``softmax(a, b, c)`` is the weight
of the first. Python parses it, and only what is named here is computed, in floating point: nothing runs as code.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

from core.errors import InputUnusable

MOST = 300
"""Characters of an expression."""


def _softmax(*scores: float) -> float:
    first, *others = (math.exp(score - max(scores)) for score in scores)
    return first / (first + sum(others))


FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "ln": math.log,
    "log2": math.log2,
    "min": min,
    "max": max,
    "softmax": _softmax,
}
_SEVERAL = {"min", "max", "softmax"}
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
}


def calculate(text: str) -> float:
    """The value of an expression; a whole number where it is one.

    Raises:
        InputUnusable: it holds something else, or has no finite value.
    """
    if len(text) > MOST:
        raise InputUnusable(f"The expression has {len(text):,} characters; {MOST} fit.")
    try:
        value = _value(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError):
        raise InputUnusable(f"“{text[:60]}” cannot be computed. {_USABLE}") from None
    if not math.isfinite(value):
        raise InputUnusable(f"“{text[:60]}” has no finite value.")
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


_USABLE = f"Use numbers, + - * / **, parentheses, and {', '.join(FUNCTIONS)}."


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left), _value(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            if (len(args) > 1) == (name in _SEVERAL) and args:
                return float(FUNCTIONS[name](*map(_value, args)))
    raise SyntaxError
