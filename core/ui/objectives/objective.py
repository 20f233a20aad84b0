"""One objective on the visitor's text: the corrupted input above the targets, and the losses of a live model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

import streamlit as st

from core import checkpoints, session
from core.content import Content, content
from core.figures.labels import with_unit
from core.figures.masks import mask_map, mask_words
from core.language.guesses import MAX_CHARS
from core.language.losses import BITS, Losses, PositionLoss
from core.objectives.example import DRAWS, Visible
from core.table import Table
from core.ui.demos.cover import COVER, SENTENCE_CHARS, explained, uncovered
from core.ui.export import download_html, heading, html_page
from core.ui.glossary import markdown, sentences
from core.ui.grid import Column, Grid
from core.ui.links import PageState
from core.ui.objectives import language_modeling, tokens, two_models, two_texts
from core.ui.objectives.covered_targets import covered as cover
from core.ui.objectives.covered_targets import guess_label, main_stage, open_targets, targets_judge
from core.ui.objectives.entry import RATE, SEED, Entry, Inputs, Share, Stage, inputs, style
from core.ui.objectives.picture import DONE, answer_bars, picture, shown
from core.ui.objectives.points import POINTS
from core.ui.objectives.reward import REWARD
from core.ui.page import BRANCH_TITLES, accent, plain, theme
from core.ui.panel import Panel, offer_table
from core.ui.param import Choice, Control, Param, Text, Toggle, menu_names, settings_menu
from core.ui.section import Section, View

_FEW = 6
"""Targets above which the box for the guess is wider."""
_MAIN = (
    *(tokens.MASKED, two_models.REPLACED, two_texts.NEXT_SENTENCE, two_texts.TRANSLATION),
    *(language_modeling.CAUSAL, language_modeling.PERMUTATION),
    *(two_texts.SENTINELS, two_texts.DENOISE),
)
"""The objectives that the others vary, by architecture."""
_VARIANTS = (
    tokens.EPOCHS,
    tokens.WHOLE_WORDS,
    tokens.SPANS,
    tokens.NGRAMS,
    tokens.KNOWLEDGE,
    two_texts.SENTENCE_ORDER,
    two_texts.THREE_ORDERS,
    tokens.WORD_ORDER,
    two_models.DISTILLATION,
    language_modeling.PREFIX_LM,
    language_modeling.UNIFIED,
    two_texts.GAPS,
)
ENTRIES = {entry.slug: entry for entry in (*_MAIN, *_VARIANTS)}
"""All objectives on one text, in the order of the menu."""
ALONE = {section.slug: section for section in (POINTS, REWARD)}
"""Variants on something else, which draw themselves."""
SETTINGS: dict[str, Control[Any]] = {
    setting.name: setting for entry in ENTRIES.values() for setting in (*entry.settings, *entry.rare)
}
SETTINGS["rate"] = RATE.with_(high=70)  # as wide as any objective has it
OBJECTIVE = Choice(
    name="objective", label="Objective", options={slug: slug for slug in (*ENTRIES, *ALONE)}, width=400, hide_label=True
)
TEXT = Text(name="text", label="Your sentence", hide_label=True)
MODEL = Choice(name="model", label="Model", options={}, width=200)
UNIT = Choice(name="unit", label="Loss in", options={"nats": "nats", "bits": "bits"}, style="row")
RELATIVE = Toggle(name="relative", label="Run a related model")
_MASKS = {
    "encoder": "Attention mask",
    "decoder": "Attention mask",
    "cross": "Mask of the cross-attention",
    "query": "Attention mask of the query stream",
}


def objective(view: View) -> None:
    state = view.state
    with view.controls():
        picked = _menu(state)
    if section := ALONE.get(picked):
        _forget_others(state, section.params)
        words = section.words("objectives")
        state.helps |= words.front.get("help", {})
        own = View(state, words, view.later)
        section.draw(own)
        own.finish()
        return
    entry, page, view = ENTRIES[picked], view.words, View(state, content("objectives", picked))
    _forget_others(state, (*entry.settings, *entry.rare))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        typed = st.container(width="stretch")
        chosen = _choose(entry, view)
    # Covered, the sentence would be the answer: its box is closed, and opens for another one.
    with typed, st.expander(_box(entry)) if chosen.guess_first else st.container():
        text = _text(entry, view)
    with sentences():
        _draw_text(entry, view, page, chosen, inputs(entry.slug, chosen.model, text, chosen.seed, chosen.options))
        view.finish()


def _forget_others(state: PageState, params: Sequence[Param[Any]]) -> None:
    """Reset the parameters of all objectives but one, which has ``params``."""
    names = {*SETTINGS, *(param.name for section in ALONE.values() for param in section.params)}
    state.set(**dict.fromkeys(names - {param.name for param in params}))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """What the menus above an objective say."""

    model: str
    unit: str
    guess_first: bool
    live: bool
    """Whether the model predicts."""
    seed: int
    options: dict[str, Any]
    """The objective's own settings."""


