"""Nonsense in every parameter of a link of every section, and hostile texts in a box of every view."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from core import links
from core.ui.param import Choice, Text
from core.ui.section import Section, pages
from tests.pages import FEW, NASTY, html_of, opened, widget
from tests.words import words

PAGES = (
    *("tokenizers", "catalogue", "glossary"),
    *("attention", "interventions", "vectors", "generation", "objectives", "transformer", "training"),
)
SECTIONS = {f"{page}-{section.slug}": (page, section) for page in PAGES for section in pages()[page].sections}
NOT_DRAWN = {
    "tokenizers-beside": {"look"},
    "vectors-word": {"of"},  # in a fold
    "vectors-places": {"asked", "query", "key"},
    "training-train": {"format", "sentence"},
    "training-scratch": {"beside"},  # of a room
}
"""Menus that these sections draw only for some choices; that of tasks is drawn for models that have some."""


def tab(page: str, section: Section) -> dict[str, str]:
    return {"tab": section.slug} if len(pages()[page].sections) > 1 else {}


@pytest.mark.parametrize("name", SECTIONS)
def test_nonsense_in_every_parameter_gets_a_sentence_each(name: str) -> None:
    page, section = SECTIONS[name]
    typed = [param for param in section.params if not isinstance(param, Text)]
    wrong = {param.name: "</script><script>" for param in typed} | {"nonsense": "1"}
    at = opened(page, **tab(page, section), **wrong)
    said = words(" ".join(warning.value for warning in at.warning))
    refused = links.read_query(page, wrong)[1]
    assert [refusal.name for refusal in refused if refusal.sentence not in said] == []
    menus = {p.name: p.label for p in typed if isinstance(p, Choice) and not p.options}  # judged by the section
    heard = {name for name, label in menus.items() if re.search(f"“{re.escape(label)}( of [^”]+)?” cannot be", said)}
    assert menus.keys() - heard - {"task"} == NOT_DRAWN.get(name, set())
    assert "<script>" not in html_of(at)


def boxes(at: AppTest) -> list[Any]:
    return [*at.text_area, *at.text_input]


BOXES = {
    "encoder?model=dir-tiny-bert": ("Sentence",),
    "encoder?model=atlas-electra": ("Sentence",),
    "encoder?system=elmo": ("Sentence",),
    "encoder?system=spanbert": ("Sentence",),
    "encoder?system=structbert": ("Sentence", "First text", "Second text"),
    "encoder-decoder?system=unilm": ("First text", "Second text"),
    "encoder?model=atlas-xlm": ("French translation",),
    "encoder?model=atlas-adapter-bert": ("A sentence or two",),
    "encoder?demo=pairs&model=atlas-bert": ("Candidate second sentences, one on each line",),
    "encoder?demo=passes&model=atlas-albert": ("Sentence with [MASK] in place of a word",),
    "encoder?demo=parts&model=atlas-deberta": ("Sentence, perhaps with [MASK] in place of a word",),
    "decoder?model=dir-tiny-gpt2": ("Prompt",),
    "decoder?model=atlas-ctrl&length=3": ("Prompt, the same for every code", "Which code fits this text?"),
    "decoder?model=atlas-xlnet": ("Sentence",),
    "decoder?model=atlas-transformer-xl": ("Text, longer than a segment",),
    "decoder?system=codex&demo=ranking": ("Prompt", "Continuations, one on each line"),
    "encoder-decoder?model=dir-tiny-t5": ("Source text",),
    "encoder-decoder?model=atlas-byt5&length=4": ("Source text",),
    "efficient?model=atlas-longformer&sample=own": ("Your text, with [MASK] in place of a word", "Global words"),
    "efficient?model=atlas-reformer": ("Text, up to 1,024 bytes",),
    "attention?model=dir-tiny-bert": ("Second sentence",),
    "attention?model=dir-tiny-bert&tab=bertviz": ("Text",),
    "interventions?model=dir-tiny-bert&tab=off": ("Text",),
    "interventions?model=dir-tiny-bert&tab=break": ("Text with a [MASK]",),
    "interventions?tab=patch": ("First text",),
    "interventions?tab=steer&model=dir-tiny-gpt2": ("Prompt", "Texts to steer toward, one on each line"),
    "interventions?tab=attack&fluency=off": ("Text",),
    "interventions?tab=features": ("Text",),
    "interventions?tab=probes": ("Sentence for the probe of each layer",),
    "vectors?model=atlas-bert": ("Sentences", "Word"),
    "vectors?tab=sum": ("Second sentence",),
    "vectors?tab=places&kind=relative": ("Text",),
    "generation?length=3&rules=greedy,beam-2": ("Prompt",),
    "generation?tab=beam&length=3&depth=3": ("Prompt",),
    "objectives": ("Your sentence",),
    "objectives?tab=masks&pattern=cross&below=reach": ("Target text",),
    "transformer": ("Text",),
    "training?from=own": ("Your text",),
    "training?tab=data&pair=own": ("Word",),
    "training?tab=train&set=own&epochs=1&trained=head": ("Examples, one per line: class, colon, text",),
    "catalogue?tab=beside&one=dir-tiny-bert&other=dir-tiny-gpt2": ("Sentence",),
    "catalogue?tab=beside&one=dir-tiny-t5&other=dir-tiny-bigbird": ("Sentence",),
    "tokenizers": ("Your text",),
    "tokenizers?tab=steps": ("A word",),
    "tokenizers?tab=train": ("Training text",),
    "experiments?tab=dedup": ("Corpus",),
    "catalogue?tab=table": ("Data",),
    "glossary": ("Find a term, system or demo",),
}
"""Views by their links, and boxes of each."""
PAGES_THAT_TAKE_ALL = ("encoder?model=dir-tiny-bert", "tokenizers")
LONGER = "the cat sat on the mat " * 60
"""Not too long for a box, too long for most models. What is too long for a box, the box cuts: two views try it."""


@pytest.mark.parametrize("where", BOXES)
def test_whatever_is_typed_gets_answers_or_sentences_and_is_kept(where: str, checkpoint_dir: Path) -> None:
    page, _, query = where.partition("?")
    at = opened(page, **dict(parse_qsl(query)))
    texts = NASTY if where in PAGES_THAT_TAKE_ALL else {kind: FEW[kind] for kind in ("nothing", "much at once")}
    texts = texts | {"longer": LONGER}
    for label, (kind, text) in product(BOXES[where], texts.items()):
        widget(boxes(at), label).set_value(text).run()  # one after the other, as a visitor would
        assert text.startswith(value := widget(boxes(at), label).value), kind
        assert value or not text, kind
        assert "<script>" not in html_of(at), kind
        assert at.warning or at.error or drawn(at), kind


def drawn(at: AppTest) -> bool:
    """Whether the page shows more than its texts."""
    return any(at.get(kind) for kind in ("plotly_chart", "iframe", "bidi_component", "html", "arrow_data_frame"))
