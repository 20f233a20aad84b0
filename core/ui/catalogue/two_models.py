"""Two live models on one sentence, each on its own task: text, chips and bars on one scale, and a table of both."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, zip_longest

import streamlit as st

from core import session
from core.checkpoints.listing import live
from core.checkpoints.spec import CheckpointSpec
from core.content import content
from core.errors import AtlasError
from core.figures.labels import percent, short, with_unit
from core.figures.predictions import bars_alt, prediction_bars
from core.language.guesses import MAX_CHARS as GUESS_CHARS
from core.language.guesses import same_word
from core.language.replaced import Detection
from core.language.side_by_side import (
    CONTINUES,
    MAX_CHARS,
    TOP,
    Answer,
    Continued,
    Filled,
    Rewritten,
    Word,
    carry_over,
    default_mask,
    split,
)
from core.language.side_by_side import answer as answer_of
from core.language.tasks import tasks
from core.language.text import clean
from core.language.types import Token
from core.links import parameters as link
from core.table import Table
from core.ui.chips import token_chips
from core.ui.demos.cover import SENTENCE_CHARS, switch, uncovered, verdict, words_shared
from core.ui.glossary import info, warning
from core.ui.links import PageState
from core.ui.page import accent, main_picture, plain, theme
from core.ui.panel import chart, offer_chart, offer_table
from core.ui.param import Carried, Choice, Text, menu_names
from core.ui.picker import nothing_runs
from core.ui.section import Section, View
from core.ui.slot import Slot
from core.words import visible

Pair = Sequence[CheckpointSpec]
_MOST_PICTURES = 6
_MOST_ROWS = 12


@dataclass(frozen=True, slots=True)
class Picture:
    """A set of bars."""

    caption: str
    labels: tuple[str, ...]
    probabilities: tuple[float, ...]


def draw_answers(
    view: View, pair: Pair, answers: Sequence[Answer | str], words: Sequence[Word], masked: Sequence[int]
) -> None:
    """Draw both answers; a string is the reason why there is none."""
    key = view.state.key("answers")
    columns = st.columns(2, gap="large")
    for column, spec, answer, side in zip(columns, pair, answers, ("left", "right"), strict=True):
        with column:
            _title(spec)
            if isinstance(answer, str):
                warning(answer, icon=":material/info:")
            else:
                _sentence(view, spec, answer, f"{key}.{side}")
    sides = [() if isinstance(answer, str) else pictures(answer, words, masked) for answer in answers]
    scale = max((max(p.probabilities) for side in sides for p in side if p.probabilities), default=1.0)
    for number, row in enumerate(zip_longest(*(side[:_MOST_PICTURES] for side in sides))):
        for column, spec, picture, side in zip(st.columns(2, gap="large"), pair, row, ("left", "right"), strict=True):
            if picture is not None:
                with column:
                    _bars(view, spec, picture, scale, f"{side}-{number + 1}")
    if max(map(len, sides)) > _MOST_PICTURES:
        view.note("First masks", most=_MOST_PICTURES)
    table = _table(pair, sides)
    if table.rows:
        offer_table(view.state, table, "Predictions of both models", "answers-beside")
    view.try_and_notice(_lesson(answers))


def pictures(answer: Answer, words: Sequence[Word], masked: Sequence[int]) -> tuple[Picture, ...]:
    """The bars of one answer: a figure for each mask; of a text, its first token's candidates or each token."""
    if isinstance(answer, Filled):
        positions = [i for i, word in enumerate(words) if word.mask or i in masked]
        return tuple(
            Picture(_mask_name(number, words[at] if at is not None else None), guess.tokens, guess.probabilities)
            for number, (at, guess) in enumerate(
                zip_longest(positions[: len(answer.predictions)], answer.predictions), 1
            )
        )
    if isinstance(answer, Continued):
        first = answer.steps[0].alternatives[:TOP] if answer.steps else ()
        return (Picture("Next token", tuple(visible(a.text) for a in first), _chances(first)),) if first else ()
    if isinstance(answer, Detection):
        read = [i for i, token in enumerate(answer.after) if not token.special]
        labels = tuple(visible(answer.after[i].text) for i in read)
        verdicts = tuple(answer.probabilities[i] for i in read)
        return (Picture("Probability that a token was replaced", labels, verdicts),)
    steps = answer.steps
    labels = tuple(visible(step.token.text) or "∅" for step in steps)
    return (Picture("Generated tokens, in order", labels, tuple(step.token.probability for step in steps)),)


