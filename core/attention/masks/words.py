"""A choice of masks as one word of a link: ``causal.and.window-2-0``.

    choice  =  pattern  { "." join "." pattern }        up to three patterns, taken from left to right
    join    =  "and" | "or" | "without"
    pattern =  name  { "-" number }                     numbers in the order of the pattern's settings; those left out
                                                        at the end have their usual values

Whatever a link carries is read here and nowhere else: an unknown name, a number out of range or a choice that makes no
sense raises OutOfRange, with a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from core.attention.masks.axes import Axes, Layout
from core.attention.masks.kinds import KINDS
from core.errors import OutOfRange
from core.patterns import Pattern, both, union, without

Join = Literal["and", "or", "without"]
JOINS: tuple[Join, ...] = get_args(Join)
MOST_TERMS = 3
_MOST_CHARACTERS = 200
_MOST_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Term:
    """One pattern with its numbers, all of them.

    Raises:
        OutOfRange: no such pattern, too many numbers, or one outside its limits.
    """

    kind: str
    numbers: tuple[int, ...]

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
                f"A block of {self.numbers[0]} tokens cannot have a summary of {self.numbers[1]} tokens. "
                "Choose a summary that is no longer than the block."
            )


@dataclass(frozen=True, slots=True)
class Choice:
    """One to three patterns and the operators that combine them, from left to right.

    Raises:
        OutOfRange: too many patterns, or two that no text can have at once.
    """

    terms: tuple[Term, ...]
    joins: tuple[Join, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.terms) <= MOST_TERMS:
            raise OutOfRange(f"One to {MOST_TERMS} masks can be combined, not {len(self.terms)}.")
        assert len(self.joins) == len(self.terms) - 1, self.joins
        kinds = {term.kind for term in self.terms}
        if "cross" in kinds and kinds - {"cross", "padding"}:
            raise OutOfRange("Cross-attention has queries and keys of two texts. Only padding can be combined with it.")
        if self.layout == "image" and "padding" in kinds:
            raise OutOfRange("An image has no padding tokens: padding cannot be combined with its masks.")

    @property
    def layout(self) -> Layout:
        """The kind of axes that the patterns need."""
        layouts = {KINDS[term.kind].layout for term in self.terms}
        return "image" if "image" in layouts else "two" if "two" in layouts else "text"

    @property
    def padded(self) -> int:
        """Padding tokens that the axes need."""
        return max((term.numbers[0] for term in self.terms if term.kind == "padding"), default=0)

    def can_be_joined(self, kind: str) -> bool:
        """Whether the pattern ``kind`` can be combined with this choice."""
        try:
            Choice((*self.terms, Term(kind, usual(kind))), (*self.joins, JOINS[0]))
        except OutOfRange:
            return False
        return True

    def pattern(self, axes: Axes) -> Pattern:
        """The predicate over positions, for these axes."""
        found, *others = (KINDS[term.kind].build(axes, term.numbers) for term in self.terms)
        joined: dict[Join, Callable[..., Pattern]] = {"and": both, "or": union, "without": without}
        for join, other in zip(self.joins, others, strict=True):
            found = joined[join](found, other)
        return found

    def title(self) -> str:
        """The choice in words."""
        said = KINDS[self.terms[0].kind].title
        for join, term in zip(self.joins, self.terms[1:], strict=True):
            said += f" {join} {KINDS[term.kind].title.lower().replace('bigbird', 'BigBird')}"
        return said


def usual(kind: str) -> tuple[int, ...]:
    """The numbers of a pattern where nobody has chosen."""
    return KINDS[kind].usual or tuple(setting.default for setting in KINDS[kind].settings)


def read(raw: str) -> Choice:
    """The choice that a link's word stands for.

    Raises:
        OutOfRange: it stands for none.
    """
    if len(raw) > _MOST_CHARACTERS:
        raise OutOfRange(f"A choice of masks has at most {_MOST_CHARACTERS} characters.")
    parts = raw.split(".")
    joins: list[Join] = []
    for part in parts[1::2]:
        join = next((one for one in JOINS if one == part), None)
        if join is None:
            raise OutOfRange(f"Masks are combined by {', '.join(JOINS)}, not by “{part[:40]}”.")
        joins.append(join)
    if len(parts) % 2 == 0:
        raise OutOfRange(f"A mask is missing after “{parts[-1][:40]}”.")
    return Choice(tuple(map(_term, parts[::2])), tuple(joins))


def write(choice: Choice) -> str:
    """The shortest word for a choice; :func:`read` gives the choice back."""
    said = ""
    for join, term in zip(("", *choice.joins), choice.terms, strict=True):
        numbers, settings = list(term.numbers), KINDS[term.kind].settings
        while settings and numbers and numbers[-1] == settings[len(numbers) - 1].default:
            numbers.pop()
        if KINDS[term.kind].many and term.numbers == usual(term.kind):
            numbers = []
        said += (f".{join}." if join else "") + "-".join([term.kind, *map(str, numbers)])
    return said


def _term(word: str) -> Term:
    name, *numbers = word.split("-")
    if name not in KINDS:
        return Term(name, ())
    if any(not (number.isascii() and number.isdigit() and len(number) <= _MOST_DIGITS) for number in numbers):
        raise OutOfRange(f"“{name}” takes whole numbers, separated by “-”, not “{word[len(name) :][:40]}”.")
    given = tuple(map(int, numbers))
    if KINDS[name].many:
        return Term(name, tuple(sorted(set(given))) or usual(name))
    return Term(name, given + usual(name)[len(given) :])
