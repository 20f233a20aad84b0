"""What each mask is for, in words, and at which lengths it was published; data: ``objectives/mask-patterns.md``."""

from __future__ import annotations

from functools import lru_cache

from pydantic import BaseModel

from core.attention.masks.axes import Axes
from core.attention.masks.words import Choice, read
from core.content import content


class Description(BaseModel, frozen=True, extra="forbid"):
    """One mask in words."""

    key: str
    purpose: str
    formula: str
    """The predicate in LaTeX: true where a query i may attend to a key j."""
    symbols: tuple[tuple[str, str], ...] = ()
    """(LaTeX, meaning) of every letter but i, j and n."""
    count: str
    """How many pairs it allows among n tokens, in LaTeX."""
    systems: tuple[str, ...]
    """Slugs of systems that use it."""
    others: str = ""
    """Who else uses it, in words."""
    papers: tuple[str, ...]
    """Slugs of systems whose paper describes it."""
    paper: str = ""
    """A paper of no system here."""
    url: str = ""
    read: str = ""
    """How that paper's rule was read."""
    attempt: str
    notice: str


class Published(BaseModel, frozen=True, extra="forbid"):
    """A mask at the length for which a system was published: so many tokens, or a caption and an image."""

    system: str
    mask: str
    tokens: int = 0
    caption: int = 0
    side: int = 0
    evidence: str

    @property
    def choice(self) -> Choice:
        """The mask."""
        return read(self.mask)

    def axes(self) -> Axes:
        """Axes of the published length; their tokens have no names."""
        names = ("",) * (self.tokens or self.caption + self.side**2)
        if self.side:
            return Axes("image", names, names, caption=self.caption, side=self.side)
        return Axes("text", names, names)


def lines(formula: str) -> str:
    """A formula of several lines as one that holds together."""
    return r"\begin{array}{l}" + formula + r"\end{array}" if r"\\" in formula else formula


def describe(key: str) -> Description:
    """The words for a mask; every key of `core.attention.masks.kinds` has them."""
    words = content("objectives", "mask-patterns").front["mask"]
    return Description.model_validate(next(one for one in words if one["key"] == key))


@lru_cache(maxsize=1)
def published() -> tuple[Published, ...]:
    """Every mask with its published length."""
    return tuple(Published.model_validate(one) for one in content("objectives", "mask-patterns").front["published"])