def _chances(options: Sequence[object]) -> tuple[float, ...]:
    return tuple(float(getattr(option, "probability", 0.0)) for option in options)


def _mask_name(number: int, word: Word | None) -> str:
    return f"Mask {number}" if word is None or word.mask else f"Mask {number}, in place of “{word.text}”"


def _title(spec: CheckpointSpec) -> None:
    # the color comes from the branch, never from a visitor
    line = f"border-left:.35rem solid {accent(spec.branch)};padding-left:.6rem;margin:.4rem 0 0;font-weight:600"
    does = spec.family.does
    st.html(f'<p style="{line}">{html.escape(spec.name)}<br><small style="font-weight:400">{does}</small></p>')


def _sentence(view: View, spec: CheckpointSpec, answer: Answer, key: str) -> None:
    """Draw the answer as a text, and its tokens as chips."""
    color = accent(spec.branch)
    if isinstance(answer, Filled):
        shown = [
            html.escape(p.text) if p.position is None else _underlined(p.text.removeprefix("␣"), color)
            for p in answer.filled
        ]
        _text("".join(shown))
        label, masks = f"Input tokens of {spec.name}, masks marked", [mask.position for mask in answer.predictions]
        _chips(spec, answer.tokens, key, label, None, held=masks)
        for note in answer.notes:
            st.caption(plain(note))
        return
    if isinstance(answer, Detection):
        tokens, label = answer.after, f"Tokens classified by {spec.name}"
        notes = [f"replaced: {percent(verdict)}" for verdict in answer.probabilities]
        _chips(spec, tokens, key, label, answer.probabilities, notes=notes)
        view.note("Nothing masked")
        return
    steps = answer.steps
    before = answer.prompt if isinstance(answer, Continued) else ""
    _text(html.escape(before) + _underlined(steps[-1].text if steps else "", color))
    chances = [step.token.probability for step in steps]
    label = f"Tokens generated by {spec.name}"
    _chips(spec, answer.output, key, label, chances, notes=[f"probability {percent(chance)}" for chance in chances])
    if isinstance(answer, Continued):
        if answer.truncated:
            view.note("Left only")
        view.note("Continued" if len(steps) == CONTINUES else "Continued: ended", tokens=len(steps))
        if answer.bits_per_byte is not None:
            view.say("Cost", bits=f"{answer.bits_per_byte:.2f}")
    else:
        view.note("Rewritten", task=answer.task.label, tokens=len(steps))


def _underlined(text: str, color: str) -> str:
    line = f"text-decoration:underline 2px {color};text-underline-offset:.28em"
    return f'<span style="{line}">{html.escape(text)}</span>'


def _text(inner: str) -> None:
    """``inner`` is escaped already."""
    style = "font-size:var(--atlas-large);line-height:1.6;margin:0;overflow-wrap:anywhere"
    st.html(f'<p dir="auto" style="{style}">{inner}</p>')


def _chips(
    spec: CheckpointSpec,
    tokens: Sequence[Token],
    key: str,
    label: str,
    bars: Sequence[float] | None,
    *,
    held: Sequence[int] = (),
    notes: Sequence[str] | None = None,
) -> None:
    if tokens:
        token_chips(
            tokens,
            key=f"{key}.chips",
            multi=True,
            accent=spec.branch,
            label=label,
            disabled=range(len(tokens)),
            held=held,
            bars=bars,
            notes=notes,
        )


def _bars(view: View, spec: CheckpointSpec, picture: Picture, scale: float, slug: str) -> None:
    labels, chances = picture.labels[:_MOST_ROWS], picture.probabilities[:_MOST_ROWS]
    most = content("catalogue", "beside").part("First rows", shown=_MOST_ROWS, count=len(picture.labels))
    more = f" ({most})" if len(picture.labels) > _MOST_ROWS else ""
    st.caption(plain(f"{spec.name}: {picture.caption[0].lower()}{picture.caption[1:]}{more}"))
    key, title = view.state.key(f"answers.{slug}.bars"), f"{spec.name}, {picture.caption}"
    alt = bars_alt(labels, chances, title)
    chart(prediction_bars(labels, chances, accent(spec.branch), scale=scale, theme=theme()), key=key, alt=alt)
    offer_chart(view.state, key, title, f"predictions-{slug}", alt)


