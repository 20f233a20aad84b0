"""From scratch: a small Transformer is trained on a text from random weights, and then opens in every view."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import session
from core.attention.capture import capture
from core.checkpoints import own
from core.figures.heads import small_maps
from core.figures.lines import Line, line_alt, line_chart
from core.settings import settings
from core.table import Table
from core.training import packed, record
from core.training.counts import bits_per_byte
from core.training.queue import places
from core.training.ready import READY, ready
from core.training.sample import Parts
from core.training.setup import (
    CONTEXTS,
    HEADS,
    LAYERS,
    LEARNING_RATE,
    RATES,
    STEPS,
    WIDTHS,
    Objective,
    Point,
    Setup,
    Units,
    parameters,
)
from core.training.text import FEWEST, Corpus, count_bytes, read_upload, split
from core.training.vocabulary import entries
from core.ui.demos.demo import paragraph, underlined
from core.ui.export import download
from core.ui.job import Job, job
from core.ui.links import page_link
from core.ui.own import show
from core.ui.page import accent, theme
from core.ui.panel import Panel, chart
from core.ui.param import Choice, Seed, Text, settings_menu
from core.ui.section import Section, View
from core.ui.training import classroom
from core.ui.training.foresight import draw_foresight

if TYPE_CHECKING:
    from core.training.train import Training

PAUSE = 0.3
"""Seconds between two drawings of the growing picture, and as many more for each visitor who waits."""
FROM = Choice(name="from", label="Text", options={}, width=205, hide_label=True)
PASTED = Text(name="pasted", label="Your text", height=150)
OBJECTIVE = Choice(name="objective", label="Objective", options={}, width=160, hide_label=True)
UNITS = Choice(name="units", label="Tokens", options={}, default="bpe", style="row")
DEPTH, PARTS, WIDTH, CONTEXT, RATE = (
    Choice(name=name, label=label, options={f"{n}": f"{n}" for n in offered}, default=f"{usual}", style="row")
    for name, label, offered, usual in (
        ("depth", "Layers", LAYERS, Setup().layers),
        ("parts", "Heads", HEADS, Setup().heads),
        ("wide", "Width", WIDTHS, Setup().width),
        ("context", "Context, tokens", CONTEXTS, Setup().context),
        ("speed", "Learning rate", RATES, LEARNING_RATE),
    )
)
SEED = Seed()
PARAMS = (FROM, PASTED, classroom.BESIDE, OBJECTIVE, UNITS, DEPTH, PARTS, WIDTH, CONTEXT, RATE, SEED)
_WORDS, _CHARACTERS = 8, 40
"""Of the held-out line whose attention is shown, at most."""
_SAMPLES = 4


def scratch(view: View) -> None:
    """Draw the section."""
    state, front = view.state, view.words.front
    with view.controls():
        name = FROM.with_(options=classroom.offered(front["texts"])).draw(state)
    raw = _read(view, name)
    if raw is None:
        return
    with view.controls():
        objective: Objective = OBJECTIVE.with_(options=front["objectives"]).draw(state)  # type: ignore[assignment]
        usual = READY[name].opens_with if name in READY else Setup()
        sizes = [
            control.with_(default=f"{size}")
            for control, size in (
                (DEPTH, usual.layers),
                (PARTS, usual.heads),
                (WIDTH, usual.width),
                (CONTEXT, usual.context),
            )
        ]
        units = UNITS.with_(options=front["units"], default=usual.units)
        values = settings_menu(state, units, *sizes, RATE, SEED.box)
        button = st.empty()
    of_tokens: Units = values[UNITS.name]
    layers, heads, width, context = (int(values[control.name]) for control in (DEPTH, PARTS, WIDTH, CONTEXT))
    setup = Setup(objective, of_tokens, layers, heads, width, context, values[SEED.name])
    if in_class := name == classroom.ROOM:
        packed.check(setup)
    corpus = split(raw)
    status, picture = st.empty(), st.empty()
    watched = job(state, "scratch", (raw, setup), waits=True)
    training = training_of(watched)
    with status:
        view.note(
            "Status",
            parameters=f"{parameters(setup, training.entries if training else entries(corpus.train, setup)):,}",
            read=f"{corpus.size / 1_000:,.0f}",
            held_out=f"{count_bytes(corpus.held_out) / 1_000:,.0f}",
        )
    steps = READY[name].steps if name in READY else STEPS
    if watched.goes(button, view.words.label("continue" if training else "train-here")):
        left, rate = steps - (training.step if training else 0) % steps, float(values[RATE.name])
        begin = partial(_begin, corpus, setup)
        train(view, watched, training, begin, own.YOURS, left, rate, status, picture, in_class=in_class)
    recorded = None if training or name not in READY or setup != usual else record.stored(name)
    with picture.container():
        if training:
            _draw(view, training.points, training.samples, _counted(corpus), steps)
            _heads(view, training)
        elif recorded:
            _draw(view, recorded.points, recorded.samples, _counted(corpus), steps)
            view.note("Recorded", seconds=f"{recorded.points[-1].seconds:.0f}")
        else:
            view.say("Not yet")
    draw_foresight(view, name, corpus, training.location if training else "", recorded.answers if recorded else ())
    if training:
        if in_class:
            classroom.share(training, chosen_samples(training.samples), _counted(corpus))
        _onward(view, training, own.CLASS if in_class else own.YOURS)
    view.try_and_notice(name)


def _read(view: View, name: str) -> str | None:
    """The text of that name; None where the room's is not there to train on."""
    if name == classroom.ROOM:
        return classroom.text(view, partial(_draw, view, steps=STEPS), partial(_views, view, own.CLASS))
    return ready(name) if name in READY else _own(view)


