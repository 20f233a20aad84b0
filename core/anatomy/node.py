"""A module tree as data: what torch prints, with parameter counts. No torch here.

Consecutive equal modules of a list (the twelve layers of BERT) are one node with ``repeat`` = 12. Shapes are in torch's
order: ``Linear`` has (out, in), ``Conv1D`` of transformers has (in, out).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

LISTS = frozenset({"ModuleList"})
"""The classes whose equal neighbors torch prints as one line, ``(0-11): 12 x ...``."""


@dataclass(frozen=True, slots=True)
class ModuleNode:
    """A module, or consecutive equal ones (``repeat`` > 1; then ``name`` is ``"0-11"``).

    ``parameters`` counts all of *one* copy; a tied tensor is counted at its first occurrence in the tree, and ``ties``
    has the others.
    """

    name: str
    cls: str
    extra: str
    """What the class prints in parentheses, e.g. ``in_features=768, out_features=768, bias=True``."""
    children: tuple[ModuleNode, ...] = ()
    repeat: int = 1
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Its own parameters: (name, shape)."""
    parameters: int = 0
    """Parameters of one copy, shared tensors once."""
    ties: tuple[tuple[str, str], ...] = ()
    """Own tensors that are tied: (name, path of the tensor that is counted)."""
    buffers: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Its own buffers, which are not trained (position ids, sinusoids): (name, shape)."""

    @property
    def total(self) -> int:
        """Parameters of all copies."""
        return self.parameters * self.repeat

    @property
    def own(self) -> int:
        """Parameters of its own tensors in one copy, without tied ones and without its children."""
        tied = {name for name, _ in self.ties}
        return sum(prod(shape) for name, shape in self.tensors if name not in tied)

    def counted(self) -> ModuleNode:
        """This node with ``parameters`` summed from its own tensors and its children."""
        return replace(self, parameters=self.own + sum(child.total for child in self.children))

    def walk(self, path: str = "", copies: int = 1) -> Iterator[tuple[str, ModuleNode, int]]:
        """This node and all below it, parents first: (dotted path, node, copies in the network)."""
        copies *= self.repeat
        yield path, self, copies
        for child in self.children:
            yield from child.walk(f"{path}.{child.name}" if path else child.name, copies)

    def find(self, path: str) -> ModuleNode | None:
        """The node at a dotted path (``"encoder.layer.0-11.attention"``; ``""`` is this node), or None."""
        node: ModuleNode = self
        for step in path.split(".") if path else ():
            match = next((child for child in node.children if child.name == step), None)
            if match is None:
                return None
            node = match
        return node

    def nearest(self, path: str) -> str:
        """The deepest matching prefix of ``path`` in this tree, which may have more or fewer layers.

        ``encoder.layer.0-11.attention`` of a base size is ``encoder.layer.0-23.attention`` of a large one.
        """
        node, steps = self, []
        for step in path.split(".") if path else ():
            named = next((child for child in node.children if child.name == step), None)
            first = step.split("-")[0]
            alike = (child for child in node.children if first.isdigit() and child.name.split("-")[0] == first)
            match = named or next(alike, None)
            if match is None:
                break
            node = match
            steps.append(match.name)
        return ".".join(steps)

    def text(self) -> str:
        """The tree as torch prints it."""
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The lines of :meth:`text`, without the name of the root."""
        extra = self.extra.split("\n") if self.extra else []
        if not self.children and len(extra) < 2:
            return ["None" if self.cls == "NoneType" else f"{self.cls}({self.extra})"]
        lines = [f"{self.cls}(", *(f"  {line}" for line in extra)]
        for name, repeat, (head, *tail) in self._printed():
            times = f"{repeat} x " if repeat > 1 else ""
            lines.append(f"  ({name}): {times}{head}")
            lines.extend(f"  {line}" for line in tail)
        lines.append(")")
        return lines

    def _printed(self) -> list[tuple[str, int, list[str]]]:
        """The children as (name, repeat, lines); in a list, equal consecutive lines are one, as in torch.

        Two nodes can print the same and differ in ties, which torch does not print.
        """
        printed: list[tuple[str, int, list[str]]] = []
        for child in self.children:
            lines = child.lines()
            if printed and self.cls in LISTS and printed[-1][2] == lines:
                name, repeat, _ = printed[-1]
                first, last = name.split("-")[0], child.name.split("-")[-1]
                printed[-1] = (f"{first}-{last}", repeat + child.repeat, lines)
            else:
                printed.append((child.name, child.repeat, lines))
        return printed