def _choose(entry: Entry, view: View) -> _Chosen:
    """Draw the objective's settings, the menu of the others and the button of the next seed."""
    state = view.state
    options = {setting.name: setting.draw(state, tag=entry.slug) for setting in _helped(entry.settings, view)}
    models, seeds = _model(entry), SEED.with_(default=view.words.front.get("seed", SEED.default))
    related = view.words.has("Relative")
    common = (
        *((seeds.box,) if entry.random else ()),
        *(UNIT, explained()),
        *((RELATIVE,) if related else ()),
    )
    rare = _helped(entry.rare, view)
    menu = settings_menu(state, *((models,) if len(models.options) > 1 else ()), *rare, *common, tag=entry.slug)
    live = menu[RELATIVE.name] if related else entry.answer is not None
    state.set(relative="yes" if related and live else None)
    seed = seeds.button(state, tag=entry.slug) if entry.random else seeds.value(state)
    options |= {setting.name: menu[setting.name] for setting in rare}
    options = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in options.items()}
    model = menu.get(MODEL.name, models.value(state))
    return _Chosen(model, menu[UNIT.name], menu[COVER.name], live, seed, options)


def _box(entry: Entry) -> str:
    return "Your text" if entry.several else "Your sentence"


def _text(entry: Entry, view: View) -> str:
    box = TEXT.with_(
        label=_box(entry),
        default=view.words.label("text"),
        height=96 if entry.several else None,
        placeholder="Several sentences" if entry.several else "A sentence",
        sentence="" if entry.several else "plain",
    )
    return box.draw(view.state, tag=entry.slug)


def _draw_text(entry: Entry, view: View, page: Content, chosen: _Chosen, given: Inputs) -> None:
    """Draw what the objective makes of one text, how well a model predicts it, and all that is said of it."""
    state, question = view.state, given.question
    if entry.ask is not None:
        given = replace(given, options={**chosen.options, **entry.ask(view, given)})
    stages = _stages(entry, view, given)
    unknown = (Losses(),) * len(stages)
    answers = entry.answer(chosen.model, stages) if entry.answer and chosen.live else unknown
    shown = _uncovered(state, question, given, stages, chosen.guess_first)
    visible = stages if shown else _covered_stages(stages)
    drawn = _draw_example(
        entry, view, page.part, given, visible, answers if shown else unknown, chosen.unit, covered=not shown
    )
    title = view.words.title
    file = f"{title}: {given.text}" if shown else title
    download_html(html_page(file, drawn), entry.slug, state.key(f"html.{entry.slug}"))
    markdown(f"**{title}.** {view.words.part('Question')}")
    if entry.total is not None and chosen.live and shown:
        st.markdown(plain(entry.total(view.words.part, answers)))
    view.try_and_notice()
    if entry.more is not None and shown:
        entry.more(view, given, stages)
    model = f"Model: {chosen.model}" if view.words.has(f"Model: {chosen.model}") else "Model"
    names = {spec.slug: spec.name for spec in checkpoints.available()}
    about = _about(view, page.part, names.get(chosen.model, chosen.model), model, chosen.live)
    st.caption(plain(f"{about} {_unknown(given, page.part)}"))
    if entry.masks:
        _masks(entry, view, given, visible, page.label("mask"))
    view.how_it_works(notes=[model] if chosen.live and not view.words.has("Relative") else [])
    if entry.shares is not None:
        _shares(entry, given, state, page)
    if shown:
        every = [row for pair in zip(stages, answers, strict=True) for row in rows(*pair)]
        offer_table(state, Table.from_records(every), f"{title}: {page.label('positions')}", "positions", entry.slug)


def _stages(entry: Entry, view: View, given: Inputs) -> tuple[Stage, ...]:
    """The objective's stages, with the titles of its content."""
    return tuple(
        replace(stage, title=view.words.part(part)) if view.words.has(part := f"Stage {number}") else stage
        for number, stage in enumerate(entry.build(given), 1)
    )


