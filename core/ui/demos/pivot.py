"""Beside a translation between two languages: the same by way of English, with the English in the middle shown."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import streamlit as st

from core import session
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.language.tasks import LANGUAGES, Task
from core.language.translate import Through, steps_through, through
from core.language.types import Decoding
from core.ui.demos.demo import DemoView
from core.ui.notices import sentences
from core.ui.page import accent

if TYPE_CHECKING:
    from collections.abc import Sequence

BRANCH = "encoder-decoder"


def pivot_panel(
    view: DemoView, checkpoint: Checkpoint, given: str, task: Task, direct: str, decoding: Decoding
) -> None:
    """Draw the panel where the way through English exists for ``task``; ``direct`` is the answer written at once."""
    way = steps_through(checkpoint, task.slug)
    if way is None or task.languages is None:
        return
    source, target = (LANGUAGES.get(code, code) for code in task.languages)
    st.markdown("**At once, and by way of English**")
    with sentences():
        found = _through(checkpoint.spec.slug, given, way, decoding)
        left, right = st.columns(2, gap="medium")
        with left:
            _steps([(f"{source} to {target} at once", direct)])
        with right:
            _steps([(f"{source} to English", found.middle), (f"that English to {target}", found.end)])
        st.caption("The two answers are the same." if found.end == direct.strip() else "The two answers differ.")
        view.try_and_notice("pivot", source=source)
        _measured(checkpoint.spec, task.slug)


def _steps(steps: Sequence[tuple[str, str]]) -> None:
    """Texts under their names, one below the other."""
    style = f"margin:0 0 .5rem;padding-left:.8rem;overflow-wrap:anywhere;border-left:4px solid {accent(BRANCH)}"
    st.html(
        "".join(
            f'<p style="margin:0"><small>{html.escape(name)}</small></p>'
            f'<p dir="auto" style="{style}">{html.escape(text)}</p>'
            for name, text in steps
        )
    )


def _measured(spec: CheckpointSpec, task: str) -> None:
    """What the card says of both ways."""
    stated = {(m.name, m.on): m.value for m in spec.card.measures} if spec.card else {}
    rows = []
    for (name, on), value in stated.items():
        kind = name.removeprefix(f"{task} ")
        other = stated.get((f"{task} through English {kind}", on))
        if other is not None:
            rows.append(
                {"measured on": on, "measure": kind, "at once": f"{value:.1f}", "by way of English": f"{other:.1f}"}
            )
    if rows:
        with st.expander("How good both ways are"):
            st.table(rows, border="horizontal", hide_index=True, alt="Quality of both ways of translating")
            st.caption("From the model's card.")


@session.cached("Translating by way of English")
def _through(slug: str, text: str, way: tuple[str, str], decoding: Decoding) -> Through:
    return through(session.checkpoint(slug), text, way, decoding)
