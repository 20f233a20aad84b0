"""Large numbers for people: ``109 M`` on a picture, ``109.5 million`` on hover, ``109,482,240`` in a table."""

from __future__ import annotations

_STEPS = ((10**12, "T", "trillion"), (10**9, "B", "billion"), (10**6, "M", "million"), (10**3, "k", "thousand"))


def short(number: int) -> str:
    """Three digits and a letter: 109482240 is ``109 M``, 4350 is ``4.35 k``; below a thousand the number itself."""
    value, letter, _ = _scaled(number)
    return f"{_digits(value, 3)} {letter}" if letter else str(number)


def in_words(number: int) -> str:
    """Four digits and a word: 109482240 is ``109.5 million``; below a thousand the number itself."""
    value, _, word = _scaled(number)
    return f"{_digits(value, 4)} {word}" if word else str(number)


def percent(share: float) -> str:
    """A share between 0 and 1: ``21.4 %``; ``< 0.1 %`` for what is there but would round to nothing."""
    return "< 0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def _scaled(number: int) -> tuple[float, str, str]:
    for step, letter, word in _STEPS:
        if abs(number) >= step:
            return number / step, letter, word
    return float(number), "", ""


def _digits(value: float, digits: int) -> str:
    """``value`` (1 to 999.99...) with so many digits in all, counted after rounding: 99.96 in three is 100."""
    for decimals in (digits - 1, digits - 2, digits - 3):
        text = f"{value:.{decimals}f}"
        if len(text.replace(".", "").lstrip("-")) <= digits:
            return text
    return f"{value:.0f}"