def _uncovered(state: PageState, question: object, given: Inputs, stages: tuple[Stage, ...], guess_first: bool) -> bool:
    """Whether the targets may be drawn; else draw the box for a guess."""
    label, choices = guess_label(stages)
    several = len(open_targets(main_stage(stages).example)) > _FEW
    most = SENTENCE_CHARS if several else MAX_CHARS
    judge = targets_judge(given, stages)
    return uncovered(state, question, label, judge, choices=choices, on=guess_first, most=most)


def _covered_stages(stages: tuple[Stage, ...]) -> tuple[Stage, ...]:
    """The stages without targets; the discriminator's alone: the generator's shows which positions were chosen."""
    visible = stages[-1:] if stages[-1].classifies else stages
    return tuple(replace(stage, example=cover(stage.example)) for stage in visible)


def _menu(state: PageState) -> str:
    """Draw the menu of the objectives, the main ones by architecture, and return the slug of the chosen one."""
    options = {}
    for slug in (*ENTRIES, *ALONE):
        words = content("objectives", slug)
        entry = ENTRIES.get(slug)
        kind = BRANCH_TITLES[entry.branch] if entry in _MAIN else "Variant"
        options[slug] = f"{kind}: {words.title} ({words.label('systems')})"
    return str(OBJECTIVE.with_(options=options).draw(state))


def _helped(settings: Sequence[Control[Any]], view: View) -> list[Control[Any]]:
    """Settings with their help from the objective's content."""
    words = view.words
    return [
        setting.with_(help=words.part(part) if words.has(part := f"Setting: {setting.name}") else None)
        for setting in settings
    ]


def _model(entry: Entry) -> Choice:
    """The menu of the live models that predict."""
    names = menu_names(checkpoints.available())
    here = {slug: names[slug] for slug in entry.models if slug in names} or {entry.models[0]: entry.models[0]}
    return MODEL.with_(options=here, default="")


def _draw_example(
    entry: Entry,
    view: View,
    legend: Callable[..., str],
    chosen: Inputs,
    stages: Sequence[Stage],
    answers: Sequence[Losses],
    unit: str,
    covered: bool,
) -> list[str]:
    """Draw the stages; return the HTML drawn."""
    color, kind, words = accent(entry.branch), style(chosen.slug), view.words
    drawn = [f"<p>{escape(words.part('Question'))}</p>"]
    for index, (stage, losses) in enumerate(zip(stages, answers, strict=False)):
        example = stage.example
        ceiling = math.log(losses.options) if losses.options else 0.0
        counts = legend("Input: alt", count=len(example.targets), total=len(example.source))
        sides = [(stage.title, example.source, losses.source, counts)]
        if example.decoder:
            sides.append((legend("Decoder input"), example.decoder, losses.decoder, legend("Decoder input: alt")))
        for title, cells, paid, alt in sides:
            if title:
                st.markdown(f"**{plain(title)}**")
                drawn.append(heading(title))
            alt = f"{words.title}: {alt}"
            drawn.append(picture(cells, kind, color, paid=paid, unit=unit, scale=ceiling, alt=alt))
        for number, label in enumerate(example.labels):
            drawn.append(answer_bars(label, number, losses, color, unit, covered, legend))
        note = words.part("Note") if index == 0 and words.has("Note") else ""
        if text := f"{_legend(stage, losses, unit, covered, legend)} {note}".strip():
            st.caption(plain(text))
            drawn.append(f"<p>{escape(text)}</p>")
    return drawn


def _legend(stage: Stage, losses: Losses, unit: str, covered: bool, words: Callable[..., str]) -> str:
    """The legend of the rows and the mean loss, as plain text."""
    cells = (*stage.example.source, *stage.example.decoder)
    targets = sum(cell.target is not None for cell in cells)
    parts = []
    if targets and covered:
        parts.append(words("Legend: covered rows"))
    elif targets:
        parts.append(words("Legend: rows", targets=targets, count=len(cells)))
    if losses.mean is not None:
        size = BITS if unit == "bits" else 1.0
        kind = "classes" if stage.classifies else "tokens"
        parts.append(words(f"Legend: losses of {kind}", mean=f"{losses.mean * size:.2f}", unit=unit))
        if losses.options:
            blind = f"{math.log(losses.options) * size:.1f}"
            parts.append(words(f"Legend: random {kind}", options=f"{losses.options:,}", loss=blind, unit=unit))
    if stage.note and not (covered and stage.reveals):
        parts.append(stage.note)
    return " ".join(parts)


def _unknown(chosen: Inputs, page: Callable[..., str]) -> str:
    """The number of words without tokens in the vocabulary."""
    count = sum(token.piece == chosen.frame.get("unknown") and not token.special for token in chosen.tokens)
    if not count:
        return ""
    return page("Unknown word" if count == 1 else "Unknown words", count=count, name=chosen.frame["unknown"])


