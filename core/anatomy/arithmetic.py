"""Arithmetic expressions shown with their results; ``{gpt-2/small}`` is the parameter count of a size.

Expressions are parsed, never executed: numbers, the four operations, powers, parentheses, and the functions below.
Counts come from the stored trees.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable

from core.anatomy.store import tree

_COUNT = re.compile(r"\{([a-z0-9.-]+)/([^{}]+)\}")
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {"comb": math.comb, "mean": lambda *values: sum(values) / len(values)}


def value(expression: str) -> float:
    """The value of an expression. Raises ValueError for anything but arithmetic, KeyError for an unknown size."""
    plain = _COUNT.sub(lambda match: str(_count(*match.groups())), expression)
    return _value(ast.parse(plain, mode="eval").body)


def shown(expression: str) -> str:
    """The expression for display, with the counts: ``174,604,259,328 / 1,557,611,200``."""
    text = _COUNT.sub(lambda match: f"{_count(*match.groups()):,}", expression)
    text = re.sub(r"(?<![\d.,])\d{5,}(?![\d.])", lambda match: f"{int(match.group()):,}", text)
    text = text.replace("**", "^").replace("*", "×")
    return re.sub(r"(?<=[\d) ])-(?=[\d( ])", "−", text)


def is_count(expression: str) -> bool:
    """Whether the expression is a single count."""
    return _COUNT.fullmatch(expression) is not None


def _count(slug: str, size: str) -> int:
    return tree(slug, size).parameters


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left), _value(right))
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*map(_value, args))
    raise ValueError(f"not arithmetic: {ast.unparse(node)}")
