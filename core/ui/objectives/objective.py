"""One objective on the visitor's text: the damaged input above the target, and what a live model makes of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from core import checkpoints, session
from core.content import content
from core.language.guesses import MAX_CHARS
from core.language.losses import BITS, Losses, PlaceLoss
from core.links import parameters as link
from core.objectives.shares import DRAWS
from core.table import Table
from core.ui.data_table import data_table
from core.ui.demos.cover import SENTENCE_CHARS, switch, uncovered
from core.ui.export import download_csv, download_html, heading, html_page
from core.ui.glossary import markdown
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.objectives import pairs, read_on, rewritten, tokens, two_models
from core.ui.objectives.entry import RATE, Entry, Given, Share, Stage, given, question, style
from core.ui.objectives.hide import asking, judges, label_of, open_targets, targets_judge
from core.ui.objectives.hide import covered as hide
from core.ui.objectives.picture import DONE, answer_bars, picture, shown
from core.ui.page import accent, plain, theme
from core.ui.panel import Panel
from core.ui.param import Carried, Choice, Control, Seed, Text, Toggle
from core.ui.section import Section, View
from core.ui.text_table import TextTable, text_table

if TYPE_CHECKING:
    from core.objectives.example import Cell, Visible

_FEW = 6
"""More targets than that get a wider box for the guess."""
ENTRIES = {
    entry.slug: entry
    for entry in (
        tokens.MASKED,
        tokens.EPOCHS,
        tokens.WHOLE_WORDS,
        tokens.SPANS,
        tokens.KNOWLEDGE,
        pairs.NEXT_SENTENCE,
        pairs.SENTENCE_ORDER,
        pairs.THREE_ORDERS,
        tokens.WORD_ORDER,
        two_models.REPLACED,
        pairs.TRANSLATION,
        two_models.DISTILLATION,
        read_on.CAUSAL,
        read_on.PERMUTATION,
        rewritten.SENTINELS,
        rewritten.DENOISE,
        rewritten.GAPS,
        read_on.PREFIX_LM,
        read_on.UNIFIED,
    )
}
"""All objectives, in the order of the menu."""
SETTINGS: dict[str, Control[Any]] = {
    setting.name: setting for entry in ENTRIES.values() for setting in (*entry.settings, *entry.rare)
}
SETTINGS["rate"] = RATE.with_(high=70)  # as wide as any objective has it
OBJECTIVE = Choice(name="objective", label="Objective", options={slug: slug for slug in ENTRIES}, width=345)
TEXT = Text(name="text", label="Your sentence", hide_label=True)
SEED = Seed(label="Seed", width=100, again="Again")
MODEL = Choice(name="model", label="Model", options={}, width=200)
UNIT = Choice(name="unit", label="Loss in", options={"nats": "nats", "bits": "bits"}, style="row")
COVER = Carried(name="cover", label="Guess first", as_=link.Choice(None, ("yes", "no")))
RELATIVE = Toggle(name="relative", label="Run a related model", help="No model here was trained with this objective")
_OF_THREE = {
    "encoder": "Attention mask of the encoder",
    "decoder": "Attention mask of the decoder",
    "cross": "Mask of the cross-attention",
}
_KINDS = {
    "encoder": "Attention mask",
    "decoder": "Attention mask",
    "cross": "Mask of the cross-attention",
    "query": "Attention mask of the query stream",
}


def objective(view: View) -> None:
    """Draw the section."""
    state, names = view.state, {spec.slug: spec.name for spec in checkpoints.available()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        entry = _entry(state)
        view = View(state, content("objectives", entry.slug))
        options = _settings(entry, entry.settings, view)
        seed = SEED.draw(state) if entry.random else SEED.value(state)
        with st.popover("More"):
            slug = _model(entry, names, state)
            options |= _settings(entry, entry.rare, view)
            unit = UNIT.draw(state)
        hidden = switch(state)
        live = _asks(entry, view, names.get(slug, slug))
    name = view.words.title
    markdown(f"**{name}.** {view.words.part('Question')}")
    # Covered, the sentence would be the answer: its box is shut, and opens for who wants another one.
    with st.expander("Your text" if entry.several else "Your sentence") if hidden else st.container():
        text = _text(entry, view)
    with sentences():
        asked = given(slug, text, seed, options)
        guessed = question(entry.slug, asked)
        if entry.ask is not None:
            asked = replace(asked, options={**options, **entry.ask(view, asked)})
        stages = tuple(
            replace(stage, title=view.words.part(part)) if view.words.has(part := f"Stage {number}") else stage
            for number, stage in enumerate(entry.build(asked), 1)
        )
        unknown = (Losses(),) * len(stages)
        answers = entry.answer(slug, stages) if entry.answer and live else unknown
        label, choices = label_of(stages)
        long = len(open_targets(asking(stages).example)) > _FEW
        covered = not uncovered(
            state,
            guessed,
            label,
            targets_judge(asked, stages),
            choices=choices,
            on=hidden,
            most=SENTENCE_CHARS if long else MAX_CHARS,
        )
        # While covered one stage is enough, if another one tells which places of it were chosen.
        seen = stages
        if covered:
            untold = stages[-1:] if judges(stages[-1]) else stages
            seen = tuple(replace(stage, example=hide(stage.example)) for stage in untold)
        drawn = _draw(entry, view, asked, seen, unknown if covered else answers, unit, covered)
        title = name if covered else f"{name}: {asked.text}"
        download_html(html_page(title, drawn), entry.slug, state.key(f"html.{entry.slug}"))
        if entry.total is not None and live and not covered:
            st.markdown(plain(entry.total(answers)))
        if entry.more is not None and not covered:
            entry.more(view, asked, stages)
        view.try_and_notice()
        st.caption(plain(f"{_about(entry, view, slug, names, live)} {_unknown(asked)}"))
        _below(entry, view, asked, seen, answers, covered)


def _entry(state: PageState) -> Entry:
    names = {slug: content("objectives", slug) for slug in ENTRIES}
    options = {slug: f"{words.title} ({words.label('systems')})" for slug, words in names.items()}
    return ENTRIES[OBJECTIVE.with_(options=options).draw(state)]


def _settings(entry: Entry, chosen: Sequence[Control[Any]], view: View) -> dict[str, int | str]:
    """Draw some settings of ``entry``; those of other objectives leave the link."""
    own = {setting.name for setting in (*entry.settings, *entry.rare)}
    view.state.set(**{name: None for name in SETTINGS if name not in own})
    values = {}
    for setting in chosen:
        words = view.words.part(part) if view.words.has(part := f"Setting: {setting.name}") else None
        values[setting.name] = setting.with_(help=words).draw(view.state, tag=entry.slug)
    return {name: ",".join(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _model(entry: Entry, names: Mapping[str, str], state: PageState) -> str:
    """Which of the live models is asked; no menu where there is one."""
    here = {slug: names[slug] for slug in entry.models if slug in names} or {entry.models[0]: entry.models[0]}
    model = MODEL.with_(options=here, default="")
    return model.draw(state, tag=entry.slug) if len(here) > 1 else model.value(state)


def _asks(entry: Entry, view: View, name: str) -> bool:
    """Whether a live model is asked: at once where it was trained with the objective, a relative on request."""
    if view.words.has("Relative"):
        return RELATIVE.with_(label=f"Run {name}, a related model").draw(view.state, tag=entry.slug)
    view.state.set(relative=None)
    return entry.answer is not None


def _text(entry: Entry, view: View) -> str:
    """The visitor's text; a text of one's own stays when the objective changes."""
    return TEXT.with_(
        label="Your text" if entry.several else "Your sentence",
        default=view.words.label("text"),
        height=96 if entry.several else 68,
        placeholder="Several sentences" if entry.several else "A sentence",
    ).draw(view.state, tag=entry.slug)


def _draw(
    entry: Entry,
    view: View,
    asked: Given,
    stages: Sequence[Stage],
    answers: Sequence[Losses],
    unit: str,
    covered: bool,
) -> list[str]:
    """Draw the stages; returns what was drawn, as HTML."""
    color, kind, name = accent(entry.branch), style(asked.slug), view.words.title
    drawn = [f"<p>{escape(view.words.part('Question'))}</p>"]
    for index, (stage, losses) in enumerate(zip(stages, answers, strict=False)):
        example, words = stage.example, view.words
        ceiling = math.log(losses.options) if losses.options else 0.0

        def row(cells: Sequence[Cell], paid: Mapping[int, PlaceLoss], alt: str, full: float = ceiling) -> None:
            drawn.append(picture(cells, kind, color, paid=paid or None, unit=unit, scale=full, alt=alt))

        if stage.title:
            st.markdown(f"**{plain(stage.title)}**")
            drawn.append(heading(stage.title))
        places = f"{len(example.asked)} of {len(example.source)} positions have a loss"
        row(example.source, losses.source, f"{name}: {places}; the table has all.")
        if example.decoder:
            reads = "Decoder input, above the targets"
            st.markdown(f"**{reads}**")
            drawn.append(heading(reads))
            row(example.decoder, losses.decoder, f"{name}: the decoder's input and targets; the table has all.")
        for number, label in enumerate(example.labels):
            drawn.append(answer_bars(label, number, losses, color, unit, covered))
        note = words.part("Note") if index == 0 and words.has("Note") else ""
        if legend := f"{_legend(stage, losses, unit, covered)} {note}".strip():
            st.caption(plain(legend))
            drawn.append(f"<p>{escape(legend)}</p>")
    return drawn


def _legend(stage: Stage, losses: Losses, unit: str, covered: bool) -> str:
    """What the rows are, and what it cost in all, as plain text."""
    words = content("objectives", "objectives")
    cells = (*stage.example.source, *stage.example.decoder)
    asks = sum(cell.target is not None for cell in cells)
    where = "where a question mark stands" if covered else f"at {asks} of {len(cells)} positions"
    said = [words.part("Legend: rows", where=where)] if asks else []
    if losses.mean is not None:
        size = BITS if unit == "bits" else 1.0
        said.append(words.part("Legend: losses", mean=f"{losses.mean * size:.2f}", unit=unit, under=stage.under))
        if losses.options:
            nothing, among = math.log(losses.options) * size, f"{losses.options:,} {stage.among}"
            said.append(words.part("Legend: blind", among=among, loss=f"{nothing:.1f}", unit=unit))
    return " ".join([*said, *([stage.note] if stage.note and not (covered and stage.tells) else [])])


def _unknown(asked: Given) -> str:
    """What became of words that the vocabulary cannot spell."""
    count = sum(token.piece == asked.frame.get("unknown") and not token.special for token in asked.tokens)
    if not count:
        return ""
    name = asked.frame["unknown"]
    return f"{count} {'word is' if count == 1 else 'words are'} not in its vocabulary: {name} stands for any of them."


def _about(entry: Entry, view: View, slug: str, names: Mapping[str, str], live: bool) -> str:
    """Who cut the text and who answered, or why nobody did."""
    name, has = names.get(slug, slug), view.words.has
    if live and has("Relative"):
        return f"Tokenized and predicted by {name}. {view.words.part('Relative')}"
    said = view.words.part(f"Model: {slug}" if has(f"Model: {slug}") else "Model")
    if live:
        return f"Tokenized and predicted by {name}. {said}"
    ask = f" “Run {name}, a related model” shows its loss at the same positions." if has("Relative") else ""
    return f"Tokenized by {name}. {said}{ask}"


def _below(
    entry: Entry, view: View, asked: Given, stages: Sequence[Stage], answers: Sequence[Losses], covered: bool
) -> None:
    """The formula with its symbols, who may look at whom, proportions, and everything as a table.

    What gives the answers away stands there only where they are not ``covered``.
    """
    seen_in = next((stage for stage in reversed(stages) if stage.example.visible and entry.masks), None)
    several = seen_in is not None and len(seen_in.example.visible) > 2
    left, right = st.columns([3, 2], gap="large") if seen_in and not several else (st.container(), None)
    with left:
        st.markdown("**What is minimized**")
        view.say("How it works")
        view.note("Paper")
    if seen_in is not None:
        masks = seen_in.example.visible
        beside = st.columns(len(masks), gap="large") if several else [right or left] * len(masks)
        for number, (column, seen) in enumerate(zip(beside, masks, strict=True)):
            with column:
                _mask(entry, asked, seen, (_OF_THREE if several else _KINDS)[seen.kind], number, view.state)
    if entry.shares is not None:
        _shares(entry, asked, view.state)
    if not covered:
        found = [row for pair in zip(stages, answers, strict=True) for row in rows(*pair)]
        with st.expander("Every position as a table"):
            data_table(
                found,
                entry.slug,
                alt=f"{view.words.title}: every position with its target and its loss",
                key=view.state.key(f"csv.{entry.slug}"),
                column_config={
                    name: st.column_config.NumberColumn(format="%.3f") for name in ("nats", "bits", "its probability")
                },
            )


def _mask(entry: Entry, asked: Given, seen: Visible, title: str, number: int, state: PageState) -> None:
    from core.figures.masks import mask_map, mask_words

    kind = style(asked.slug)
    special = set(asked.frame.values())
    rows, columns = ([shown(name, kind, name in special) for name in names] for names in (seen.queries, seen.keys))
    said = f"Rows are queries, columns are keys. {mask_words(seen.allowed)}"
    Panel(
        f"{entry.slug}-mask-{number + 1}",
        title,
        mask_map(seen.allowed, rows, columns, accent(entry.branch), small=True, theme=theme()),
        f"{title}. {said}",
        note=said,
        heading=True,
    ).draw(state)


def _shares(entry: Entry, asked: Given, state: PageState) -> None:
    # Hundreds of draws, which the answer above would have to wait for: they are made for who looks.
    box = st.expander(
        "Proportions over many draws of this text", key=state.key(f"shares.{entry.slug}"), on_change="rerun"
    )
    if not box.open:
        return
    with box:
        found = _drawn(entry.slug, asked.slug, asked.text, asked.seed, tuple(sorted(asked.options.items())))
        rows = tuple((s.name, _amount(s.found, s.unit), _amount(s.published, s.unit)) for s in found)
        caption = "Proportions over many draws beside the published ones"
        text_table(TextTable(("", "here", "published"), rows, caption, (56, 22, 22), numeric=(1, 2)))
        table = Table(
            ("what", "here", "published", "unit"), tuple((s.name, s.found, s.published, s.unit) for s in found)
        )
        download_csv(table, f"{entry.slug}-proportions", f"csv.shares.{entry.slug}")
        st.caption(content("objectives", "objectives").part("Proportions", draws=DRAWS))


def _amount(value: float, unit: str) -> str:
    return f"{value:.1f} {unit}" if unit else f"{value:.2f}"


@session.cached("Sampling")
def _drawn(
    objective: str, slug: str, text: str, seed: int, options: tuple[tuple[str, int | str], ...]
) -> tuple[Share, ...]:
    counted = ENTRIES[objective].shares
    return counted(given(slug, text, seed, dict(options))) if counted is not None else ()


def rows(stage: Stage, losses: Losses) -> list[dict[str, object]]:
    """One row a place, and one for each question about the whole."""
    example = stage.example
    found: list[dict[str, object]] = []
    for side, cells, paid in (("input", example.source, losses.source), ("decoder", example.decoder, losses.decoder)):
        for place, cell in enumerate(cells):
            done = cell.note or DONE[cell.change] or cell.change
            read = {"side": stage.title or side, "place": place, "reads": cell.token, "done": done}
            found.append(read | {"target": cell.target} | _paid(paid.get(place)))
    for number, label in enumerate(example.labels):
        asked = {"side": label.name, "place": None, "reads": None, "done": None}
        found.append(asked | {"target": label.choices[label.answer]} | _paid(losses.labels.get(number)))
    return found


def _paid(paid: PlaceLoss | None) -> dict[str, object]:
    return {
        "nats": paid.nats if paid else None,
        "bits": paid.bits if paid else None,
        "top prediction": paid.guess if paid else None,
        "its probability": paid.chance if paid else None,
    }


OBJECTIVES = Section(
    "objectives",
    objective,
    (OBJECTIVE, SEED, UNIT, COVER, RELATIVE, read_on.ORDER, *SETTINGS.values()),
)
