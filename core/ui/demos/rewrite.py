"""The demo of the encoder-decoder page: text in, text out, and what each generated token attends to."""

from __future__ import annotations

from typing import Any, cast

import streamlit as st
from rapidfuzz.distance.Levenshtein import distance

from core import checkpoints, engine, session
from core.figures import attention as figures
from core.figures.vocabulary import token_bars
from core.language import translate
from core.language.generate import steps_along
from core.language.noise import EVERYDAY, NOISES, RATES, Noise, TokenizedText, changed, characters, noisy, tokenize_both
from core.language.tasks import LANGUAGES, Task, tasks
from core.language.text import clean
from core.language.translate import MAX_CHARS, Alignment, Request
from core.language.types import Decoding, Token
from core.objectives.corruptions import CORRUPTIONS, corrupt_text
from core.ui.chips import text_color_on
from core.ui.component import Component, Message, Position
from core.ui.demos import steps
from core.ui.demos.cover import keep_step, step_of, switch, text_uncovered, words_reconstructed
from core.ui.demos.decoding import DECODING, LENGTH, decoding_controls, effective, explain_decoding
from core.ui.demos.demo import Demo, DemoView, Menu, every_sample, paragraph, sample_pills, task_samples, underlined
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.page import plain, theme
from core.ui.param import Choice, Integer, Seed, Text

BYTES = 160
"""Bytes that are written at most, unless the visitor says otherwise."""
_WIDE = 4
RATE = Integer(name="rate", label="Noise rate", low=0, high=100, style="slider", format="%d%%", width=260)


def rate_of(view: DemoView, kind: Noise) -> float | None:
    """How much noise, from 0 to 1; None for a kind that has no rate."""
    if kind not in RATES:
        view.state.set(rate=None)
        return None
    usual = round(100 * RATES[kind])
    trained = view.words.part("Rate", most=2 * usual)
    return RATE.with_(default=usual, high=_WIDE * usual, help=trained).draw(view.state, tag=kind) / 100


def respell_panel(view: DemoView, clean: str, source: str, output: str) -> None:
    """What the model changed, and the same texts as bytes and as subword tokens.

    Args:
        clean: the sentence before the noise.
        source: the model's input.
        output: its generated text.
    """
    _changes(view, clean, source, output)
    with sentences():
        cuts = _cuts(view.spec.slug, clean, source)
        counts = "; ".join(f"{text.reader}: {len(text.clean)} clean, {len(text.noisy)} noisy" for text in cuts)
        rows = [
            {
                "tokenizer": text.reader,
                "text": name,
                "tokens": len(tokens),
                "unknown": text.unknown if name == "noisy" else 0,
                "pieces": " · ".join(tokens),
            }
            for text in cuts
            for name, tokens in (("clean", text.clean), ("noisy", text.noisy))
        ]
        figure = token_bars(cuts, view.accent, theme=theme())
        view.picture("pieces", figure, rows, alt=view.words.part("Alt: pieces", counts=counts))
        if clean == source:
            view.note("No corruption")
        view.try_and_notice("bytes")
    _bytes(view, source)


def _changes(view: DemoView, clean: str, source: str, output: str) -> None:
    """The output with what was changed underlined, and its edit distance to the sentence before the noise."""
    style = f"font-weight:600;{underlined(view.accent)}"
    parts = [(text, style if new else "") for text, new in changed(source, output)]
    st.html(paragraph(parts, "margin:0", "Changed by the model, underlined"))
    edits = distance(output, clean)
    if clean == source:
        view.note("Edits", edits=edits)
    else:
        view.note("Distance", before=distance(source, clean), after=edits)


def _bytes(view: DemoView, source: str) -> None:
    """Every character that the model read with its bytes; most have one."""
    rows = characters(source)
    with st.expander("Input bytes"):
        size, wide = sum(len(row.bytes) for row in rows), sum(len(row.bytes) > 1 for row in rows)
        view.say("UTF-8", characters=len(rows), bytes=size, wide=wide)
        view.data_table(
            "bytes",
            [
                {
                    "character": "␣" if row.text == " " else row.text,
                    "name": row.name.lower(),
                    "bytes": " ".join(f"{value:02x}" for value in row.bytes),
                    "ids": " ".join(str(value + 3) for value in row.bytes),
                }
                for row in rows
            ],
        )


