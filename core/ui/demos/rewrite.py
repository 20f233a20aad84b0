"""The demo of the encoder-decoder page: text in, text out, and what each generated token attends to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import streamlit as st

from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.language import translate
from core.language.decode import along
from core.language.noise import EVERYDAY, NOISES, Noise, noisy
from core.language.tasks import LANGUAGES, Task, tasks
from core.language.text import clean
from core.language.translate import MAX_CHARS, Alignment, Request
from core.language.types import Decoding
from core.links import parameters as link
from core.objectives.corruptions import CORRUPTIONS, damage_text
from core.ui.demos import steps
from core.ui.demos.alignment import attention_map, attention_panel
from core.ui.demos.cover import keep_step, step_of, switch
from core.ui.demos.covered_text import kept, text_uncovered
from core.ui.demos.decoding import DECODING, LENGTH, decoding_controls, effective, explain_decoding
from core.ui.demos.demo import Demo, DemoView, paragraph
from core.ui.demos.respell import BYTES, RATE, rate_of, respell_panel
from core.ui.demos.samples import every_sample, sample_pills, task_samples
from core.ui.links import PageState
from core.ui.notices import sentences
from core.ui.page import plain
from core.ui.param import Carried, Choice, Seed, Text

AS_IT_IS = "none"
TASK = Choice(name="task", label="Task", options={}, width=290)
DAMAGE = Choice(
    name="damage",
    label="Corruption",
    options={kind: kind for kind in (*EVERYDAY, *CORRUPTIONS, *NOISES, AS_IT_IS)},
    width=230,
    help="How your sentence is corrupted before the encoder reads it",
)
TEXT = Text(name="text", label="Source text", height=72)
SEED = Seed(again="Corrupt it another way")


def draw(view: DemoView) -> None:
    """Draw the demo.

    Raises:
        AtlasError: the text does not suit the model; what was typed stays in its box.
    """
    state, checkpoint = view.state, view.checkpoint
    offered = {task.slug: task for task in tasks(checkpoint)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {slug: task.label for slug, task in offered.items()}
        task = offered[TASK.with_(options=names).draw(state, tag=view.spec.slug)]
        damaged = task.repairs or task.denoises or task.respells
        kind = _damage_menu(view, task) if damaged else AS_IT_IS
        with st.popover("Decoding"):  # 40 bytes would be too few for a sentence
            decoding = decoding_controls(state, LENGTH.with_(default=BYTES) if task.respells else LENGTH)
        hidden = switch(state)
    box = TEXT.with_(default=task_samples(task)[0])
    _another_task(state, box, task)
    sample_pills(state, "Samples", [(sample,) for sample in task_samples(task)], box)
    typing, writing = st.columns(2, gap="medium")
    with typing:
        typed = box.draw(state)
        given = typed if kind == AS_IT_IS else _damaged(checkpoint, task, typed, kind, state)
    before = clean(typed, MAX_CHARS)
    request = translate.prepare(checkpoint, given, task.slug)
    with writing:
        run, shown = _write(view, request, given, decoding, hidden, None if kind == AS_IT_IS else before)
    if shown and run.steps:
        written = run.steps[-1].text
        if task.respells:
            respell_panel(view, before, request.text, written)
        if task.denoises:
            st.caption(plain(kept(before, written)))
        _pivot(view, given, task, written, decoding)
        if run.path:
            ids = tuple(step.token.id for step in run.path)
            _explore(view, task, run, view.computed("", _aligned, given, task.slug, ids), decoding)
    scaled = not view.spec.offers("unscaled attention")
    named = ["Task in the text"] if task.prefix else ["Task as tokens"] if task.opens or task.answers else []
    view.how_it_works("Formula" if scaled else "Formula: unscaled", notes=named)
    explain_decoding(view)


def _damage_menu(view: DemoView, task: Task) -> str:
    kinds: Sequence[str] = (EVERYDAY[-1], *EVERYDAY[:-1])
    if task.denoises or task.respells:
        kinds = tuple(CORRUPTIONS) if task.denoises else tuple(NOISES)
    names = view.words.front["damage"]
    param = DAMAGE.with_(options={kind: names[kind] for kind in (*kinds, AS_IT_IS)}, default=kinds[0])
    return param.draw(view.state, tag=f"{task.denoises}.{task.respells}")


def _another_task(state: PageState, box: Text, task: Task) -> None:
    """Another task brings its own sample where the box still holds one of the old task's."""
    slot, owner = state.key(box.name), state.key("text.task")
    stands = any(st.session_state.get(slot, box.value(state)) in samples for samples in every_sample().values())
    if st.session_state.get(owner, task.slug) != task.slug and stands:
        st.session_state[slot] = box.default
    st.session_state[owner] = task.slug


def _damaged(checkpoint: Checkpoint, task: Task, typed: str, kind: str, state: PageState) -> str:
    """The text after damage, shown, with a button that damages it another way."""
    text = clean(typed, MAX_CHARS)
    rate = rate_of(cast(Noise, kind), state) if task.respells else None
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.empty()
        seed = SEED.button(state)
    given = damage_text(checkpoint, text, kind, seed) if task.denoises else noisy(text, cast(Noise, kind), rate, seed)
    code = "font-family:var(--st-code-font,monospace);font-size:.9em"
    place.html(paragraph([(given, code)], "margin:0", "Corrupted text"), width="stretch")
    return given


