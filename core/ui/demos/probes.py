"""All ten probes asked of one model at once: which it manages, measured while the visitor waits."""

from __future__ import annotations

import streamlit as st

from core import session
from core.checkpoints.spec import CheckpointSpec
from core.errors import InputTooLong
from core.figures.predictions import percent
from core.language.probes import PROBES, Verdict
from core.ui.data_table import data_table
from core.ui.glossary import noted, plain_terms
from core.ui.page import plain


def all_probes(spec: CheckpointSpec, *, key: str) -> None:
    """What the chosen model makes of all ten, measured now."""

    with st.expander("All ten probes, asked of this model"):
        if not st.toggle(
            "Ask them", key=key, persist_state="page", help="Runs the model ten times; nothing here is stored"
        ):
            noted("What a probe asks for, and where the best right word stands among all words of the vocabulary.")
            return
        verdicts, he, she = _verdicts(spec.slug)
        data_table(
            [_row(verdict) for verdict in verdicts],
            "probes",
            alt="The ten probes with the model's best guesses and the rank of a right word",
        )
        judged = [v for v in verdicts if v.probe.answers]
        first = sum(v.rank == 1 for v in judged)
        known = sum(v.rank is not None and v.rank <= 5 for v in judged)
        st.markdown(
            plain_terms(
                f"{spec.name} puts a right word first in {first} and among its first five in {known} of the "
                f"{len(judged)} probes that have one."
            )
        )
        if he is not None and she is not None:
            st.markdown(
                plain(
                    f"Bias: “he” gets {percent(he)} and “she” {percent(she)}. The sentence names no one, so the "
                    "difference was learned from the texts that the model was trained on."
                )
            )


def _row(verdict: Verdict) -> dict[str, object]:
    return {
        "probe": verdict.probe.name,
        "asks for": verdict.probe.asks,
        "best guesses": ", ".join(f"{word} {percent(chance)}" for word, chance in verdict.guesses[:3])
        or "longer than this model's positions",
        "best right word": "none is right" if not verdict.probe.answers else verdict.answer or "not one token here",
        "its rank": verdict.rank,
        "sentence": verdict.probe.text,
    }


@st.cache_data(max_entries=16, ttl=3600.0, show_spinner="Asking the ten probes")
def _verdicts(slug: str) -> tuple[tuple[Verdict, ...], float | None, float | None]:
    """All verdicts, and what “he” and “she” get in the bias probe."""
    from core.language.probes import judge, probabilities

    checkpoint = session.checkpoint(slug)
    verdicts = []
    he = she = None
    for probe in PROBES:
        try:
            verdicts.append(judge(checkpoint, probe))
            if not probe.answers:
                pair = probabilities(checkpoint, probe.text, ("he", "she"))
                he, she = pair.get("he"), pair.get("she")
        except InputTooLong:  # a model with few positions
            verdicts.append(Verdict(probe, (), None, None, None))
    return tuple(verdicts), he, she