@session.cached("tokenizing-both-texts")
def _cuts(slug: str, clean: str, given: str) -> tuple[TokenizedText, ...]:
    ready = {spec.slug for spec in checkpoints.available() if spec.ready}
    return tuple(
        tokenize_both(session.checkpoint(reader), clean, given)
        for reader in (slug, *checkpoints.first("respell"))
        if reader == slug or reader in ready
    )


class Picked(Message):
    """The generated token that was chosen."""

    selected: Position


ROWS = Component("alignment", Picked)
LAYER = Menu(name="layer", label="Layer", low=0, high=200, zero="mean", width=110)
HEAD = Menu(name="head", label="Head", low=0, high=256, zero="mean", width=110)
"""Both count from 1; 0 is the mean."""


def attention_panel(view: DemoView, alignment: Alignment, step: int) -> tuple[int, figures.Weights, str]:
    """The menus and the two rows of tokens; choosing a generated token changes the step.

    Returns:
        The step, the weights (T, S) of the chosen layer and head, and their names.
    """
    layers, heads = alignment.weights.shape[:2]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**{view.words.label('alignment')}**", width="stretch")
        layer = LAYER.with_(options=range(layers + 1), high=layers).draw(view.state)
        head = HEAD.with_(options=range(heads + 1), high=heads).draw(view.state)
    weights = figures.choose(alignment.weights, layer - 1 if layer else None, head - 1 if head else None)
    key = view.state.key("alignment")
    picked = ROWS.sent(key)
    step = min(step if picked is None else picked.selected, len(alignment.target) - 1)
    data = {
        "source": [_chip(token, "source token") for token in alignment.source],
        "target": [_chip(token, f"step {t}") for t, token in enumerate(alignment.target, 1)],
        "lines": figures.alignment_lines(weights),
        "selected": step,
        "accent": view.accent,
        "onAccent": text_color_on(view.accent),
        "label": view.words.label("rows"),
    }
    ROWS.draw(key, data)
    return step, weights, f"{f'layer {layer}' if layer else 'all layers'}, {f'head {head}' if head else 'all heads'}"


def attention_map(view: DemoView, alignment: Alignment, weights: figures.Weights, which: str) -> None:
    """The same weights as a heat map, with its table."""
    view.picture(
        "alignment",
        figures.alignment_map(alignment.source, alignment.target, weights, theme=theme()),
        figures.alignment_table(alignment.source, alignment.target, weights),
        which=which,
        target=len(alignment.target),
        source=len(alignment.source),
    )


def _chip(token: Token, about: str) -> dict[str, Any]:
    mark = "‿" if token.continuation else ""
    return {
        "text": mark + (token.text or ("␣" if token.leading_space else token.piece)),
        "title": f"{about}, id {token.id}, piece {token.piece}",
        "special": token.special,
    }


NO_CORRUPTION = "none"
TASK = Choice(name="task", label="Task", options={}, width=290)
DAMAGE = Choice(
    name="damage",
    label="Corruption",
    options={kind: kind for kind in (*EVERYDAY, *CORRUPTIONS, *NOISES, NO_CORRUPTION)},
    width=230,
)
TEXT = Text(name="text", label="Source text", height=72)
SEED = Seed(again="Corrupt it another way")


