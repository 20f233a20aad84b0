"""The attention patterns by name: their settings with limits, and the predicate of each over given axes.

A URL parameter encodes a mask: ``window-2-0``.

    mask = name { "-" number }      numbers in the order of the pattern's settings; omitted ones at the end have their
                                    default values

This module alone parses that parameter: an unknown name or a number out of range raises OutOfRange with a message for
the visitor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel

from core import patterns
from core.attention.masks.axes import MOST, Axes, Layout
from core.content import content
from core.errors import OutOfRange
from core.patterns import Pattern
from core.patterns.layout import Sparsity
from core.words import counted

Numbers = tuple[int, ...]
CONTENT, QUERY = 0, 1
"""The two streams of a permutation."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A number that a visitor chooses."""

    label: str
    default: int
    low: int
    high: int
    step: int = 1
    names: tuple[str, ...] = ()
    """Names of the values, from ``low`` on, for a categorical setting."""


@dataclass(frozen=True, slots=True)
class MaskForm:
    key: str
    title: str
    build: Callable[[Axes, Numbers], Pattern]
    settings: tuple[Setting, ...] = ()
    layout: Layout = "text"
    """The layout that the axes need; a pattern for a text also works on an image's tokens."""
    many: int = 0
    """How many positions may be listed instead of settings."""
    usual: Numbers = ()
    """The positions by default."""


def _bigbird(axes: Axes, numbers: Numbers) -> Pattern:
    size, window, ends, drawn, seed = numbers
    sparsity = Sparsity(block_size=size, window=window, global_blocks=ends, random_blocks=drawn, seed=seed)
    return sparsity.pattern(len(axes.keys))


def _permutation(axes: Axes, numbers: Numbers) -> Pattern:
    n = len(axes.keys)
    stream = patterns.query_stream if numbers[1] == QUERY else patterns.content_stream
    return stream(patterns.random_order(n, numbers[0]), n)


_SEED = Setting("Seed", 1, 0, 9999)
_LONG = 10_000
"""More than any published length."""

KINDS: dict[str, MaskForm] = {
    kind.key: kind
    for kind in (
        MaskForm("full", "Fully visible", lambda axes, n: patterns.full),
        MaskForm("causal", "Causal", lambda axes, n: patterns.causal),
        MaskForm("backward", "Right to left", lambda axes, n: patterns.anticausal),
        MaskForm(
            "prefix",
            "Prefix",
            lambda axes, n: patterns.prefix(n[0]),
            (Setting("Prefix, tokens", 4, 0, _LONG),),
        ),
        MaskForm(
            "padding",
            "Padding",
            lambda axes, n: patterns.padding(len(axes.keys) - n[0]),
            (Setting("Padding, tokens", 3, 0, MOST - 1),),
        ),
        MaskForm("cross", "Cross", lambda axes, n: patterns.full, layout="two"),
        MaskForm(
            "permutation",
            "Permutation",
            _permutation,
            (
                Setting("Order", 1, 0, 9999),
                Setting("Stream", CONTENT, CONTENT, QUERY, names=("content stream", "query stream")),
            ),
        ),
        MaskForm(
            "segment",
            "Segments with memory",
            lambda axes, n: patterns.segments(n[0], n[1]),
            (
                Setting("Segment, tokens", 4, 1, _LONG),
                Setting("Memory, tokens", 2, 0, _LONG),
            ),
        ),
        MaskForm(
            "window",
            "Window",
            lambda axes, n: patterns.window(n[0], n[1]),
            (Setting("To the left", 2, 0, _LONG), Setting("To the right", 2, 0, _LONG)),
        ),
        MaskForm(
            "dilated",
            "Dilated window",
            lambda axes, n: patterns.dilated(n[0], n[1]),
            (
                Setting("Keys each side", 2, 0, _LONG),
                Setting("Dilation", 2, 1, _LONG),
            ),
        ),
        MaskForm("global", "Global tokens", lambda axes, n: patterns.global_at(n), many=8, usual=(0,)),
        MaskForm(
            "random",
            "Random",
            lambda axes, n: patterns.random(len(axes.keys), n[0], n[1]),
            (Setting("Keys each", 2, 0, MOST), _SEED),
        ),
        MaskForm(
            "bigbird",
            "BigBird",
            _bigbird,
            (
                Setting("Block, tokens", 4, 2, 128),
                Setting("Window, blocks", 3, 1, 15, step=2),
                Setting("Global, blocks", 2, 0, 8),
                Setting("Random, blocks", 1, 0, 8),
                _SEED,
            ),
        ),
        MaskForm("row", "Image rows", lambda axes, n: patterns.row(axes.caption, axes.side), layout="image"),
        MaskForm(
            "column",
            "Image columns",
            lambda axes, n: patterns.column(axes.caption, axes.side),
            layout="image",
        ),
        MaskForm(
            "convolution",
            "Image convolution",
            lambda axes, n: patterns.convolution(axes.caption, axes.side, n[0]),
            (Setting("Kernel", 3, 1, 11, step=2),),
            layout="image",
        ),
        MaskForm(
            "strided",
            "Strided",
            lambda axes, n: patterns.strided(n[0]),
            (Setting("Stride", 4, 1, _LONG),),
        ),
        MaskForm(
            "fixed",
            "Fixed",
            lambda axes, n: patterns.fixed(n[0], n[1]),
            (
                Setting("Block, tokens", 4, 1, _LONG),
                Setting("Summary, tokens", 1, 1, _LONG),
            ),
        ),
    )
}
"""Every pattern by its key, in the order in which they are offered."""