def _lesson(answers: Sequence[Answer | str]) -> str:
    """The variant of Try and Notice for the kinds of the two models."""
    kinds = {type(answer) for answer in answers if not isinstance(answer, str)}
    alike = {Filled: "fill", Continued: "continue", Rewritten: "rewrite"}
    if len(kinds) == 1 and (kind := kinds.copy().pop()) in alike:
        return alike[kind]
    return "one side" if Filled in kinds else "different"


def _table(pair: Pair, sides: Sequence[tuple[Picture, ...]]) -> Table:
    rows = []
    for row in zip_longest(*sides):
        ranks = max(len(picture.labels) for picture in row if picture is not None)
        what = next(picture.caption for picture in row if picture is not None)
        for rank in range(ranks):
            cells: dict[str, object] = {"what": what, "rank": rank + 1}
            for side, spec, picture in zip(("one", "other"), pair, row, strict=True):
                there = picture is not None and rank < len(picture.labels)
                cells[f"{side}: {spec.name}"] = picture.labels[rank] if there and picture else ""
                cells[f"{side}: probability"] = picture.probabilities[rank] if there and picture else None
            rows.append(cells)
    return Table.from_records(rows)


SAMPLES = {
    "Tired children": "The children were tired, so they went to bed.",
    "A cup of tea": "My sister drinks a cup of tea every morning.",
    "A capital": "The capital of France is Paris.",
    "A dog": "The dog ran into the garden and barked at the cat.",
}
LEFT = Choice(name="one", label="First model", options={}, width=280, hide_label=True)
RIGHT = Choice(name="other", label="Second model", options={}, width=280, hide_label=True)
TASK = Choice(name="task", label="Task", options={}, width=270)
TEXT = Text(
    name="text",
    label="Sentence",
    default=next(iter(SAMPLES.values())),
    samples=SAMPLES,
    placeholder="A sentence",
    hide_label=True,
    sentence="plain",
)
MASK = Carried(name="mask", label="Masked words", as_=link.Integers(high=599, most=64))
COVER = Carried(name="cover", label="Guess first", as_=link.Choice(None, ("yes", "no")))


def side_by_side(view: View) -> None:
    state = view.state
    models = [model.spec for model in live()]
    if nothing_runs(models):
        return
    specs = {spec.slug: spec for spec in models if spec.family.does}
    if not specs:
        info(view.words.part("None fits"))
        return
    names = {slug: f"{specs[slug].family.verb} · {name}" for slug, name in menu_names(specs.values()).items()}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pair = tuple(
            specs[param.with_(options=names, default=usual).draw(state)]
            for param, usual in zip((LEFT, RIGHT), usual_pair(list(specs.values())), strict=True)
        )
        task = _task(pair, state)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = TEXT.draw(state)
    words = split(clean(text, MAX_CHARS))
    answers_place = st.container()
    masked = _masked(words, pair, state)
    answers = [_answer_or_reason(spec, text, masked, task) for spec in pair]
    if _uncovered(state, pair, answers, words, masked, (text, task)):
        with answers_place, main_picture():
            draw_answers(view, pair, answers, words, masked)
        if pair[0] is not pair[1] and all(isinstance(answer, Filled) for answer in answers):
            _costs(view, pair)
    if others := [spec.name for spec in models if not spec.family.does]:
        view.note("Not compared", models=plain(", ".join(others)))


def _costs(view: View, pair: Pair) -> None:
    """Draw size and, as far as both cards state it, quality of two masked language models, and their ratio."""
    first, second = pair
    first_model, second_model = (session.checkpoint(spec.slug).model for spec in pair)
    costs: list[tuple[str, float, float, Callable[[float], str]]] = [
        ("layers", first_model.config.num_hidden_layers, second_model.config.num_hidden_layers, "{:.0f}".format),
        ("parameters", first_model.num_parameters(), second_model.num_parameters(), lambda count: short(int(count))),
    ]
    measures = [{(m.name, m.on): m for m in spec.card.measures} if spec.card else {} for spec in pair]
    for what, left in measures[0].items():
        if right := measures[1].get(what):
            costs.append((": ".join(what), left.value, right.value, with_unit("{:.1f}", left.unit).format))
    rows = [
        {
            " ": plain(name),
            plain(first.name): plain(form(a)),
            plain(second.name): plain(form(b)),
            "second / first": f"{100 * b / a:.0f}%",
        }
        for name, a, b, form in costs
    ]
    st.table(rows, border="horizontal", hide_index=True, alt=view.words.label("costs"))
    view.note("Costs")


