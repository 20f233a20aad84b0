"""What the chosen system saves: one counted picture and one sentence for each of the six meanings of “efficient”."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from core import catalogue
from core.catalogue.schema import Saving, System
from core.costs import shape_of
from core.efficiency import saved
from core.efficiency.saved import Amount
from core.figures.costs import Bar, amount_bars, held_alt, held_bars, held_rows
from core.figures.labels import in_bytes, in_words, percent, sentence, short
from core.sparse.layout import BLOCK_SIZES, Sparsity
from core.table import Table
from core.ui.branch import BranchView, run_link
from core.ui.links import page_link
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Choice, Integer
from core.ui.section import Section, View

TOKENS = Integer(name="counted", label="Tokens", default=4096, low=128, high=65_536, step=128, width=170)
BLOCK = Choice(
    name="blocks", label="Block size", options={str(n): str(n) for n in BLOCK_SIZES}, default="32", style="row"
)
EMBEDDING = Integer(name="embedding", label="Embedding size E", default=128, low=16, high=768, step=16, width=190)
TASKS = Integer(name="copies", label="Tasks", default=10, low=1, high=1000, width=170)
"""The names differ from those of the demos, which share the link."""


def draw(view: BranchView) -> None:
    """Draw the lead of the chosen system."""
    _LEADS[view.system.saves[0]](view, view.system)
    run_link(view)
    view.try_and_notice("adapters" if _has_adapters(view.system) else view.system.saves[0])


def _has_adapters(system: System) -> bool:
    """Whether it saves parameters by adapters, not by sharing layers."""
    return system.saves[0] == "fewer parameters" and saved.shared_layers(system) is None


def _amounts(view: View, slug: str, amounts: Sequence[Amount], chosen: str, written: Callable[[float], str]) -> None:
    """Draw amounts as bars; the title is the content's label ``slug``."""
    title, texts = view.words.label(slug), [written(amount.value) for amount in amounts]
    Panel(
        f"saved-{slug}",
        title,
        amount_bars([a.name for a in amounts], [a.value for a in amounts], texts, chosen, theme=theme()),
        sentence(
            "Amounts",
            title=title,
            amounts="; ".join(f"{a.name} {text}" for a, text in zip(amounts, texts, strict=True)),
        ),
        Table(("What", title), tuple((a.name, a.value) for a in amounts)),
        heading=True,
    ).draw(view.state)


def _short(value: float) -> str:
    return short(round(value))


def _scores(view: BranchView, system: System) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        tokens = TOKENS.draw(view.state)
        blocks = system.sizes and system.default_size.config == "BigBirdConfig"
        sparsity = Sparsity(int(BLOCK.draw(view.state))) if blocks else Sparsity()
    others = [one for one in catalogue.by_branch("efficient") if one.saves[0] == "fewer scores"]
    counted = {
        one.name: number for one in others if (number := saved.scores(one, tokens, sparsity.block_size)) is not None
    }
    own, full = counted[system.name], tokens**2
    view.say(
        "Saved: fewer scores" if own else "Saved: no scores",
        system=system.name,
        tokens=f"{tokens:,}",
        own=in_words(own),
        full=in_words(full),
        times=f"{full / (own or 1):.3g}",
    )
    if blocks:
        view.say(
            "Setting",
            block=sparsity.block_size,
            window=sparsity.window,
            ends=sparsity.global_blocks,
            random=sparsity.random_blocks,
            whose=view.words.front["blocks"][str(sparsity.block_size)],
        )
    amounts = [Amount("Full attention", full), *(Amount(name, number) for name, number in counted.items())]
    _amounts(view, "scores", amounts, system.name, _short)
    pattern = {"tab": "masks", "pattern": "window-3", "tokens": "24", "below": "reach"}
    page_link("objectives", view.words.label("patterns"), pattern, icon=":material/arrow_forward:")


