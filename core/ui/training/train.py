"""Train: a task is chosen, and a copy of a live model learns it while one watches."""

from __future__ import annotations

from dataclasses import replace

from core.content import content
from core.finetuning import spans, tags
from core.ui.section import Section, View
from core.ui.training.classes import PARAMS, classes
from core.ui.training.run import MODEL, SENTENCE, TEXTS, TRAINED, set_and_model
from core.ui.training.spans import answer_spans
from core.ui.training.tags import token_labels


def train(view: View) -> None:
    """Draw the section: the classes of texts, the labels of words, or answers in passages."""
    row = view.controls()
    with row:
        kind, spec = set_and_model(view)
    if kind == tags.NAME:
        token_labels(replace(view, words=content("training", kind)), row, spec)
    elif kind == spans.NAME:
        answer_spans(replace(view, words=content("training", kind)), row, spec)
    else:
        classes(view, kind, spec)


TRAIN = Section("train", train, (*TEXTS, MODEL, TRAINED, SENTENCE, *PARAMS))
