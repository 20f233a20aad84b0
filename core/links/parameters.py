"""The kinds of URL parameters with their ranges, and how each is parsed; long texts are packed.

A long text is deflated, then encoded in URL-safe base64. English prose becomes little more than half as long, so a link
carries some 10,000 characters of it. A text that begins like a packed one is packed, too, so that :func:`unpacked`
inverts :func:`carried` for every text.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib
from collections.abc import Collection
from dataclasses import dataclass

from core.settings import MAX_LINK_CHARS, MAX_PACKED_CHARS, settings

MARK = "deflate:"


def carried(text: str) -> str | None:
    """``text`` as a link carries it; None where it is too long.

    The limits are :data:`core.settings.MAX_LINK_CHARS` characters unpacked, :data:`core.settings.MAX_PACKED_CHARS`
    packed.
    """
    if len(text) <= MAX_LINK_CHARS and not text.startswith(MARK):
        return text
    try:
        data = zlib.compress(text.encode(), 9)
    except UnicodeEncodeError:  # a lone surrogate, which no link can carry
        return None
    packed = MARK + base64.urlsafe_b64encode(data).decode().rstrip("=")
    return packed if len(packed) <= MAX_PACKED_CHARS else None


def unpacked(raw: str) -> str:
    """The text of ``raw``, the value of a link's parameter.

    Raises:
        ValueError: it is marked as packed but cannot be unpacked; the message ends a sentence of the page.
    """
    if not raw.startswith(MARK):
        return raw
    body = raw.removeprefix(MARK)
    unpacking = zlib.decompressobj()
    most = 4 * settings().max_chars  # bytes of UTF-8: a longer result is no text of ours
    try:
        data = unpacking.decompress(base64.b64decode(body + "=" * (-len(body) % 4), b"-_", validate=True), most)
        text = data.decode()
    except (binascii.Error, ValueError, zlib.error):
        raise ValueError("it is a packed text that cannot be read; copy the link anew") from None
    if not unpacking.eof:
        raise ValueError("it is a packed text that is cut off or too long; copy the link anew")
    return text


Value = str | int | float | tuple[int, ...] | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a set of words; with ``allowed`` empty, the page passes the set to :func:`read_query`."""

    default: str | None = None
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """Any text up to ``ATLAS_MAX_CHARS`` characters. ``None`` stands for the page's own sample."""

    default: str | None = None


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number from ``low`` to ``high``."""

    default: int | None
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Real:
    """A number from ``low`` to ``high``."""

    default: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Integers:
    """Whole numbers joined by dots (``3.7.12``), each from 0 to ``high``, at most ``most`` of them."""

    high: int
    most: int
    default: None = None


@dataclass(frozen=True, slots=True)
class Words:
    """Words joined by commas (``minilm,atlas-t5``), at most ``most``: the page passes the set to :func:`read_query`.

    None stands for all of them.
    """

    most: int
    default: None = None


Parameter = Choice | Text | Integer | Real | Integers | Words


def parse(parameter: Parameter, raw: str, allowed: Collection[str] | None) -> Value:
    """The value of ``raw``. Raises ValueError, whose message ends a sentence and says what is allowed."""
    match parameter:
        case Choice():
            words = parameter.allowed or allowed
            if words is not None and raw not in words:
                listed = ", ".join(sorted(set(words))[:24])
                raise ValueError(f"it must be one of: {listed}" if listed else "there is none to choose")
            return raw
        case Text():
            text = unpacked(raw)
            if len(text) > (most := settings().max_chars):
                raise ValueError(f"a text may have {most:,} characters at most")
            return text
        case Integer(low=low, high=high):
            return _whole(raw, low, high)
        case Real(low=low, high=high):
            try:
                number = float(raw)
            except ValueError:
                raise ValueError("it must be a number") from None
            if not math.isfinite(number) or not low <= number <= high:
                raise ValueError(f"it must lie from {low:g} to {high:g}")
            return number
        case Integers(high=high, most=most):
            parts = raw.split(".") if raw else []
            if len(parts) > most:
                raise ValueError(f"at most {most} numbers fit")
            return tuple(_whole(part, 0, high) for part in parts)
        case Words(most=most):
            words = tuple(dict.fromkeys(filter(None, raw.split(","))))
            if len(words) > most:
                raise ValueError(f"at most {most} words fit")
            unknown = next((word for word in words if allowed is not None and word not in allowed), None)
            if unknown is not None:
                raise ValueError(f"“{short(unknown)}” must be one of: {', '.join(sorted(set(allowed or ()))[:24])}")
            return words


def _whole(raw: str, low: int, high: int) -> int:
    digits = raw.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        raise ValueError("it must be a whole number")
    if not low <= int(raw) <= high:
        raise ValueError(f"it must lie from {low} to {high}")
    return int(raw)


def plain(value: str | int | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def short(raw: str) -> str:
    return raw if len(raw) <= 40 else raw[:39] + "…"
