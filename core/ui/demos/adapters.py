"""Adapters live: one frozen encoder, a task that is swapped in, and a head alone beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.figures.bars import update_alt, update_bars, update_rows
from core.figures.predictions import bars_alt, guess_bars, percent
from core.links import parameters as link
from core.ui.chart import chart
from core.ui.data_table import data_table
from core.ui.demos.cover import choice, uncovered, was_shown
from core.ui.demos.demo import Demo, DemoView
from core.ui.glossary import noted, told
from core.ui.page import accent, plain, sentences, theme
from core.ui.param import Carried
from core.ui.text_box import text_box

if TYPE_CHECKING:
    from core.language.adapters import TaskInfo, TaskVerdict
    from core.ui.links import PageState

TEXT = "The princess opened the little door in the wall."
SAMPLES = (
    TEXT,
    "The princess opened little the door in the wall.",
    "Did the princess open the little door in the wall?",
    "The door is open and the guests are here.",
    "Each cell has a membrane that controls what goes in and out.",
    "The soup was cold and tasted of nothing.",
)


def adapters_demo(view: DemoView) -> None:
    """Draw the demo; text and task are kept in the page's state."""
    spec, state = view.spec, view.state
    with sentences():
        known = _tasks(spec.slug)
        text = text_box(state, "text", "A sentence or two", TEXT, key="adapters.text", height=68)
        with st.popover("Samples"):
            for number, sample in enumerate(SAMPLES):
                button = state.key(f"adapters.sample.{number}")
                st.button(plain(sample), key=button, on_click=_take, args=(state.key("adapters.text"), sample))
        info = _choose(known, state)
        state.set(task=None if info == known[0] else info.slug)
        shown = True
        with sentences():
            shown = _one(spec, text, info, state)
        if shown:
            _all(spec, text, known, state)
        _cost(spec, info, known)
        _teach(spec)


def _take(slot: str, sample: str) -> None:
    st.session_state[slot] = sample


def _choose(known: tuple[TaskInfo, ...], state: PageState) -> TaskInfo:
    """The task whose adapters are swapped in."""
    names = {info.slug: info for info in known}
    wanted = state.text("task")
    chosen = st.segmented_control(
        "Adapters for",
        list(names),
        format_func=lambda slug: names[slug].name,
        default=wanted if wanted in names else known[0].slug,
        required=True,
        key=state.key("adapters.task"),
    )
    return names[str(chosen)]


def _one(spec: CheckpointSpec, text: str, info: TaskInfo, state: PageState) -> bool:
    """The chosen task: its answers, and what its adapters add on the way; False while they are covered."""
    found = _judged(spec.slug, text, info.slug)
    st.markdown(f"**{plain(info.question)}**")
    if info.without_mark:
        st.caption(f"Asked about: {plain(found.read)}")

    def judge(guess: str) -> str:
        return choice(guess, info.answers, found.adapted)

    if not uncovered(state, _question(info, found), "Your answer", judge, choices=info.answers):
        return False
    sides = (
        ("Through the adapters", found.adapted, accent(spec.branch), "adapted"),
        ("By a head alone, on the same encoder", found.alone, theme().muted, "alone"),
    )
    for column, (title, values, colour, name) in zip(st.columns(2, gap="large"), sides, strict=True):
        with column:
            st.caption(title)
            chart(
                guess_bars(info.answers, values, colour, scale=1.0, theme=theme()),
                key=state.key(f"adapters.{name}"),
                alt=bars_alt(info.answers, values, title),
            )
    picture, advice = st.columns([3, 2], gap="large")
    with picture:
        noted("How far the adapters move the state h in each layer, the mean over the tokens")
        chart(
            update_bars(found.updates, accent(spec.branch), theme=theme()),
            key=state.key("adapters.updates"),
            alt=update_alt(found.updates),
        )
    with advice:
        told(
            "**Try** the samples: a sentence, the same with two words exchanged, then as a question; swap the adapters "
            "on each. Then exchange two words of your own.\n\n"
            "**Notice** that the head alone can tell what a text is *about*, which the frozen encoder was made for. "
            "The order of words it can hardly tell: the mean of the finished states keeps little of it, and no weights "
            "of a head bring it back. The adapters change what is kept, inside the layers, with few numbers of their "
            "own."
        )
    with st.expander("As a table"):
        data_table(
            [
                {"answer": answer, "through the adapters": a, "head alone": b}
                for answer, a, b in zip(info.answers, found.adapted, found.alone, strict=True)
            ],
            "answers",
            alt="Probability of each answer",
            column_config={
                name: st.column_config.NumberColumn(format="%.4f") for name in ("through the adapters", "head alone")
            },
        )
        data_table(
            update_rows(found.updates),
            "adapter-updates",
            alt="What the adapters add in each layer",
            column_config={"added, as a share of |h|": st.column_config.NumberColumn(format="percent")},
        )
    return True


