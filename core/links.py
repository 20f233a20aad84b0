"""Deep links: the name, default and range of everything that a URL of the app can carry.

A page's state is a flat mapping from names to plain values. :func:`read` turns a raw query into that mapping and says
in a sentence what it refused; :func:`write` turns the mapping back into the shortest query: defaults stay out. A text
travels up to ``MAX_LINK_CHARS`` characters; beyond that :func:`write` leaves it out and the page says so.

Neither torch nor streamlit here: a link can be checked in a test or built in a notebook.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from core.settings import MAX_LINK_CHARS, MAX_TEXT_CHARS

Value = str | int | float | tuple[int, ...] | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a set of words; with ``allowed`` empty, the page passes the set to :func:`read`."""

    default: str | None = None
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Text:
    """Any text up to ``MAX_TEXT_CHARS`` characters. ``None`` stands for the page's own sample."""

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
    default: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Words:
    """Words joined by commas (``minilm,atlas-t5``), at most ``most`` of them; the page passes the set to :func:`read`.

    None stands for all of them.
    """

    most: int
    default: None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A parameter that was not taken over, and the sentence that says why."""

    name: str
    sentence: str


Parameter = Choice | Text | Integer | Real | Integers | Words

_COMMON: dict[str, Parameter] = {
    "system": Choice(),
    "model": Choice(),
    "tab": Choice(allowed=("demo", "heads", "tree", "facts")),
    "size": Choice(),
    "node": Text(),
    "drawing": Choice("tree", ("tree", "treemap", "sunburst", "text", "sizes")),
    "text": Text(),
    "layer": Integer(None, 1, 200),
    "head": Integer(None, 1, 256),
    "view": Choice(),
    "map": Choice(allowed=("encoder", "decoder", "cross", "query")),
    "count": Integer(None, 0, 48),
}
_DECODING: dict[str, Parameter] = {
    "strategy": Choice("greedy", ("greedy", "sample", "beam")),
    "temperature": Real(0.5, 0.1, 3.0),
    "top_k": Integer(0, 0, 1000),
    "top_p": Real(0.9, 0.05, 1.0),
    "beams": Integer(4, 1, 8),
    "length": Integer(40, 1, 200),
    "seed": Integer(0, 0, 2**31 - 1),
}

PAGES: dict[str, dict[str, Parameter]] = {
    "home": {},
    "about": {},
    "encoder": {
        **_COMMON,
        "demo": Choice(None, ("masks", "passes", "parts", "pairs", "translation", "beside")),
        "token": Integer(None, 1, 512),
        "mask": Integers(high=511, most=64),
        "first": Text(),
        "second": Text(),
        "seed": Integer(0, 0, 2**31 - 1),
        "beside": Choice(),
        "task": Choice(),
    },
    "attention": {
        "tab": Choice("heads", ("heads", "all", "bertviz", "block", "off", "grammar", "every", "beside")),
        "model": Choice(),
        "text": Text(),
        "second": Text(),
        "task": Choice(),
        "count": Integer(None, 0, 48),
        "layer": Integer(None, 1, 200),
        "head": Integer(None, 1, 256),
        "map": Choice(allowed=("encoder", "decoder", "cross", "query")),
        "view": Choice(),
        "relation": Choice(),
        "together": Choice(None, ("all", "mean", "maximum", "rollout", "flow", "heads", "layers", "texts", "models")),
        "with": Choice(),
        "other": Text(),
        **{f"{name}{number}": Integer(None, 1, 256) for name in ("layer", "head") for number in (1, 2)},
        "bertviz": Choice(None, ("head", "model", "neuron")),
        "side": Choice(None, ("encoder", "decoder")),
        "step": Choice(),
        "asked": Text(),
        "off": Words(most=300),
        "score": Choice(),
        "least": Real(None, -1.0, 100.0),
        "branch": Choice(),
        "kind": Choice(None, ("encoder", "decoder", "cross", "query")),
        "models": Words(most=100),
        "beside": Words(most=3),
        "role": Choice(),
        "word": Integer(None, 1, 40),
        "at": Integers(high=256, most=6),
    },
    "zoo": {
        "tab": Choice("models", ("models", "compare", "curves")),
        "branch": Choice(),
        "sort": Choice("branch"),
        "left": Choice(),
        "right": Choice(),
        "text": Text(),
        "mask": Integers(high=599, most=64),
        "task": Choice(),
        "measure": Choice(),
        "scale": Choice("log", ("log", "linear")),
        "models": Words(most=100),
    },
    "decoder": {
        **_COMMON,
        **_DECODING,
        "demo": Choice(None, ("codes", "text", "orders", "masks", "memory")),
        "passage": Text(),
        "words": Integers(high=599, most=64),
        "fed": Choice("truth", ("truth", "own")),
        "mask": Integers(high=599, most=64),
        "segment": Choice("64", ("16", "32", "64", "128")),
        "memory": Integer(None, 1, 4096),
        "forced": Integers(high=10**6, most=200),
        "step": Integer(None, 1, 200),
    },
    "encoder-decoder": {
        **_COMMON,
        **_DECODING,
        "task": Choice(),
        "damage": Choice(
            None,
            (
                "mixed",
                "letters",
                "spaces",
                "order",
                "case",
                "mask",
                "delete",
                "infill",
                "permute",
                "rotate",
                "typos",
                "drop",
                "repeat",
                "antspeak",
                "upper",
                "random-case",
                "none",
            ),
        ),
        "rate": Integer(None, 0, 100),
        "forced": Integers(high=10**6, most=200),
        "step": Integer(None, 1, 200),
    },
    "efficient": {
        **_COMMON,
        "sample": Choice(None, ("near", "start", "middle", "own")),
        "tokens": Integer(None, 64, 4096),
        "block": Choice(allowed=("16", "32", "64")),
        "random": Integer(None, 0, 8),
        "window": Integer(None, 1, 9),
        "global": Integer(None, 0, 8),
        "side": Integer(None, 1, 1024),
        "words": Text(),
        "start": Choice("yes", ("yes", "no")),
        **_DECODING,
        "length": Integer(120, 1, 200),
        "demo": Choice(None, ("hashing", "reading", "text")),
        "rounds": Integer(None, 1, 8),
        "forced": Integers(high=10**6, most=200),
        "step": Integer(None, 1, 200),
    },
}
"""Every parameter of every page. Layers and heads count from 1, as papers do."""


def defaults(page: str) -> dict[str, Value]:
    """The state of ``page`` when the URL carries nothing."""
    return {name: parameter.default for name, parameter in PAGES[page].items()}


def read(
    page: str, query: Mapping[str, str], choices: Mapping[str, Collection[str]] | None = None
) -> tuple[dict[str, Value], tuple[Refusal, ...]]:
    """The state that ``query`` asks for, and what was refused.

    ``choices`` gives the allowed words of those :class:`Choice` parameters which only the page knows (systems, models).
    Refused parameters keep their default. Never raises on a visitor's input.
    """
    state = defaults(page)
    refused: list[Refusal] = []
    for name, raw in query.items():
        parameter = PAGES[page].get(name)
        if parameter is None:
            refused.append(Refusal(name, f"The link carries “{_short(name)}”, which this page does not know."))
            continue
        try:
            state[name] = _parse(parameter, raw, (choices or {}).get(name))
        except ValueError as error:
            refused.append(Refusal(name, f"The link asks for {name} “{_short(raw)}”, but {error}."))
    return state, tuple(refused)


def write(page: str, state: Mapping[str, Value]) -> tuple[dict[str, str], bool]:
    """The shortest query for ``state``, and whether a text had to stay behind because it is too long for a link."""
    query: dict[str, str] = {}
    too_long = False
    for name, parameter in PAGES[page].items():
        value = state.get(name, parameter.default)
        if value is None or value == parameter.default:
            continue
        if isinstance(parameter, Text) and len(str(value)) > MAX_LINK_CHARS:
            too_long = True
            continue
        if isinstance(value, tuple):
            query[name] = ("," if isinstance(parameter, Words) else ".").join(str(part) for part in value)
        else:
            query[name] = _plain(value)
    return query, too_long


def url(page: str, state: Mapping[str, Value]) -> str:
    """A relative link to ``page`` with ``state``, e.g. ``/encoder?system=bert``."""
    query, _ = write(page, state)
    path = "/" if page == "home" else f"/{page}"
    return f"{path}?{urlencode(query)}" if query else path


def _parse(parameter: Parameter, raw: str, allowed: Collection[str] | None) -> Value:
    match parameter:
        case Choice():
            words = parameter.allowed or allowed
            if words is not None and raw not in words:
                known = ", ".join(sorted(words)[:24])
                raise ValueError(f"it must be one of: {known}" if known else "there is none here")
            return raw
        case Text():
            if len(raw) > MAX_TEXT_CHARS:
                raise ValueError(f"a text may have {MAX_TEXT_CHARS:,} characters at most")
            return raw
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
            words = tuple(dict.fromkeys(raw.split(","))) if raw else ()
            if len(words) > most:
                raise ValueError(f"at most {most} words fit")
            strange = next((word for word in words if allowed is not None and word not in allowed), None)
            if strange is not None:
                raise ValueError(f"“{_short(strange)}” must be one of: {', '.join(sorted(allowed or ())[:24])}")
            return words


def _whole(raw: str, low: int, high: int) -> int:
    digits = raw.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 12):
        raise ValueError("it must be a whole number")
    if not low <= int(raw) <= high:
        raise ValueError(f"it must lie from {low} to {high}")
    return int(raw)


def _plain(value: str | int | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _short(raw: str) -> str:
    return raw if len(raw) <= 40 else raw[:39] + "…"