def _about(view: View, page: Callable[..., str], name: str, model: str, live: bool) -> str:
    """A sentence on which model tokenized the text and which predicted, or why none did."""
    part, related = view.words.part, view.words.has("Relative")
    if live:
        return f"{page('Predicted', name=name)} {part('Relative') if related else ''}"
    return f"{page('Tokenized', name=name)} {part(model)} {page('Related', name=name) if related else ''}"


def _masks(entry: Entry, view: View, chosen: Inputs, stages: Sequence[Stage], axes: str) -> None:
    """Draw the attention masks of the last stage that has any, side by side."""
    masks = next((stage.example.visible for stage in reversed(stages) if stage.example.visible), ())
    several = len(masks) > 2
    columns = st.columns(max(2, len(masks)), gap="large")
    for number, (column, mask) in enumerate(zip(columns, masks, strict=False)):
        of = f" of the {mask.kind}" if several and mask.kind != "cross" else ""
        with column:
            _mask(entry, chosen, mask, _MASKS[mask.kind] + of, f"{axes} {mask_words(mask.allowed)}", number, view.state)


def _mask(entry: Entry, chosen: Inputs, mask: Visible, title: str, note: str, number: int, state: PageState) -> None:
    kind = style(chosen.slug)
    special = set(chosen.frame.values())
    rows, columns = ([shown(name, kind, name in special) for name in names] for names in (mask.queries, mask.keys))
    Panel(
        f"{entry.slug}-mask-{number + 1}",
        title,
        mask_map(mask.allowed, rows, columns, accent(entry.branch), small=True, theme=theme()),
        f"{title}. {note}",
        note=note,
        heading=True,
    ).draw(state)


_SHARES: tuple[Column[Share], ...] = (
    Column("", lambda share: share.name, width=56, name="what"),
    Column("here", lambda of: of.counted, width=22, cell=lambda of: _amount(of.counted, of.unit)),
    Column("published", lambda of: of.published, width=22, cell=lambda of: _amount(of.published, of.unit)),
    Column("unit", lambda share: share.unit),
)


def _shares(entry: Entry, chosen: Inputs, state: PageState, words: Content) -> None:
    # Hundreds of samples, computed for those who open it.
    box = st.expander(words.label("proportions"), key=state.key(f"shares.{entry.slug}"), on_change="rerun")
    if not box.open:
        return
    with box:
        counts = _counted(entry.slug, chosen.slug, chosen.text, chosen.seed, tuple(sorted(chosen.options.items())))
        grid = Grid(words.label("proportions_alt"), _SHARES, counts)
        grid.draw(f"{entry.slug}-proportions", f"csv.shares.{entry.slug}")
        st.caption(words.part("Proportions", draws=DRAWS))


def _amount(value: float, unit: str) -> str:
    return with_unit(f"{value:.1f}", unit) if unit else f"{value:.2f}"


@session.cached("sampling")
def _counted(
    objective: str, slug: str, text: str, seed: int, options: tuple[tuple[str, int | str], ...]
) -> tuple[Share, ...]:
    shares = ENTRIES[objective].shares
    return shares(inputs(objective, slug, text, seed, dict(options))) if shares is not None else ()


def rows(stage: Stage, losses: Losses) -> list[dict[str, object]]:
    """A row for each position, and one for each label of the whole text."""
    example = stage.example
    table: list[dict[str, object]] = []

    def add(
        side: str, at: int | None, reads: str | None, done: str | None, target: str | None, loss: PositionLoss | None
    ) -> None:
        table.append(
            {
                "side": side,
                "place": at,
                "reads": reads,
                "done": done,
                "target": target,
                "nats": loss.nats if loss else None,
                "bits": loss.bits if loss else None,
                "top prediction": loss.prediction if loss else None,
                "its probability": loss.prediction_probability if loss else None,
            }
        )

    for side, cells, paid in (("input", example.source, losses.source), ("decoder", example.decoder, losses.decoder)):
        for position, cell in enumerate(cells):
            done = cell.note or DONE[cell.change] or cell.change
            add(stage.title or side, position, cell.token, done, cell.target, paid.get(position))
    for number, label in enumerate(example.labels):
        add(label.name, None, None, None, label.choices[label.answer], losses.labels.get(number))
    return table


OBJECTIVES = Section(
    "objectives",
    objective,
    (
        OBJECTIVE,
        SEED,
        UNIT,
        COVER,
        RELATIVE,
        language_modeling.ORDER,
        *SETTINGS.values(),
        *POINTS.params,
        *REWARD.params,
    ),
)
