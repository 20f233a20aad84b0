"""Share of a model: the vocabulary's share of each system's parameters."""

from __future__ import annotations

from core.figures.labels import percent
from core.figures.vocabulary import Bar
from core.figures.vocabulary import shares as bars
from core.table import Table
from core.tokenizers.share import Share, shares
from core.ui.glossary import unbuilt
from core.ui.page import theme
from core.ui.panel import Panel
from core.ui.param import Toggle
from core.ui.section import Section, View
from core.ui.tokenizers.common import formula_of

EVERY = Toggle(name="every", label="Every size")


def share(view: View) -> None:
    every = EVERY.draw(view.state)
    unbuilt()
    shown = [row for row in shares() if every or row.default]
    ends = [row for row in shown if row.vocabulary]
    by_size = {(row.slug, row.size): row for row in shares()}
    mt5, byt5 = by_size.get(("mt5", "small")), by_size.get(("byt5", "small"))
    view.say("Range", least=percent(ends[-1].share), most=percent(ends[0].share))
    if mt5 and byt5:
        view.say("ByT5", mt=percent(mt5.share), vocabulary=f"{mt5.vocabulary:,}", byt=percent(byt5.share))
    Panel(
        "vocabulary-share",
        "The vocabulary's share of the parameters",
        bars([Bar(_name(row, every), row.embeddings, row.output, row.total) for row in ends], theme=theme()),
        view.words.part(
            "Alt",
            networks=len(ends),
            largest=f"{_name(ends[0], True)}, {percent(ends[0].share)}",
            smallest=f"{_name(ends[-1], True)}, {percent(ends[-1].share)}",
        ),
        Table.from_records(
            [
                {
                    "system": row.system,
                    "size": row.size,
                    "vocabulary": row.vocabulary,
                    "embeddings": row.embeddings,
                    "output layer, untied": row.output,
                    "parameters": row.total,
                    "share": row.share,
                }
                for row in shown
            ]
        ),
    ).draw(view.state)
    view.try_and_notice()
    view.note("Counting")
    formula_of("share")


def _name(row: Share, every: bool) -> str:
    return f"{row.system} {row.size}" if every else row.system


SHARE = Section("share", share, (EVERY,))
