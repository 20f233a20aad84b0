"""The texts of an example and the answers that are compared, which patching and attribution share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from core.checkpoints.spec import CheckpointSpec
from core.interventions.pairs import pairs_of
from core.ui.heads.text import task_names
from core.ui.param import Choice, Control, Integer, Param, Text, settings_menu
from core.ui.section import View

PAIR = Choice(
    name="pair",
    label="Example",
    options={},
    width=190,
    resets=("first", "second", "a", "b", "task", "output", "cell"),
)
FIRST = Text(name="first", label="First text", most=300)
SECOND = Text(name="second", label="Second text", most=300)
A = Text(name="a", label="Answer to the first text", most=40, placeholder="the most probable", width=190)
B = Text(name="b", label="Answer to the second text", most=40, placeholder="the most probable", width=190)
TASK = Choice(name="task", label="Task", options={}, width=280)
OUTPUT = Integer(name="output", label="Token of the output", low=1, high=24, width=150)
PAIR_PARAMS: tuple[Param[Any], ...] = (PAIR, FIRST, A, B, TASK, OUTPUT)


@dataclass(frozen=True, slots=True)
class Asked:
    """What the model is asked."""

    first: str
    second: str
    more: dict[str, Any]
    """The answers, the task, the token of the output and for one text the other, by the names that the computations
    have for them."""


def draw_pair(spec: CheckpointSpec, view: View, *, second: bool) -> Asked:
    """Draw example, texts and settings; ``second`` is whether there is a second text."""
    state, pairs = view.state, pairs_of(spec)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        names = {slug: pair.name for slug, pair in pairs.items()}
        pair = pairs[PAIR.with_(options=names).draw(state, tag=spec.slug)]
        tag = f"{spec.slug}.{pair.slug}"
        label = FIRST.label if second else "Text"
        first = FIRST.with_(label=label, default=pair.first).draw(state, tag=tag)
        other = SECOND.with_(default=pair.second).draw(state, tag=tag) if second else ""
        labels = (A.label, B.label) if second else ("Answer", "Minus the answer")
        places = zip((A, B), labels, pair.answers, strict=True)
        controls: list[Control[Any]] = [box.with_(label=name, default=word) for box, name, word in places]
        beside = "" if second or first != pair.first else pair.second
        if not second:
            following = f"that to “{pair.second}”" if beside else "the next most probable"
            controls[1] = controls[1].with_(placeholder=following, width="stretch")
        if tasks := task_names(spec):
            controls.append(TASK.with_(options=tasks, default=pair.task or next(iter(tasks))))
        if spec.offers("rewrites"):
            controls.append(OUTPUT.with_(default=pair.step + 1))
        values = settings_menu(state, *controls, tag=tag)
    step = values.get("output", 1) - 1
    more = {"answers": (values["a"], values["b"]), "task": values.get("task"), "step": step}
    return Asked(first, other, more if second else more | {"beside": beside})