def draw(view: DemoView) -> None:
    """Draw the demo."""
    state, checkpoint = view.state, view.checkpoint
    offered = {task.slug: task for task in tasks(checkpoint)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {slug: task.label for slug, task in offered.items()}
        task = offered[TASK.with_(options=names).draw(state, tag=view.spec.slug)]
        kind = _corruption_menu(view, task)
        with st.popover("Decoding"):  # 40 bytes would be too few for a sentence
            decoding = decoding_controls(state, LENGTH.with_(default=BYTES) if task.respells else LENGTH)
        covered = switch(state)
    samples = task_samples(task)
    box = TEXT.with_(default=samples[0])
    _another_task(state, box, task)
    sample_pills(state, "Samples", [(sample,) for sample in samples], box)
    left, right = st.columns(2, gap="medium")
    with left:
        typed = box.draw(state)
        source = typed if kind == NO_CORRUPTION else _corrupted(view, task, typed, kind)
    original = clean(typed, MAX_CHARS)
    request = translate.prepare(checkpoint, source, task.slug)
    with right:
        run, shown = _generate(view, request, source, decoding, covered, None if kind == NO_CORRUPTION else original)
    if shown and run.steps:
        output = run.steps[-1].text
        if task.respells:
            respell_panel(view, original, request.text, output)
        if task.denoises:
            st.caption(plain(words_reconstructed(original, output)))
        _pivot(view, source, task, output, decoding)
        if run.path:
            ids = tuple(step.token.id for step in run.path)
            _explore(view, task, run, view.computed("", translate.align, request, ids), decoding)
    scaled = not view.spec.offers("unscaled attention")
    named = ["Task in the text"] if task.prefix else ["Task as tokens"] if task.opens or task.answers else []
    view.how_it_works("Formula" if scaled else "Formula: unscaled", notes=named)
    explain_decoding(view)


def _corruption_menu(view: DemoView, task: Task) -> str:
    """How the text is corrupted before the encoder reads it; not at all where the task is another one."""
    if task.denoises or task.respells:
        kinds = tuple(CORRUPTIONS) if task.denoises else tuple(NOISES)
    elif task.repairs:
        kinds = (EVERYDAY[-1], *EVERYDAY[:-1])
    else:
        return NO_CORRUPTION
    names = view.words.front["corruptions"]
    options = {kind: names[kind] for kind in (*kinds, NO_CORRUPTION)}
    return view.control(DAMAGE, tag=f"{task.denoises}.{task.respells}", options=options, default=kinds[0])


def _another_task(state: PageState, box: Text, task: Task) -> None:
    """Another task brings its own sample where the box still holds one of the old task's."""
    slot, owner = state.key(box.name), state.key("text.task")
    stands = any(st.session_state.get(slot, box.value(state)) in samples for samples in every_sample().values())
    if st.session_state.get(owner, task.slug) != task.slug and stands:
        st.session_state[slot] = box.default
    st.session_state[owner] = task.slug


def _corrupted(view: DemoView, task: Task, typed: str, kind: str) -> str:
    """The corrupted text, shown, with a button that samples another corruption."""
    text = clean(typed, MAX_CHARS)
    rate = rate_of(view, cast(Noise, kind)) if task.respells else None
    with st.container(horizontal=True, vertical_alignment="center"):
        placeholder = st.empty()
        seed = SEED.button(view.state)
    if task.denoises:
        source = corrupt_text(view.checkpoint, text, kind, seed)
    else:
        source = noisy(text, cast(Noise, kind), rate, seed)
    code = "font-family:var(--st-code-font,monospace);font-size:.9em"
    placeholder.html(paragraph([(source, code)], "margin:0", "Corrupted text"), width="stretch")
    return source


def _generate(
    view: DemoView, request: Request, source: str, decoding: Decoding, covered: bool, original: str | None
) -> tuple[steps.Run, bool]:
    """The generated text, and whether it is shown.

    :param hidden: whether it waits for a guess.
    :param original: the text before the corruption that is to be undone; None where there was none.
    """
    state, checkpoint, task = view.state, view.checkpoint, request.task.slug
    forced = steps.by_hand(state, (request.text, task))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html('<p style="margin:0;font-size:.875rem">Output</p>', width="content")
        stop = st.empty()
    placeholder, buttons = st.empty(), st.empty()
    style = f"font-size:1.3rem;line-height:1.6;border-left:4px solid {view.accent};margin:0;padding-left:.8rem"

    def draw_text(text: str, growing: bool) -> None:
        parts = [(text, ""), (steps.CARET if growing else "", "")]
        placeholder.html(paragraph(parts, f"{style};min-height:2.2em"))

    run = steps.grown(
        state,
        (view.spec.slug, request.text, task, effective(decoding), forced),
        decoding.strategy,
        lambda ids: engine.stream(translate.rewrite, view.spec.slug, source, task, decoding, forced=ids),
        lambda ids: engine.run(steps_along, view.spec.slug, translate.start(checkpoint, source, task), ids),
        draw=None if covered else draw_text,
        button=stop,
    )
    shown = not covered or not run.steps or text_uncovered(state, run.wanted, run.steps[-1].text, original)
    if run.steps and shown:
        draw_text(run.steps[-1].text, False)
    chosen = f" {view.words.part('By hand', step=len(forced))}" if forced else ""
    with buttons.container(horizontal=True, vertical_alignment="center"):
        ended = f"{len(run.path)} tokens. {run.ended(view.spec.name)}"
        st.caption((ended if shown else view.words.part("Covered")) + chosen)
        if forced:
            reset = view.words.label("reset")
            st.button(reset, key=state.key("unforce"), on_click=steps.choose_path, args=(state, ()))
    state.set(forced=forced)
    return run, shown


def _explore(view: DemoView, task: Task, run: steps.Run, alignment: Alignment, decoding: Decoding) -> None:
    """What each generated token attends to, and what else could have come in its place."""
    state = view.state
    slot = state.key("step")
    step, weights, which = attention_panel(view, alignment, step_of(state, slot, len(run.path)))
    keep_step(state, slot, step)
    steps.continue_from(state, run.path, step, decoding, key=state.key("steps"), branch=view.spec.branch)
    steps.beams_table(run.steps, step)
    names = {"repair": task.repairs, "respell": task.respells, "denoise": task.denoises, "fuse": task.slug == "fuse"}
    view.try_and_notice(next((name for name, fits in names.items() if fits), "translate" if task.languages else ""))
    attention_map(view, alignment, weights, which)
    steps.steps_table(run.path)


def _pivot(view: DemoView, source_text: str, task: Task, direct: str, decoding: Decoding) -> None:
    """Beside a translation between two languages the same with English as pivot, where the model translates so.

    Args:
        direct: the translation without a pivot.
    """
    tasks = translate.pivot_tasks(view.checkpoint, task.slug)
    if tasks is None or task.languages is None:
        return
    source, target = (LANGUAGES.get(code, code) for code in task.languages)
    st.markdown(f"**{view.words.label('pivot')}**")
    with sentences():
        pivoted = view.computed(
            "translating-with-english-as-pivot", translate.translate_through_pivot, source_text, tasks, decoding
        )
        left, right = st.columns(2, gap="medium")
        style = f"margin:0 0 .5rem;padding-left:.8rem;border-left:4px solid {view.accent}"
        for column, name, text in (
            (left, f"{source} to {target}, direct", direct),
            (right, f"{source} to English", pivoted.pivot),
            (right, f"that English to {target}", pivoted.translation),
        ):
            column.html(paragraph([(text, "")], style, name))
        view.note("Pivot: same" if pivoted.translation == direct.strip() else "Pivot: different")
        view.try_and_notice("pivot", source=source)
        _both_measured(view, task.slug)


def _both_measured(view: DemoView, task: str) -> None:
    """What the card states for the direct translation and for the one with a pivot."""
    card = view.spec.card
    stated = {(m.name, m.on): m.value for m in card.measures} if card else {}
    rows = [
        {"measured on": on, "measure": kind, "direct": f"{value:.1f}", "English as pivot": f"{other:.1f}"}
        for (name, on), value in stated.items()
        for kind in [name.removeprefix(f"{task} ")]
        if (other := stated.get((f"{task} through English {kind}", on))) is not None
    ]
    if rows:
        with st.expander(view.words.label("quality")):
            st.table(rows, border="horizontal", hide_index=True, alt="Quality of both translations")
            view.note("Card")


REWRITE = Demo(
    "rewrite",
    draw,
    lambda spec: spec.offers("rewrites"),
    (*DECODING, TASK, DAMAGE, RATE, LAYER, HEAD, steps.FORCED, steps.STEP, TEXT, SEED),
)
