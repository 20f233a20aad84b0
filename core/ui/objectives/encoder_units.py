"""Objectives of encoders that hide several tokens as one: words, spans, phrases and entities."""

from __future__ import annotations

import numpy as np

from core.errors import InputUnusable
from core.objectives import knowledge, spans, whole_words
from core.objectives.shares import tally
from core.table import Table
from core.ui.export import download_csv
from core.ui.objectives import live
from core.ui.objectives.bank import LONG_WORDS, NAMES, STORY
from core.ui.objectives.encoders import FORMULA, RATE, SYMBOLS, fates
from core.ui.objectives.entry import Entry, Given, Line, Number, Option, Share, Stage
from core.ui.objectives.given import style
from core.ui.objectives.picture import shown
from core.ui.text_table import TextTable, text_table

_LENGTHS = 4_000


def _whole(given: Given) -> tuple[Stage, ...]:
    example = whole_words.corrupt(
        given.framed,
        given.words,
        given.vocabulary,
        given.rng(),
        rate=given.number("rate") / 100,
        mask=given.frame["mask"],
        fixed=given.fixed,
    )
    return (Stage(example),)


def _whole_shares(given: Given) -> tuple[Share, ...]:
    rate = given.number("rate")
    found = tally(
        lambda rng: whole_words.corrupt(given.framed, given.words, ("x",), rng, rate=rate / 100, fixed=given.fixed)
    )
    return fates(found, rate)


def _spans(given: Given) -> tuple[Stage, ...]:
    example = spans.corrupt(
        given.framed,
        given.words,
        given.vocabulary,
        given.rng(),
        rate=given.number("rate") / 100,
        longest=given.number("longest"),
        mask=given.frame["mask"],
        fixed=given.fixed,
    )
    return (Stage(example, note="A span shares its fate: all of it became masks, random tokens, or stayed."),)


def _borders(given: Given, stages: tuple[Stage, ...]) -> None:
    """From where each hidden token is asked a second time."""
    cells, kind = stages[0].example.source, style(given.slug)

    def said(place: int) -> str:
        return f"{shown(cells[place].token, kind, cells[place].change == 'special')} ({place})"

    rows = tuple(
        (
            f"{shown(cells[b.place].target or '', kind)} ({b.place})",
            f"its own vector, h{b.place}",
            f"{said(b.left)} and {said(b.right)}, distance {b.distance}",
        )
        for b in spans.boundaries(stages[0].example)
    )
    if rows:
        text_table(
            TextTable(
                ("target (place)", "first loss: asked from", "second loss: asked from its borders"),
                rows,
                "Each hidden token with what its two losses are asked from",
                (24, 28, 48),
            )
        )
        download_csv(
            Table.from_records(
                [
                    {
                        "target": cells[b.place].target,
                        "place": b.place,
                        "left border": cells[b.left].token,
                        "right border": cells[b.right].token,
                        "distance": b.distance,
                    }
                    for b in spans.boundaries(stages[0].example)
                ]
            ),
            "span-borders",
            f"spans.csv.{given.seed}",
        )


def _span_shares(given: Given) -> tuple[Share, ...]:
    rate, longest = given.number("rate"), given.number("longest")
    found = tally(
        lambda rng: spans.corrupt(
            given.framed, given.words, ("x",), rng, rate=rate / 100, longest=longest, fixed=given.fixed
        )
    )
    drawn = spans.lengths(_LENGTHS, np.random.default_rng(0), longest=longest)
    law = spans.chances(longest=longest)
    mean = float((np.arange(1, longest + 1) * law).sum())
    return (
        *fates(found, rate),
        Share("mean length drawn, in words", float(drawn.mean()), mean, ""),
        *(
            Share(f"spans of {length}", 100 * float(np.mean(drawn == length)), 100 * float(law[length - 1]))
            for length in range(1, longest + 1)
        ),
    )


def _units(given: Given) -> tuple[tuple[int, ...], ...]:
    """The places in the framed text of each unit that the level lets be chosen."""
    level = given.word("level")
    typed = [part.strip() for part in given.word("units").split(",") if part.strip()]
    if level == "basic":
        runs: tuple[tuple[int, ...], ...] = tuple((number,) for number in range(len(given.spelled)))
    elif typed:
        runs = knowledge.marked(given.spelled, typed)
    else:
        runs = knowledge.phrases(given.spelled) if level == "phrase" else knowledge.entities(given.spelled)
    return tuple(tuple(place for place, number in enumerate(given.words) if number in run) for run in runs)


def _knowledge(given: Given) -> tuple[Stage, ...]:
    units = _units(given)
    if not units:
        raise InputUnusable(
            "The typed units stand nowhere in this text. Type words as they stand there, with commas between the units."
            if given.word("units").strip()
            else f"The rule finds no {given.word('level')} in this text. Type the units yourself, under More, with "
            "commas between them."
        )
    example = knowledge.corrupt(
        given.framed,
        units,
        given.vocabulary,
        given.rng(),
        rate=given.number("rate") / 100,
        mask=given.frame["mask"],
        fixed=given.fixed,
    )
    kind = style(given.slug)
    found = [" ".join(shown(given.framed[place], kind) for place in unit) for unit in units]
    named = {"basic": "words", "phrase": "phrases", "entity": "entities"}[given.word("level")]
    note = "" if given.word("level") == "basic" else f"Found {named}: {'; '.join(found)}."
    return (Stage(example, note=note, tells=True),)


