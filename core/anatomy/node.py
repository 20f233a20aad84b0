"""A module tree as small data: what torch prints, with parameters counted. No torch here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModuleNode:
    """A module of an architecture, or a run of equal ones (``repeat`` > 1, ``name`` is then ``"0-11"``).

    ``parameters`` counts everything below *one* copy; a tensor shared with another module is counted once in the
    whole tree, at the first place where it stands, and ``shared`` says where else.
    """

    name: str
    cls: str
    extra: str
    """What the class prints in its brackets, e.g. ``in_features=768, out_features=768, bias=True``."""
    children: tuple[ModuleNode, ...] = ()
    repeat: int = 1
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Its own tensors: (name, shape)."""
    parameters: int = 0
    """Parameters of one copy, shared tensors once."""
    shared: str | None = None
    """Path of the module that owns the tensor which this one shares."""

    def text(self) -> str:
        """The tree as torch prints it."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The lines of :meth:`text`, without the name of the root."""
        if not self.children:
            return [f"{self.cls}({self.extra})"]
        lines = [f"{self.cls}("]
        if self.extra:
            lines.append(f"  {self.extra}")
        for child in self.children:
            head, *rest = child.lines()
            times = f"{child.repeat} x " if child.repeat > 1 else ""
            lines.append(f"  ({child.name}): {times}{head}")
            lines.extend(f"  {line}" for line in rest)
        lines.append(")")
        return lines
