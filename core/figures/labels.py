"""Labels of figures: numbers as the field prints them, and text of a visitor or a model as plotly shows it.

plotly reads a small HTML of its own in labels. Of its entities it knows these three and a few more, but not ``&quot;``:
quotation marks stay as they are, since no label stands inside an attribute.
"""

import re
from html import escape

from core.content import content


def sentence(part: str, /, **values: str | int) -> str:
    """A figure's text alternative: a part of ``assets/content/figures/alt.md``."""
    return content("figures", "alt").part(part, **values)


def label(text: str) -> str:
    """``text`` with ``&``, ``<`` and ``>`` escaped, and so that no hover template fills in ``%{x}``."""
    return escape(text, quote=False).replace("%{", "%&#123;")


_STEPS = ((10**12, "T", "trillion"), (10**9, "B", "billion"), (10**6, "M", "million"), (10**3, "k", "thousand"))


def short(number: int) -> str:
    """Three digits and a letter: 109482240 is ``109 M``, 4350 is ``4.35 k``; below a thousand the number itself."""
    value, letter, _ = _scaled(number)
    return f"{_digits(value, 3)} {letter}" if letter else str(number)


def whole(text: str) -> str:
    """A round number without its empty decimals: ``10.0 M`` as ``10 M``; ``1.02 k`` stays."""
    return re.sub(r"\.0+(?!\d)", "", text)


def in_words(number: int) -> str:
    """Four digits and a word: 109482240 is ``109.5 million``; below a thousand the number itself."""
    value, _, word = _scaled(number)
    return f"{_digits(value, 4)} {word}" if word else str(number)


def percent(share: float) -> str:
    """A share or a probability: ``97.2%``, ``3.1%``; below one percent ``0.04%``; ``< 0.01%`` for what would be 0."""
    value = 100 * share
    if 0 < value < 0.995:
        return f"{value:.2f}%" if value >= 0.01 else "< 0.01%"
    return f"{value:.1f}%"


def with_unit(value: str, unit: str) -> str:
    """A number with its unit, if any: ``33.2%``, ``1.31 bits``."""
    return f"{value}{unit}" if unit.startswith("%") else f"{value} {unit}".strip()


def _scaled(number: int) -> tuple[float, str, str]:
    for step, letter, word in _STEPS:
        if abs(number) >= step:
            return number / step, letter, word
    return float(number), "", ""


def _digits(value: float, digits: int) -> str:
    """``value`` (1 to 999.99...) with ``digits`` significant digits after rounding: 99.96 in three is 100."""
    for decimals in (digits - 1, digits - 2, digits - 3):
        text = f"{value:.{decimals}f}"
        if len(text.replace(".", "").lstrip("-")) <= digits:
            return text
    return f"{value:.0f}"


def in_bytes(count: float) -> str:
    """Bytes in three digits and a decimal unit: 4718592 is ``4.72 MB``; GB are 10⁹ bytes."""
    for step, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= step:
            return f"{_digits(count / step, 3)} {unit}"
    return f"{count:.0f} B"


def scientific(value: float, digits: int = 2) -> str:
    """A number in powers of ten: 4.31e-6 is ``4.3 × 10⁻⁶``."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{raised}"


def in_operations(count: float) -> str:
    """Operations in three digits: 3.14e23 is ``3.14 × 10²³``, 249e6 is ``249 million``."""
    if count < 1e15:
        return in_words(round(count))
    return scientific(count, 3)
