"""The key-value cache: what a model that writes keeps of every token, so that it need not be computed again.

    bytes = b · p · Σ over layers of  min(s, w_l) · k_l

b texts, p bytes a number, s tokens, w_l the layer's window (none: s), k_l numbers a token leaves there:

    2 · g · d                 keys and values of g heads with d numbers each (g = heads without sharing)
    d_c + d_r                 DeepSeek's latent and its rotary key, from which all heads' keys and values follow

A decoder that looks at an encoder keeps that side's keys and values too, 2 · g · d for each token read. An encoder
keeps nothing. This is the layout of the library's own cache, which a test compares byte by byte.
"""

from __future__ import annotations

from core.costs.shape import Shape


def cache_bytes(shape: Shape, tokens: int, *, batch: int = 1, width: float = 2, source: int = 0) -> float:
    """Bytes that ``batch`` texts of ``tokens`` tokens keep, with ``width`` bytes a number.

    Args:
        source: tokens that the encoder has read, for a decoder that looks at one.
    """
    stack = shape.stack("decoder")
    if stack is None:
        return 0
    spans = stack.keys(tokens)
    numbers = sum(min(span, tokens + stack.memory) for span in spans) * stack.kept + stack.layers * stack.constant
    if stack.cross:
        numbers += stack.layers * source * stack.kept
    return float(numbers * batch * width)


def kept_by_one_token(shape: Shape, width: float = 2) -> float:
    """Bytes that one further token adds while no window is full."""
    stack = shape.stack("decoder")
    return 0 if stack is None else stack.layers * stack.kept * width
