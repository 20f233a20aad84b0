"""A module tree as small data: what torch prints, with parameters counted. No torch here.

A tree names every module of a network once; a run of equal neighbors in a list (the twelve layers of BERT) is one node
with ``repeat`` = 12. Shapes are in torch's order: ``Linear`` keeps (out, in), transformers' ``Conv1D`` keeps (in, out).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

LISTS = frozenset({"ModuleList"})
"""The classes whose equal neighbors torch prints as one line, ``(0-11): 12 x ...``."""


@dataclass(frozen=True, slots=True)
class ModuleNode:
    """A module of an architecture, or a run of equal ones (``repeat`` > 1, ``name`` is then ``"0-11"``).

    ``parameters`` counts everything below *one* copy; a tensor shared with another module is counted once in the
    whole tree, at the first place where it stands, and ``ties`` says where else.
    """

    name: str
    cls: str
    extra: str
    """What the class prints in its brackets, e.g. ``in_features=768, out_features=768, bias=True``."""
    children: tuple[ModuleNode, ...] = ()
    repeat: int = 1
    tensors: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Its own parameters: (name, shape)."""
    parameters: int = 0
    """Parameters of one copy, shared tensors once."""
    ties: tuple[tuple[str, str], ...] = ()
    """Own tensors that are counted elsewhere: (name, path of the tensor that owns the numbers)."""
    buffers: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Its own tensors that are computed and never trained (position numbers, sinusoids): (name, shape)."""

    @property
    def total(self) -> int:
        """Parameters of all copies."""
        return self.parameters * self.repeat

    @property
    def own(self) -> int:
        """Parameters in this node's own tensors (one copy), without what is shared and without its children."""
        tied = {name for name, _ in self.ties}
        return sum(prod(shape) for name, shape in self.tensors if name not in tied)

    def counted(self) -> ModuleNode:
        """This node with ``parameters`` added up from its own tensors and its children."""
        return replace(self, parameters=self.own + sum(child.total for child in self.children))

    def walk(self, path: str = "", copies: int = 1) -> Iterator[tuple[str, ModuleNode, int]]:
        """Every node from here downwards, parents first: (dotted path, node, how many copies the network holds)."""
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
        """The deepest path of this tree that follows ``path``; a run may be longer or shorter here.

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
        for name, repeat, (head, *rest) in self._printed():
            times = f"{repeat} x " if repeat > 1 else ""
            lines.append(f"  ({name}): {times}{head}")
            lines.extend(f"  {line}" for line in rest)
        lines.append(")")
        return lines

    def _printed(self) -> list[tuple[str, int, list[str]]]:
        """The children as (name, repeat, lines); in a list, neighbors that print the same become one, as in torch.

        Two neighbors may print the same and yet be two nodes here, because they differ in what torch does not print:
        one owns a tensor that the other shares.
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