def usual_pair(specs: Sequence[CheckpointSpec]) -> tuple[str, str]:
    """The default pair: the first two of one kind, else the first two, else one model twice."""
    for first, second in combinations(specs, 2):
        if first.kind == second.kind:
            return first.slug, second.slug
    return specs[0].slug, specs[min(1, len(specs) - 1)].slug


def _task(pair: Sequence[CheckpointSpec], state: PageState) -> str | None:
    """The task of an encoder-decoder; the same for both models if both offer it."""
    writers = [spec for spec in pair if spec.offers("rewrites")]
    if not writers:
        return None
    labels: dict[str, str] = {}
    for spec in writers:
        with st.spinner(session.waiting("loading-a-model", model=plain(spec.name))):
            offered = session.computed("", tasks, spec.slug)
        labels |= {task.slug: task.label for task in offered if task.slug not in labels}
    return TASK.with_(options=labels).draw(state, tag=".".join(spec.slug for spec in writers))


def _masked(words: Sequence[Word], pair: Sequence[CheckpointSpec], state: PageState) -> tuple[int, ...]:
    """The masked words, selected on chips; none if neither model fills masks."""
    now = [word.text for word in words]
    slot = Slot(
        state, MASK, default_mask(words), owner=now, carry=lambda former, chosen: carry_over(former, now, chosen)
    )
    fillers = [spec for spec in pair if spec.offers("predicts masked tokens")]
    if not fillers:
        return ()
    fixed = [i for i, word in enumerate(words) if not word.is_word]
    masked = token_chips(
        now,
        selected=slot.get(),
        key=state.key("words"),
        multi=True,
        accent=fillers[0].branch,
        label="Words to mask",
        disabled=fixed,
        held=[i for i in fixed if words[i].mask],
    )
    slot.set(masked)
    return masked


def _answer_or_reason(spec: CheckpointSpec, text: str, masked: tuple[int, ...], task: str | None) -> Answer | str:
    """The answer of one model, or the reason why there is none."""
    with st.spinner(session.waiting("running-a-model", model=plain(spec.name))):
        try:
            return session.computed("", answer_of, spec.slug, text, masked, task if spec.offers("rewrites") else None)
        except AtlasError as error:
            return str(error)


def _uncovered(
    state: PageState,
    pair: Sequence[CheckpointSpec],
    answers: Sequence[Answer | str],
    words: Sequence[Word],
    masked: Sequence[int],
    inputs: object,
) -> bool:
    """Whether the answers may be drawn; otherwise request a guess.

    :param asked: identifies the question: sentence and task.
    """
    there = [answer for answer in answers if not isinstance(answer, str)]
    if not switch(state) or not there:
        return True

    def judge(guess: str) -> str:
        return " ".join(
            f"{spec.name}: {_judged(guess, answer, words, masked)}"
            for spec, answer in zip(pair, answers, strict=True)
            if not isinstance(answer, str)
        )

    texts = any(not isinstance(answer, Filled | Continued | Detection) for answer in there)
    question = ("beside", *(spec.slug for spec in pair), inputs, tuple(masked))
    return uncovered(state, question, _label(there), judge, most=SENTENCE_CHARS if texts else GUESS_CHARS, on=True)


def _label(answers: Sequence[Answer]) -> str:
    words = content("catalogue", "beside")
    kinds = {type(answer) for answer in answers}
    if kinds == {Filled}:
        return words.label("guess-mask")
    if kinds == {Continued}:
        return words.label("guess-token")
    if kinds == {Detection}:
        return words.label("guess-replaced")
    return words.label("guess-outputs")


def _judged(guess: str, answer: Answer, words: Sequence[Word], masked: Sequence[int]) -> str:
    """The verdict on a guess, given one model's answer."""
    if isinstance(answer, Filled | Continued):
        first = next(iter(pictures(answer, words, masked)), None)
        return (
            verdict(guess, first.labels, first.probabilities)
            if first
            else content("catalogue", "beside").part("No prediction")
        )
    if isinstance(answer, Detection):
        (picture,) = pictures(answer, words, masked)
        best = max(range(len(picture.labels)), key=lambda i: picture.probabilities[i])
        right = same_word(guess, picture.labels[best])
        chance = percent(picture.probabilities[best])
        return f"{'Right' if right else 'Wrong'}: the token most likely replaced is “{picture.labels[best]}”, {chance}."
    return words_shared(guess, answer.steps[-1].text if answer.steps else "")


SIDE = Section("beside", side_by_side, (LEFT, RIGHT, TASK, TEXT, MASK, COVER))