def _own(view: View) -> str | None:
    """A visitor's text: a file takes the place of what is pasted; None before there is one."""
    pasted = PASTED.draw(view.state)
    with st.expander(view.words.label("upload")):
        file = st.file_uploader(
            view.words.label("file"),
            key=view.state.key("training.file"),
            max_upload_size=-(-settings().max_training_kb // 1_000),
            help=view.words.part("File", most=f"{settings().max_training_kb:,}"),
        )
    if file is not None:
        return read_upload(file.getvalue())
    if not pasted.strip():
        view.say("Paste", fewest=f"{FEWEST:,}")
        return None
    return pasted


@session.cached()
def _counted(corpus: Corpus) -> tuple[float, ...]:
    """The bits per byte of counted n-grams."""
    return bits_per_byte(corpus)


def training_of(watched: Job) -> Training | None:
    """The visitor's training so far; None before its first measurement, or where it had to make room."""
    held = own.find(watched.part or "")
    return None if held is None else held.work  # type: ignore[return-value]


def _begin(corpus: Corpus, setup: Setup) -> Training:
    from core.training.train import Training as New

    return New(corpus, setup)


def train(
    view: View,
    watched: Job,
    training: Training | None,
    begin: Callable[[], Training],
    slug: str,
    steps: int,
    rate: float,
    status: DeltaGenerator,
    picture: DeltaGenerator,
    *,
    in_class: bool = False,
) -> None:
    """Train the model ``slug`` for some more steps, drawn while it goes on; the words are those of this section."""
    with status:
        view.note("Begins")

    def wait(ahead: int) -> None:
        with status:
            view.note("Waits" if ahead else "Begins", ahead=ahead)

    with places.take(wait):
        training = training or begin()
        end, counted = training.step + steps, _counted(training.corpus)
        for checkpoint in training.states(steps, rate, slug, view.words.label(slug)):
            watched.part = checkpoint.spec.location
            if not in_class:
                show(slug, watched.part)
            if watched.due(PAUSE):
                if in_class:
                    classroom.tell(training, chosen_samples(training.samples), counted)
                with status:
                    view.note("Going", step=training.step, end=end, seconds=f"{training.seconds:.0f}")
                with picture.container():
                    _draw(view, training.points, training.samples, counted, end, growing=True)
                    _heads(view, training, growing=True)
    watched.going = False
    st.rerun()  # for the button, which says what is next, and for what stands above


def _draw(
    view: View,
    points: Sequence[Point],
    samples: Sequence[tuple[int, Parts]],
    counted: Sequence[float],
    steps: int,
    *,
    growing: bool = False,
) -> None:
    """The loss beside what the model says."""
    look, words = theme(), view.words
    at = [point.step for point in points]
    color = accent("decoder")
    lines = [
        Line(words.label("train"), at, [point.train for point in points], look.muted, "dash"),
        Line(words.label("held-out"), at, [point.held_out for point in points], color),
    ]
    end = max(steps, at[-1])
    for order, dash in ((2, "dot"), (5, "longdash")):
        lines.append(Line(words.label(f"counted-{order}"), [0, end], [counted[order - 1]] * 2, look.ink, dash))
    label = words.label("loss")
    figure = line_chart(
        lines,
        label,
        across=words.label("step"),
        hover="%{x}: %{y:.2f}",
        markers=False,
        width=3,
        xaxis={"range": [0, end]},
        yaxis={"range": [0, min(9.0, max(4.0, points[0].held_out))]},
        height=400,
        theme=look,
    )
    alt = line_alt(lines, label, [], words.label("step"))
    left, right = st.columns([3, 2], gap="large")
    with left:
        if growing:
            chart(figure, key=view.state.key(f"scratch.growing.{len(points)}"), alt=alt)
        else:
            rows = tuple((p.step, p.train, p.held_out, p.rate, p.seconds) for p in points)
            table = Table(("step", "training loss", "held-out loss", "learning rate", "seconds"), rows)
            Panel("scratch", words.label("picture"), figure, alt, table).draw(view.state)
    with right:
        for step, parts in chosen_samples(samples):
            marked = [(text, underlined(color) if own else "") for text, own in parts]
            st.html(paragraph(marked, "margin:0 0 .6rem", f"{words.label('after')} {step}"))


def chosen_samples(samples: Sequence[tuple[int, Parts]]) -> list[tuple[int, Parts]]:
    """The first, the last, and of those between each with less than half the steps of the next."""
    chosen = list(samples[-1:])
    for at in reversed(samples[1:-1]):
        if at[0] <= chosen[-1][0] / 2.5 and len(chosen) < _SAMPLES - 1:
            chosen.append(at)
    return [*samples[: len(samples) > 1], *reversed(chosen)]


def _heads(view: View, training: Training, *, growing: bool = False) -> None:
    """All heads on a few held-out words."""
    held = own.find(training.location)
    if held is None:
        return
    sentence = _sentence(training)
    shown = capture(held.checkpoint, sentence).maps[0]
    figure = small_maps(shown.weights, shown.query_tokens, theme=theme())
    title = view.words.label("heads")
    alt = f"{title}: {sentence}"
    if growing:
        st.caption(title)
        chart(figure, key=view.state.key(f"heads.growing.{len(training.points)}"), alt=alt)
    else:
        rows = [
            (layer + 1, head + 1, query, key, float(weight))
            for (layer, head, q, k), weight in np.ndenumerate(shown.weights)
            for query, key in ((shown.query_tokens[q], shown.key_tokens[k]),)
        ]
        table = Table(("layer", "head", "query", "key", "weight"), tuple(rows))
        Panel("heads", title, figure, alt, table, heading=True).draw(view.state)


def _sentence(training: Training) -> str:
    """The first words of a held-out line."""
    return " ".join(training.corpus.held_out[0][:_CHARACTERS].split()[:_WORDS])


def _asked(objective: Objective, sample: Parts) -> str:
    """What the model is asked in its samples: a beginning, or a line with gaps."""
    gaps = count()
    hole = {"next": "", "masked": " [MASK]", "spans": " <extra_id_{}> "}[objective]
    return "".join(hole.format(next(gaps)) if own else text for text, own in sample).strip()


def _onward(view: View, training: Training, slug: str) -> None:
    """Links to the views that show the model, and its file."""
    _views(view, slug, training.setup.objective, training.samples[-1][1], _sentence(training))
    download("ZIP", partial(_zipped, training), "trained-model", view.state.key("zip"), of=view.words.label("zip"))


def _views(view: View, slug: str, objective: Objective, sample: Parts, attended: str = "") -> None:
    """Links to the views that show a model, each with a text of its own."""
    view.say("Onward in class" if slug == own.CLASS else "Onward")
    asked = _asked(objective, sample)
    texts = {"attention": attended or asked, "interventions": ""}
    for page in view.words.front["onward"][objective]:
        text = texts.get(page, asked)
        query = {"model": slug} | ({"text": text} if text else {})
        page_link(page, view.words.front["pages"][page], query, icon=":material/arrow_forward:")


def _zipped(training: Training) -> bytes:
    from core.training.download import zipped

    return zipped(training)


SCRATCH = Section("scratch", scratch, PARAMS)
