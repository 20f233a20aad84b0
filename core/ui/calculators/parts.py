"""What the calculators share: choosing a size, boxes whose numbers stand in the link, formulas."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core import anatomy, catalogue
from core.anatomy.node import ModuleNode
from core.catalogue.schema import Citation, System
from core.costs import Shape, shape_of
from core.costs.known import Device, Formula, devices, formulas
from core.costs.left_out import no_stack
from core.errors import OutOfRange
from core.ui.glossary import terms
from core.ui.links import PageState
from core.ui.notices import warned
from core.ui.page import plain

OWN = "own"
YOURS = "device of your own"
_OF_A_NETWORK = (
    "kind",
    "layers",
    "below",
    "width",
    "heads",
    "kv",
    "ffn",
    "vocabulary",
    "dim",
    "words",
    "positions",
    "segments",
    "gated",
    "tied",
    "shared",
    "scheme",
    "head",
    "style",
    "length",
    "experts",
    "active",
    "common",
    "inner",
    "dense",
    "latent",
    "queries",
    "turned",
    "value",
    "adapter",
    "axial",
    "hashed",
)
"""What starts afresh when another size is chosen."""
_INDEXED = re.compile(r"\b([A-Za-z])\\_(\w+)\b")
"""A letter with an index, as ``plain`` leaves it."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A published size with all that costs are computed from."""

    system: System
    size: str
    root: ModuleNode
    shape: Shape

    @property
    def name(self) -> str:
        """System and size, as a person says it."""
        return f"{self.system.name} {self.size}"

    @property
    def tag(self) -> str:
        """What makes a widget's key the size's own."""
        return f"{self.system.slug}.{self.size}"


def choose_system(state: PageState) -> tuple[str, str]:
    """Menus for a system and one of its sizes, side by side; what was set for another size is dropped."""
    systems = {system.slug: system for system in catalogue.systems() if system.sizes}
    left, right = st.columns([1.3, 1])
    slugs = sorted(systems, key=lambda slug: systems[slug].name.lower())
    before = state.text("system", "gpt-2"), state.text("size")
    with left:
        slug = st.selectbox(
            "System",
            slugs,
            index=slugs.index(before[0]),
            key=state.key("system"),
            format_func=lambda slug: f"{systems[slug].name} ({systems[slug].year})",
        )
    names = [size.name for size in systems[slug].sizes]
    first = systems[slug].default_size.name
    if before[1] and slug == before[0] and before[1] not in names:
        warned(f"{systems[slug].name} has no size “{before[1]}”. It has: {', '.join(names)}.")
    wanted = before[1] if slug == before[0] and before[1] in names else first
    with right:
        size = st.selectbox("Size", names, index=names.index(wanted), key=state.key(f"size.{slug}"))
    if (slug, size) != (before[0], before[1] if before[1] in names else first):
        state.set(**dict.fromkeys(_OF_A_NETWORK))
    state.set(system=slug, size=None if size == first else size)
    return slug, size


def choose(state: PageState) -> Chosen:
    """Menus for a size whose costs can be computed.

    Raises :class:`core.errors.OutOfRange` for a network that is not one stack of attention layers.
    """
    slug, size = choose_system(state)
    shape = shape_of(slug, size)
    system = catalogue.get(slug)
    if shape is None or not shape.main.heads:
        raise OutOfRange(no_stack(slug, size))
    return Chosen(system, size, anatomy.tree(slug, size), shape)


def usual_length(shape: Shape) -> int:
    """A length to begin with: the largest power of two that the positions allow, at most 2,048; 512 without any."""
    most = shape.positions or 512
    return min(2048, 1 << (most.bit_length() - 1))


def number(
    state: PageState, name: str, text: str, default: int, low: int, high: int, *, tag: str = "", help: str | None = None
) -> int:
    """A box for a whole number; what differs from ``default`` stands in the link."""
    current = state.values.get(name)
    value = current if isinstance(current, int) else default
    chosen = st.number_input(text, low, high, min(high, max(low, value)), 1, key=state.key(f"{name}.{tag}"), help=help)
    state.set(**{name: None if chosen == default else int(chosen)})
    return int(chosen)