_MOST_CHARACTERS = 200
_MOST_DIGITS = 5


@dataclass(frozen=True, slots=True)
class ChosenMask:
    """A pattern with all its numbers.

    Raises:
        OutOfRange: no such pattern, too many numbers, or one outside its limits.
    """

    kind: str
    numbers: Numbers = ()

    def __post_init__(self) -> None:
        kind = KINDS.get(self.kind)
        if kind is None:
            raise OutOfRange(f"There is no mask “{self.kind[:40]}”. There are: {', '.join(KINDS)}.")
        most = kind.many or len(kind.settings)
        if len(self.numbers) > most:
            raise OutOfRange(f"“{kind.title}” takes at most {most} numbers, not {len(self.numbers)}.")
        for setting, number in zip(kind.settings, self.numbers, strict=False):
            if not setting.low <= number <= setting.high:
                raise OutOfRange(
                    f"“{setting.label}” of “{kind.title}” goes from {setting.low} to {setting.high}, not {number}."
                )
            if (number - setting.low) % setting.step:
                raise OutOfRange(f"“{setting.label}” of “{kind.title}” is an odd number, not {number}.")
        if kind.key == "fixed" and self.numbers[1] > self.numbers[0]:
            raise OutOfRange(
                f"A block of {counted(self.numbers[0], 'token')} cannot have a summary of "
                f"{counted(self.numbers[1], 'token')}. "
                "Choose a summary that is no longer than the block."
            )

    @property
    def layout(self) -> Layout:
        """The kind of axes that the pattern needs."""
        return KINDS[self.kind].layout

    @property
    def padded(self) -> int:
        """Padding tokens that the axes need."""
        return self.numbers[0] if self.kind == "padding" else 0

    @property
    def title(self) -> str:
        return KINDS[self.kind].title

    def pattern(self, axes: Axes) -> Pattern:
        """The predicate over positions, for these axes."""
        return KINDS[self.kind].build(axes, self.numbers)


def usual(kind: str) -> tuple[int, ...]:
    """The default numbers of a pattern."""
    return KINDS[kind].usual or tuple(setting.default for setting in KINDS[kind].settings)


def parse_mask(raw: str) -> ChosenMask:
    """The mask that a URL parameter encodes.

    Raises:
        OutOfRange: it encodes none.
    """
    if len(raw) > _MOST_CHARACTERS:
        raise OutOfRange(f"A mask has at most {_MOST_CHARACTERS} characters.")
    name, *numbers = raw.split("-")
    if name not in KINDS:
        return ChosenMask(name)
    if any(not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS) for number in numbers):
        raise OutOfRange(f"“{name}” takes whole numbers, separated by “-”, not “{raw[len(name) :][:40]}”.")
    values = tuple(map(int, numbers))
    if KINDS[name].many:
        return ChosenMask(name, tuple(sorted(set(values))) or usual(name))
    return ChosenMask(name, values + usual(name)[len(values) :])


def format_mask(choice: ChosenMask) -> str:
    """The shortest encoding of a mask, the inverse of :func:`parse_mask`."""
    numbers, settings = list(choice.numbers), KINDS[choice.kind].settings
    while settings and numbers and numbers[-1] == settings[len(numbers) - 1].default:
        numbers.pop()
    if KINDS[choice.kind].many and choice.numbers == usual(choice.kind):
        numbers = []
    return "-".join([choice.kind, *map(str, numbers)])


class Description(BaseModel, frozen=True, extra="forbid"):
    """The text about one mask."""

    key: str
    purpose: str
    formula: str
    """The predicate in LaTeX: true where a query i may attend to a key j."""
    symbols: tuple[tuple[str, str], ...] = ()
    """(LaTeX, meaning) of every letter but i, j and n."""
    systems: tuple[str, ...]
    """Slugs of systems that use it."""
    others: str = ""
    """Other users, in words."""
    papers: tuple[str, ...]
    """Slugs of systems whose paper describes it."""
    paper: str = ""
    """A paper that is not of a system here."""
    url: str = ""
    read: str = ""
    """How that paper was read."""
    attempt: str
    notice: str


def lines(formula: str) -> str:
    """A formula of several lines as one array."""
    return r"\begin{array}{l}" + formula + r"\end{array}" if r"\\" in formula else formula


def describe(key: str) -> Description:
    """The text about a mask; every key of :data:`KINDS` has one."""
    words = content("objectives", "mask-patterns").front["mask"]
    return Description.model_validate(next(row for row in words if row["key"] == key))


def setting_help(key: str, label: str) -> str | None:
    """The help of a setting; None where its label suffices."""
    helps: dict[str, dict[str, str]] = content("objectives", "mask-patterns").front["setting"]
    return helps.get(key, {}).get(label)