def _memory(view: BranchView, system: System) -> None:
    shape = shape_of(system.slug)
    assert shape is not None
    depths = sorted({1, shape.main.layers // 2, shape.main.layers})
    segment, far = shape.main.memory, saved.reach(shape, shape.main.layers)
    view.say(
        "Saved: longer memory",
        system=system.name,
        segment=f"{segment:,}",
        layers=shape.main.layers,
        far=f"{far:,}",
        times=f"{far / segment:.3g}",
    )
    amounts = [Amount("No memory, any depth", segment)]
    amounts += [Amount(f"Memory, {n} {'layer' if n == 1 else 'layers'}", saved.reach(shape, n)) for n in depths]
    _amounts(view, "reach", amounts, amounts[-1].name, lambda value: f"{value:,.0f} tokens")


def _parameters(view: BranchView, system: System) -> None:
    shared = saved.shared_layers(system)
    if shared is None:
        _adapters(view, system)
        return
    size = EMBEDDING.with_(default=shared.embedding, high=shared.width).draw(view.state)
    parent = saved.teacher(system)
    view.say(
        "Saved: fewer parameters",
        system=system.name,
        parent=parent.name,
        times=f"{parent.parameters / shared.total(size, shared=True):.3g}",
        uses=shared.uses,
        operations=percent(shared.operations / parent.operations),
        tokens=shared.tokens,
    )
    left, middle, right = st.columns(3, gap="medium")
    factorized = f"V × E + E × H, E\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{size}"
    with left:
        amounts = (Amount("V × H", shared.embeddings(None)), Amount(factorized, shared.embeddings(size)))
        _amounts(view, "embeddings", amounts, factorized, _short)
    with middle:
        totals = (
            Amount(parent.name, parent.parameters),
            Amount("Factorized alone", shared.total(size, shared=False)),
            Amount("Factorized and shared", shared.total(size, shared=True)),
        )
        _amounts(view, "parameters", totals, totals[-1].name, _short)
    with right:
        amounts = (Amount(parent.name, parent.operations), Amount(system.name, shared.operations))
        _amounts(view, "operations", amounts, system.name, _short)


def _adapters(view: BranchView, system: System) -> None:
    tasks = TASKS.draw(view.state)
    own, whole = saved.adapter_parameters(system), saved.teacher(system)
    view.say(
        "Saved: adapters",
        own=in_words(own),
        share=percent(own / whole.parameters),
        parent=whole.name,
        tasks=f"{tasks:,}",
        stored=in_words(whole.parameters + tasks * own),
        copies=in_words(tasks * whole.parameters),
    )
    left, right = st.columns(2, gap="large")
    with left:
        amounts = (Amount("Full fine-tuning", whole.parameters), Amount("Adapters", own))
        _amounts(view, "trained", amounts, "Adapters", _short)
    with right:
        amounts = (
            Amount("Full fine-tuning", tasks * whole.parameters),
            Amount("Adapters", whole.parameters + tasks * own),
        )
        _amounts(view, "stored", amounts, "Adapters", _short)
    page_link("experiments", view.words.label("widths"), {"tab": "widths"}, icon=":material/arrow_forward:")


def _smaller(view: BranchView, system: System) -> None:
    own, parent = saved.network(system), saved.teacher(system)
    view.say(
        "Saved: smaller models",
        system=system.name,
        parent=parent.name,
        layers=own.layers,
        all=parent.layers,
        parameters=percent(own.parameters / parent.parameters),
        operations=percent(own.operations / parent.operations),
    )
    both = (parent, own)
    left, middle, right = st.columns(3, gap="medium")
    with left:
        _amounts(view, "layers", [Amount(n.name, n.layers) for n in both], own.name, lambda value: f"{value:.0f}")
    with middle:
        amounts = [Amount(n.name, n.parameters) for n in both]
        _amounts(view, "parameters", amounts, own.name, _short)
    with right:
        _amounts(
            view,
            "operations",
            [Amount(n.name, n.operations) for n in both],
            own.name,
            _short,
        )
    page_link("experiments", view.words.label("distillation"), {"tab": "distillation"}, icon=":material/arrow_forward:")
    page_link("zoo", view.words.label("compression"), {"tab": "compression"}, icon=":material/arrow_forward:")


def _examples(view: BranchView, system: System) -> None:
    tokens = saved.network(system).tokens
    masked, replaced = saved.targets(tokens)
    view.say(
        "Saved: fewer examples",
        system=system.name,
        tokens=tokens,
        masked=round(masked.value),
        times=f"{replaced.value / masked.value:.2g}",
    )
    _amounts(view, "targets", (masked, replaced), replaced.name, lambda value: f"{value:.0f}")
    view.say("Trained")
    page_link("experiments", view.words.label("pretraining"), {"tab": "pretraining"}, icon=":material/arrow_forward:")


def _machines(view: BranchView, system: System) -> None:
    memory = saved.degrees(system)
    bars = [Bar(f"{t} {'device' if t == 1 else 'devices'}", one.parts, t == max(memory)) for t, one in memory.items()]
    view.say(
        "Saved: more machines",
        system=f"{system.name} {system.default_size.name}",
        one=in_bytes(bars[0].total),
        each=in_bytes(bars[-1].total),
        devices=max(memory),
    )
    title = view.words.label("memory")
    figure = held_bars(bars, theme=theme())
    Panel("saved-memory", title, figure, held_alt(bars), Table.from_records(held_rows(bars)), heading=True).draw(
        view.state
    )
    for tab in ("parallel", "training"):
        page_link("calculators", view.words.label(tab), {"tab": tab}, icon=":material/arrow_forward:")


_LEADS: dict[Saving, Callable[[BranchView, System], None]] = {
    "fewer scores": _scores,
    "longer memory": _memory,
    "fewer parameters": _parameters,
    "smaller models": _smaller,
    "fewer examples": _examples,
    "more machines": _machines,
}
SAVED = Section("saved", draw, (TOKENS, BLOCK, EMBEDDING, TASKS))
