"""What the chosen system saves, below its demo: a sentence for each of the six meanings of “efficient”.

Of fewer scores also two lines by the length of the text: n² of full attention, and the system's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from core import catalogue, session
from core.catalogue.schema import Saving, System
from core.content import content
from core.costs import shape_of
from core.efficiency import saved
from core.figures.labels import in_bytes, in_words, percent
from core.figures.lines import Line, line_alt, line_chart
from core.table import Table
from core.ui.branch import BranchView
from core.ui.links import page_link
from core.ui.page import accent, theme
from core.ui.panel import Panel

LENGTHS = tuple(range(512, 8_193, 512))
TOKENS, TASKS = 4_096, 10
"""Of the sentence: tokens of a text, and tasks that share a model with adapters."""


def saving(view: BranchView) -> None:
    """Draw what the chosen system saves."""
    view = replace(view, words=content("efficient", "saved"))
    st.subheader(view.words.title, anchor=False)
    _SAVINGS[view.system.saves[0]](view, view.system)


def _to(page: str, label: str, view: BranchView, **query: str) -> None:
    page_link(page, view.words.label(label), query, icon=":material/arrow_forward:")


@session.cached()
def _counted(slug: str) -> tuple[int, ...]:
    """Scores of one head over each of :data:`LENGTHS`."""
    return tuple(saved.score_count(catalogue.get(slug), tokens) or 0 for tokens in LENGTHS)


def _scores(view: BranchView, system: System) -> None:
    counted, full = _counted(system.slug), tuple(tokens**2 for tokens in LENGTHS)
    computed, every = counted[LENGTHS.index(TOKENS)], TOKENS**2
    view.say(
        "Saved: fewer scores" if computed else "Saved: no scores",
        system=system.name,
        tokens=f"{TOKENS:,}",
        own=in_words(computed),
        full=in_words(every),
        times=f"{every / (computed or 1):.3g}",
    )
    title, names = view.words.label("scores"), (view.words.label("full"), system.name)
    looks = ((theme().ink, "dash"), (accent("efficient"), "solid"))
    lines = [Line(name, LENGTHS, y, *look) for name, y, look in zip(names, (full, counted), looks, strict=True)]
    Panel(
        "saved-scores",
        title,
        line_chart(
            lines,
            title,
            across=view.words.label("tokens"),
            hover="%{x:,} tokens: %{y:,}",
            markers=False,
            height=280,
            theme=theme(),
        ),
        line_alt(lines, title, [], view.words.label("tokens")),
        Table.from_columns({"tokens": LENGTHS, names[0]: full, names[1]: counted}),
    ).draw(view.state)
    _to("objectives", "patterns", view, tab="masks", pattern="window-3", tokens="24", below="reach")


def _memory(view: BranchView, system: System) -> None:
    shape = shape_of(system.slug)
    assert shape is not None
    segment, far = shape.main.memory, saved.reach(shape, shape.main.layers)
    view.say(
        "Saved: longer memory",
        system=system.name,
        segment=f"{segment:,}",
        layers=shape.main.layers,
        far=f"{far:,}",
        times=f"{far / segment:.3g}",
    )


def _parameters(view: BranchView, system: System) -> None:
    shared, parent = saved.shared_layers(system), saved.teacher(system)
    if shared is None:
        adapters = saved.adapter_parameters(system)
        view.say(
            "Saved: adapters",
            own=in_words(adapters),
            share=percent(adapters / parent.parameters),
            parent=parent.name,
            tasks=f"{TASKS:,}",
            stored=in_words(parent.parameters + TASKS * adapters),
            copies=in_words(TASKS * parent.parameters),
        )
        _to("experiments", "widths", view, tab="widths")
        return
    view.say(
        "Saved: fewer parameters",
        system=system.name,
        parent=parent.name,
        times=f"{parent.parameters / shared.parameters:.3g}",
        uses=shared.uses,
        operations=percent(shared.operations / parent.operations),
        tokens=shared.tokens,
    )


def _smaller(view: BranchView, system: System) -> None:
    student, parent = saved.network(system), saved.teacher(system)
    view.say(
        "Saved: smaller models",
        system=system.name,
        parent=parent.name,
        layers=student.layers,
        all=parent.layers,
        parameters=percent(student.parameters / parent.parameters),
        operations=percent(student.operations / parent.operations),
    )
    _to("experiments", "distillation", view, tab="distillation")
    _to("experiments", "compression", view, tab="compression")


def _examples(view: BranchView, system: System) -> None:
    tokens = saved.network(system).tokens
    masked = saved.masked_targets(tokens)
    view.say("Saved: fewer examples", system=system.name, tokens=tokens, masked=masked, times=f"{tokens / masked:.2g}")
    view.say("Trained")
    _to("experiments", "pretraining", view, tab="pretraining")


def _machines(view: BranchView, system: System) -> None:
    memory = saved.degrees(system)
    view.say(
        "Saved: more machines",
        system=f"{system.name} {system.default_size.name}",
        one=in_bytes(memory[1].total),
        each=in_bytes(memory[max(memory)].total),
        devices=max(memory),
    )
    _to("decoder", "parallel", view, system="megatron-lm")
    _to("catalogue", "training", view, tab="memory", use="train")


_SAVINGS: dict[Saving, Callable[[BranchView, System], None]] = {
    "fewer scores": _scores,
    "longer memory": _memory,
    "fewer parameters": _parameters,
    "smaller models": _smaller,
    "fewer examples": _examples,
    "more machines": _machines,
}