def real(
    state: PageState,
    name: str,
    text: str,
    default: float | None,
    low: float,
    high: float,
    *,
    tag: str = "",
    help: str | None = None,
    empty: str | None = None,
) -> float | None:
    """A box for a number with decimals, which may stay empty; what differs from ``default`` stands in the link."""
    current = state.values.get(name)
    default = None if default is None else float(default)
    value = float(current) if isinstance(current, int | float) else default
    chosen = st.number_input(
        text, low, high, value, key=state.key(f"{name}.{tag}"), format="%g", help=help, placeholder=empty or ""
    )
    state.set(**{name: None if chosen == default else chosen})
    return None if chosen is None else float(chosen)


def pick(
    state: PageState,
    name: str,
    text: str,
    options: Mapping[str, str],
    default: str,
    *,
    tag: str = "",
    help: str | None = None,
) -> str:
    """A menu; what differs from ``default`` stands in the link."""
    keys = list(options)
    current = state.text(name, default)
    chosen = st.selectbox(
        text,
        keys,
        index=keys.index(current if current in options else default),
        format_func=options.__getitem__,
        key=state.key(f"{name}.{tag}"),
        help=help,
    )
    state.set(**{name: None if chosen == default else chosen})
    return chosen


def switch(state: PageState, name: str, text: str, default: bool, *, tag: str = "", help: str | None = None) -> bool:
    """A switch; what differs from ``default`` stands in the link."""
    current = state.values.get(name)
    on = default if current is None else current == "yes"
    chosen = st.toggle(text, on, key=state.key(f"{name}.{tag}"), help=help)
    state.set(**{name: None if chosen == default else "yes" if chosen else "no"})
    return chosen


def device_row(state: PageState, *, rate: bool) -> tuple[str, float, float | None, float | None]:
    """Menus for a device; returns its name, gigabytes, teraflops and watts. ``rate``: also ask for the last two."""
    known = devices()
    names = {slug: f"{device.name} · {device.memory:g} GB" for slug, device in known.items()} | {
        OWN: "a device of your own"
    }
    slug = pick(state, "device", "Device", names, "a100-80")
    device: Device | None = known.get(slug)
    memory = device.memory if device else 80.0
    if not rate:
        memory = real(state, "memory", "Memory, GB", memory, 0.1, 1e5, tag=slug) or memory
        return (device.name if device else YOURS), memory, None, None
    one, other = st.columns(2)
    with one:
        teraflops = real(
            state,
            "teraflops",
            "Peak, TFLOP/s",
            device.teraflops if device else None,
            0.01,
            1e6,
            tag=slug,
            help="Dense, in 16 bits, in 10¹² operations a second. Empty where no text of the vendor's was read: enter "
            "it from a data sheet.",
            empty="enter it",
        )
    with other:
        watts = real(
            state,
            "watts",
            "Power of one, W",
            device.watts if device else None,
            1.0,
            1e5,
            tag=slug,
            help="Without it, no energy is shown.",
            empty="enter it",
        )
    return (device.name if device else YOURS), memory, teraflops, watts


def formula(key: str, known: Mapping[str, Formula] | None = None) -> None:
    """A formula with every letter named, and where it was read; of the costs, or of ``known``."""
    one = (formulas() if known is None else known)[key]
    st.latex(one.latex)
    letters = _INDEXED.sub(r"$\1_{\2}$", plain(f"{one.letters}."))
    st.caption(terms(letters) + " " + " ".join(map(cited, one.sources)))


def cited(citation: Citation) -> str:
    """A citation as Markdown: who, where, and how it was read."""
    who = f"{citation.authors}, " if citation.authors else ""
    year = f" ({citation.year})" if citation.year else ""
    title = f"[{plain(citation.title)}]({citation.url})" if citation.url else plain(citation.title)
    return f"{plain(who)}{title}{year}. *{plain(citation.evidence)}*: {plain(citation.read)}"