def _knowledge_shares(given: Given) -> tuple[Share, ...]:
    rate, units = given.number("rate"), _units(given)
    if not units:
        return ()
    found = tally(lambda rng: knowledge.corrupt(given.framed, units, ("x",), rng, rate=rate / 100, fixed=given.fixed))
    return fates(found, rate)


_RELATIVE = "It answers as a relative: it learned single masked tokens."

ENTRIES = (
    Entry(
        slug="whole-words",
        name="Whole words",
        systems="BERT, later models",
        branch="encoder",
        line="All pieces of a word are hidden, or none, so that no piece gives the others away.",
        paper="Released with BERT's code, 31 May 2019 (github.com/google-research/bert, README); loss: Devlin et al. "
        "2019, arXiv:1810.04805.",
        formula=FORMULA,
        symbols=SYMBOLS + "\n- Words are drawn until 15 % of the tokens are hidden; each piece meets its own fate",
        try_="the same sentence and seed with masked tokens, and hide a word of many pieces there.",
        notice="the first piece of a long word costs most, and each piece is guessed without knowing the others. A "
        "word with more pieces than the share allows is passed over.",
        text=LONG_WORDS,
        build=_whole,
        models=("atlas-roberta", "atlas-bert"),
        answer=live.masked,
        about="There is no live answer: no model here was trained on whole words with these proportions.",
        relative=_RELATIVE,
        settings=(RATE,),
        shares=_whole_shares,
    ),
    Entry(
        slug="spans",
        name="Spans and their borders",
        systems="SpanBERT",
        branch="encoder",
        line="Runs of whole words are hidden, and each token in them is asked a second time from the two tokens "
        "outside.",
        paper="Joshi et al. 2020, arXiv:1907.10529, sections 3.1 and 3.2.",
        formula=r"\begin{aligned} L(x_i) &= -\log p(x_i \mid h_i) - \log p(x_i \mid y_i) \\ y_i &= f(h_{s-1}, h_{e+1}, "
        r"p_{i-s+1}) \end{aligned}",
        symbols="- $L(x_i)$: both losses of token $x_i$, the one that stood at place $i$; $p$: the model's "
        "probability\n"
        "- $h_i$: the last vector at place $i$; $y_i$: what is made for it from the span's two borders\n- $s, e$: the "
        "first and the last place of the span\n"
        "- $p_{i-s+1}$: a vector for the distance from the left border\n- $f$: two layers with GELU and layer "
        "normalisation\n- A span has $\\ell$ words with $P(\\ell) \\propto 0.2 \\cdot 0.8^{\\ell - 1}$, "
        "$\\ell \\le 10$: 3.8 on average",
        try_="a longer text, and “Again” until a span of five words or more comes.",
        notice="the middle of a long span is hardest: no neighbour is left. In a short text most spans are cut off, "
        "since 15 % are soon spent.",
        text=STORY,
        build=_spans,
        models=("atlas-roberta", "atlas-bert"),
        answer=live.masked,
        about="There is no live answer: no model here was trained on spans.",
        relative=f"{_RELATIVE} It pays the first loss alone, as it has no head for borders.",
        settings=(
            RATE,
            Number("longest", "Longest span", spans.LONGEST, 1, spans.LONGEST, help="In words.", rare=True),
        ),
        shares=_span_shares,
        more=_borders,
        several=True,
    ),
    Entry(
        slug="knowledge",
        name="Phrases and entities",
        systems="ERNIE",
        branch="encoder",
        line="First words are hidden, then whole phrases, then whole named entities, in three stages of training.",
        paper="Sun et al. 2019, arXiv:1904.09223, read in notes on the paper (basic level: 15 %); 80/10/10 by unit as "
        "in the released code.",
        formula=FORMULA,
        symbols=SYMBOLS + "\n- A unit (word, phrase, entity) is hidden whole; units are drawn until 15 % of the tokens "
        "are hidden, at least one",
        try_="the three levels on one text, then units of your own under More.",
        notice="a name hidden whole cannot be completed from its other half: what is asked is who is meant, and not "
        "how the name goes on. The rule here is plain and misses much; ERNIE used language tools.",
        text=NAMES,
        build=_knowledge,
        models=("atlas-roberta", "atlas-bert"),
        answer=live.masked,
        about="There is no live answer: no model here was trained on phrases or entities.",
        relative=_RELATIVE,
        settings=(
            Option("level", "Level", "entity", {"basic": "basic", "phrase": "phrase", "entity": "entity"}),
            Number("rate", "Share hidden, %", 15, 5, 50, 5, rare=True),
            Line(
                "units",
                "Units of your own",
                help="Words of the text, with commas between the units: golden ring, the castle",
                rare=True,
            ),
        ),
        shares=_knowledge_shares,
        several=True,
    ),
)