def _question(info: TaskInfo, found: TaskVerdict) -> tuple[str, str]:
    return info.slug, found.read


def _all(spec: CheckpointSpec, text: str, known: tuple[TaskInfo, ...], state: PageState) -> None:
    """Every task on the same text; one whose answer is still covered stays so."""
    from core.errors import AtlasError

    rows = []
    answered = False
    for info in known:
        try:
            found = _judged(spec.slug, text, info.slug)
        except AtlasError as error:
            rows.append({"task": info.name, "adapters": str(error), "head alone": ""})
            continue
        answered = True
        if state.text("cover") == "yes" and not was_shown(state, _question(info, found)):
            rows.append({"task": info.name, "adapters": "covered", "head alone": "covered"})
            continue
        rows.append(
            {
                "task": info.name,
                "adapters": f"{found.answer}, {percent(max(found.adapted))}",
                "head alone": f"{found.answer_alone}, {percent(max(found.alone))}",
            }
        )
    if not answered:  # why not has been said above
        return
    st.markdown("##### All tasks on this text")
    data_table(rows, "answers-of-all-tasks", alt="The likeliest answer to every task's question, with its probability")


def _cost(spec: CheckpointSpec, info: TaskInfo, known: tuple[TaskInfo, ...]) -> None:
    """What a task costs in numbers trained, in bytes and in the time of a swap."""
    whole, swap, *_ = _measured(spec.slug)
    share = 100 * info.trained / (whole + info.trained)
    told(
        f"This task trained {info.trained:,} numbers of {whole + info.trained:,}, {share:.1f} %; its head alone has "
        f"{info.trained_alone:,}. The encoder is in memory once for all {len(known)} tasks. Swapping adapters took "
        f"{1e6 * swap:.1f} microseconds on this machine: nothing is loaded, and two visitors can use different tasks "
        "at the same moment."
    )


def _teach(spec: CheckpointSpec) -> None:
    _, _, width, size = _measured(spec.slug)
    with st.expander("How an adapter works"):
        st.latex(
            r"a(h) = h + W_{up}\, f(W_{down} h + b_{down}) + b_{up} \qquad "
            r"x' = \mathrm{norm}\big(x + a(h)\big)"
        )
        told(
            "$a$ is the adapter, $x'$ what the next part reads. $x$ goes into a sub-layer (self-attention, or the "
            "feed-forward network), $h$ comes out of it. $W_{down}$ "
            f"makes {size} numbers of {width}, $W_{{up}}$ makes {width} of them again, $f$ is GELU. Both matrices "
            "start near zero, so that training begins with the encoder as it was; only they, the norms and the last "
            "layer learn. The answer is read from the mean of the last states.\n\n"
            "The picture shows $|W_{up} f(W_{down} h + b_{down}) + b_{up}| / |h|$. The section Heads shows the encoder "
            "without adapters."
        )
        st.caption("Houlsby et al. 2019, arXiv:1902.00751.")


@st.cache_data(max_entries=8, ttl=3600.0, show_spinner="Loading the encoder")
def _tasks(slug: str) -> tuple[TaskInfo, ...]:
    from core.language.adapters import tasks

    return tasks(session.checkpoint(slug))


@st.cache_data(max_entries=8, ttl=3600.0, show_spinner=False)
def _measured(slug: str) -> tuple[int, float, int, int]:
    """Numbers of the encoder, seconds of a swap, width and bottleneck."""
    from core.language.adapters import swap_seconds

    checkpoint = session.checkpoint(slug)
    model, config = checkpoint.model, checkpoint.model.config
    numbers = sum(value.numel() for value in model.trunk.parameters())
    return numbers, swap_seconds(checkpoint), config.hidden_size, config.adapter_size


@st.cache_data(max_entries=512, ttl=3600.0, show_spinner="Asking")
def _judged(slug: str, text: str, task: str) -> TaskVerdict:
    from core.language.adapters import judge

    return judge(session.checkpoint(slug), text, task)


TASKS = Demo(
    "tasks",
    adapters_demo,
    lambda spec: spec.offers("answers tasks"),
    (Carried(name="task", label="Adapters for", as_=link.Choice()),),
)