def _write(
    view: DemoView, request: Request, given: str, decoding: Decoding, hidden: bool, original: str | None
) -> tuple[steps.Run, bool]:
    """The answer that is asked for, and whether it is shown.

    :param hidden: whether it waits for a guess.
    :param original: the text before the damage that is to be undone; None where there was none.
    """
    state, checkpoint, task = view.state, view.checkpoint, request.task.slug
    forced = steps.by_hand(state, (request.text, task))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.html('<p style="margin:0;font-size:.875rem">Output</p>', width="content")
        stop = st.empty()
    place, buttons = st.empty(), st.empty()
    style = f"font-size:1.3rem;line-height:1.6;border-left:4px solid {view.accent};margin:0;padding-left:.8rem"

    def draw_text(text: str, growing: bool) -> None:
        parts = [(text, ""), (steps.CARET if growing else "", "")]
        place.html(paragraph(parts, f"{style};min-height:2.2em"))

    run = steps.grown(
        state,
        (view.spec.slug, request.text, task, effective(decoding), forced),
        decoding.strategy,
        lambda ids: translate.rewrite(checkpoint, given, task, decoding, forced=ids),
        lambda ids: along(checkpoint, translate.start(checkpoint, given, task), ids),
        draw=None if hidden else draw_text,
        button=stop,
    )
    shown = not hidden or not run.steps or text_uncovered(state, run.wanted, run.steps[-1].text, original)
    if run.steps and shown:
        draw_text(run.steps[-1].text, False)
    ended = "Stopped." if run.stopped else steps.how_it_ended(run.steps[-1], view.spec.name) if run.steps else ""
    chosen = f" Step {len(forced)} was chosen by hand." if forced else ""
    with buttons.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"{len(run.path)} tokens. {ended}{chosen}" if shown else f"Generated, and covered.{chosen}")
        if forced:
            st.button(
                "Back to the model's own choice", key=state.key("unforce"), on_click=steps.choose_path, args=(state, ())
            )
    state.set(forced=forced)
    return run, shown


def _aligned(checkpoint: Checkpoint, given: str, task: str, ids: tuple[int, ...]) -> Alignment:
    return translate.align(checkpoint, translate.prepare(checkpoint, given, task), ids)


def _explore(view: DemoView, task: Task, run: steps.Run, alignment: Alignment, decoding: Decoding) -> None:
    """What each generated token attends to, and what else could have come in its place."""
    state = view.state
    slot = state.key("step")
    chosen = attention_panel(alignment, step_of(state, slot, len(run.path)), state)
    keep_step(state, slot, chosen.step)
    other = steps.alternatives_panel(run.path, chosen.step, decoding, key=state.key("steps"), branch=view.spec.branch)
    if other is not None:
        steps.choose_path(state, (*(step.token.id for step in run.path[: chosen.step]), other))
        st.rerun()
    steps.beams_table(run.steps, chosen.step)
    names = {"repair": task.repairs, "respell": task.respells, "denoise": task.denoises, "fuse": task.slug == "fuse"}
    view.try_and_notice(next((name for name, fits in names.items() if fits), "translate" if task.languages else ""))
    attention_map(alignment, chosen, state)
    steps.steps_table(run.path)


def _pivot(view: DemoView, given: str, task: Task, direct: str, decoding: Decoding) -> None:
    """Beside a translation between two languages the same by way of English, where the model has that way.

    Args:
        direct: the answer that was written at once.
    """
    way = translate.steps_through(view.checkpoint, task.slug)
    if way is None or task.languages is None:
        return
    source, target = (LANGUAGES.get(code, code) for code in task.languages)
    st.markdown("**Direct, and with English as pivot**")
    with sentences():
        found = view.computed("Translating with English as pivot", translate.through, given, way, decoding)
        left, right = st.columns(2, gap="medium")
        columns = (
            (left, f"{source} to {target}, direct", direct),
            (right, f"{source} to English", found.middle),
            (right, f"that English to {target}", found.end),
        )
        style = f"margin:0 0 .5rem;padding-left:.8rem;border-left:4px solid {view.accent}"
        for column, name, text in columns:
            column.html(paragraph([(text, "")], style, name))
        st.caption("The two answers are the same." if found.end == direct.strip() else "The two answers differ.")
        view.try_and_notice("pivot", source=source)
        _both_measured(view.spec, task.slug)


def _both_measured(spec: CheckpointSpec, task: str) -> None:
    """What the card says of translating at once and by way of English."""
    stated = {(m.name, m.on): m.value for m in spec.card.measures} if spec.card else {}
    rows = [
        {"measured on": on, "measure": kind, "direct": f"{value:.1f}", "English as pivot": f"{other:.1f}"}
        for (name, on), value in stated.items()
        for kind in [name.removeprefix(f"{task} ")]
        if (other := stated.get((f"{task} through English {kind}", on))) is not None
    ]
    if rows:
        with st.expander("Quality of both ways"):
            st.table(rows, border="horizontal", hide_index=True, alt="Quality of both ways of translating")
            st.caption("From the model's card.")


REWRITE = Demo(
    "rewrite",
    draw,
    lambda spec: spec.offers("rewrites"),
    (
        *DECODING,
        TASK,
        DAMAGE,
        RATE,
        Carried(name="layer", label="Layer", as_=link.Integer(None, 1, 200)),
        Carried(name="head", label="Head", as_=link.Integer(None, 1, 256)),
        steps.FORCED,
        steps.STEP,
        TEXT,
        SEED,
    ),
)
