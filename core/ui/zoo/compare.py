"""Two live models on one sentence: each does what its kind does, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.errors import AtlasError
from core.language.side_by_side import MAX_CHARS, Answer, Word, carry_over, split, usual
from core.language.text import clean
from core.ui.chips import token_chips
from core.ui.demos.samples import sample_pills
from core.ui.links import PageState
from core.ui.notices import informed, warned
from core.ui.page import plain
from core.ui.text_box import standing, text_box
from core.ui.zoo.answers import draw_answers
from core.ui.zoo.covered import answers_uncovered
from core.ui.zoo.frame import ZooView

SAMPLES = {
    "Tired children": "The children were tired, so they went to bed.",
    "A cup of tea": "My sister drinks a cup of tea every morning.",
    "A capital": "The capital of France is Paris.",
    "A dog": "The dog ran into the garden and barked at the cat.",
}
DEFAULT_TEXT = next(iter(SAMPLES.values()))


def side_by_side(view: ZooView) -> None:
    """Draw the whole section; reads and writes left, right, text, mask, task and cover."""
    specs = {model.spec.slug: model.spec for model in view.models if model.spec.family.does}
    others = [model.spec for model in view.models if not model.spec.family.does]
    if not specs:
        informed("No model here fills masks, continues a text, rewrites or judges one, so there is nothing to compare.")
        return
    state = view.state
    with st.container(horizontal=True, vertical_alignment="bottom"):
        left, right = _pair(specs, others, state)
        task = _task([left, right], state)
    text = _text(state)
    try:
        hidden = _hidden(text, [left, right], state)
    except AtlasError as error:
        # What was typed stays in the box, so nothing is lost by the refusal.
        warned(str(error), icon=":material/info:")
        return
    answers = [_asked(spec, text, hidden, task) for spec in (left, right)]
    if answers_uncovered(state, (left, right), answers, _words(text), hidden, (text, task)):
        draw_answers((left, right), answers, _words(text), hidden, key=state.key("answers"))
    if others:
        names = ", ".join(spec.name for spec in others)
        st.caption(plain(f"In the table but not compared here, as they do something else with a sentence: {names}."))


def usual_pair(specs: Sequence[CheckpointSpec]) -> tuple[str, str]:
    """The two that the page opens with: the first two of one kind, else the first two, else one model twice."""
    for one, other in combinations(specs, 2):
        if one.kind == other.kind:
            return one.slug, other.slug
    return specs[0].slug, specs[min(1, len(specs) - 1)].slug


def _pair(
    specs: dict[str, CheckpointSpec], others: Sequence[CheckpointSpec], state: PageState
) -> tuple[CheckpointSpec, CheckpointSpec]:
    """The two menus."""
    slugs = list(specs)
    chosen = []
    for side, start, label in zip(("left", "right"), usual_pair(list(specs.values())), ("One", "Other"), strict=True):
        wanted = state.text(side, start)
        if wanted not in specs:
            name = next((spec.name for spec in others if spec.slug == wanted), wanted)
            st.caption(plain(f"{name} is of a kind that this comparison cannot run yet."))
            wanted = start
        slug = st.selectbox(
            f"{label} model",
            slugs,
            index=slugs.index(wanted),
            key=state.key(side),
            width=335,
            format_func=lambda slug: f"{specs[slug].family.verb} · {specs[slug].name}",
        )
        state.set(**{side: None if slug == start else slug})
        chosen.append(specs[slug])
    return chosen[0], chosen[1]


def _task(pair: Sequence[CheckpointSpec], state: PageState) -> str | None:
    """What an encoder-decoder is asked for; both are asked for the same where both offer it."""
    writers = [spec for spec in pair if spec.offers("rewrites")]
    if not writers:
        return None
    labels: dict[str, str] = {}
    for spec in writers:
        with st.spinner(f"Loading {plain(spec.name)}"):
            labels |= {slug: name for slug, name in _tasks(spec.slug) if slug not in labels}
    options = list(labels)
    wanted = state.text("task", options[0])
    if wanted not in options:
        warned(
            f"There is no task “{wanted[:40]}” here. There are: {', '.join(options)}. The first one is shown.",
            icon=":material/link_off:",
        )
        wanted = options[0]
    # The key holds the models, whose tasks differ.
    key = state.key(f"task.{'.'.join(spec.slug for spec in writers)}")
    chosen = st.selectbox(
        "Task", options, index=options.index(wanted), format_func=labels.__getitem__, key=key, width=270
    )
    state.set(task=None if chosen == options[0] else chosen)
    return chosen


def _text(state: PageState) -> str:
    boxes = {state.key("text"): standing(state, "text", DEFAULT_TEXT)}
    sample_pills("Sentences to try", {name: (text,) for name, text in SAMPLES.items()}, state.key("sample"), boxes)
    placeholder = "One sentence for both models"
    return text_box(state, "text", "Sentence", DEFAULT_TEXT, height=68, placeholder=placeholder, hidden_label=True)


def _words(text: str) -> tuple[Word, ...]:
    return split(clean(text, MAX_CHARS))


def _hidden(text: str, pair: Sequence[CheckpointSpec], state: PageState) -> tuple[int, ...]:
    """The hidden words: chosen on chips where one of the two fills masks, else none."""
    words = _words(text)
    slot, cut = state.key("hidden"), state.key("cut")
    now = [word.text for word in words]
    if cut not in st.session_state:
        asked = tuple(i for i in state.integers("mask") if i < len(words) and words[i].reads)
        st.session_state[slot] = asked or usual(words)
    elif st.session_state[cut] != now:
        kept = carry_over(st.session_state[cut], now, st.session_state[slot])
        st.session_state[slot] = usual(words) if kept is None else kept
    st.session_state[cut] = now
    fillers = [spec for spec in pair if spec.offers("fills masks")]
    if not fillers:
        state.set(mask=())
        return ()
    fixed = [i for i, word in enumerate(words) if not word.reads]
    hidden = token_chips(
        now,
        selected=st.session_state[slot],
        key=state.key("words"),
        multi=True,
        accent=fillers[0].branch,
        label="Words of the sentence; choose words to hide",
        disabled=fixed,
        held=[i for i in fixed if words[i].mask],
    )
    st.session_state[slot] = hidden
    state.set(mask=() if hidden == usual(words) else hidden)
    return hidden


def _asked(spec: CheckpointSpec, text: str, hidden: tuple[int, ...], task: str | None) -> Answer | str:
    """The answer of one model, or the sentence that says why there is none."""
    with st.spinner(f"{plain(spec.name)} is reading the sentence"):
        try:
            return _answer(spec.slug, _state(spec), text, hidden, task if spec.offers("rewrites") else None)
        except AtlasError as error:
            return str(error)


def _state(spec: CheckpointSpec) -> tuple[tuple[str, int, int], ...]:
    from core.checkpoints.sizes import state_of

    return state_of(spec)


@st.cache_data(max_entries=128, ttl=3600.0, show_spinner=False)
def _answer(
    slug: str, files: tuple[tuple[str, int, int], ...], text: str, hidden: tuple[int, ...], task: str | None
) -> Answer:
    """``files`` is part of the key alone: another model in their place gives another answer."""
    from core.language.side_by_side import answer

    return answer(session.checkpoint(slug), text, hidden, task)


@st.cache_data(max_entries=32, ttl=3600.0, show_spinner=False)
def _tasks(slug: str) -> tuple[tuple[str, str], ...]:
    from core.language.tasks import tasks

    return tuple((task.slug, task.label) for task in tasks(session.checkpoint(slug)))
