"""The score of a round: a row of marks for the visitor and one for the model, and all ten as a table at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import streamlit as st

from core.figures.predictions import percent
from core.language.rounds import LENGTH, Answer, Kind, Question
from core.table import Table
from core.ui.export import download_csv
from core.ui.links import PageState
from core.ui.objectives.round_question import LETTERS, model_said, said, written
from core.ui.page import plain
from core.ui.text_table import TextTable, text_table

_STYLE = """<style>
.rs{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.2rem 0}
.rs th{font-weight:600;text-align:start;padding:.1rem .8rem .1rem 0;white-space:nowrap;max-width:9rem;overflow:hidden;
  text-overflow:ellipsis}
.rs td{width:1.6rem;height:1.6rem;text-align:center;border:1px solid color-mix(in srgb,currentColor 22%,transparent)}
.rs thead td{border:0;font-size:.8rem;opacity:.75}
.rs thead td.at{opacity:1;font-weight:700;border-bottom:3px solid currentColor}
.rs thead td.r{width:auto;text-align:start;padding-inline-end:.8rem}
.rs td.n{border:0;width:auto;padding-inline-start:.7rem;white-space:nowrap}
@media (max-width:640px){.rs td{width:1.25rem}.rs th{padding-inline-end:.4rem;max-width:5.4rem;font-size:.85rem;
  white-space:normal;line-height:1.15}
  .rs td.n{padding-inline-start:.35rem;font-size:.85rem}}
</style>"""


@dataclass(frozen=True, slots=True)
class Row:
    """One question; ``answer`` is None, and nothing of it is known to the page, until the visitor has answered."""

    question: Question
    given: str | int | None = None
    answer: Answer | None = None

    @property
    def right(self) -> bool:
        """Whether the visitor is right."""
        return self.answer is not None and self.question.right(self.given)


def points(rows: Sequence[Row]) -> tuple[int, int, int]:
    """How many questions are answered, how many of them the visitor has right, and how many the model."""
    done = [row for row in rows if row.answer is not None]
    return len(done), sum(row.right for row in done), sum(row.answer.right for row in done if row.answer)


def scoreboard(rows: Sequence[Row], name: str, seed: int, at: int) -> None:
    """Draw both rows of marks; ``at`` is the question that is looked at, from 0."""
    done, mine, theirs = points(rows)
    numbers = "".join(f"<td{' class=at' if i == at else ''}>{i + 1}</td>" for i in range(len(rows)))
    you = "".join(_cell(row, row.right) for row in rows)
    model = "".join(_cell(row, row.answer is not None and row.answer.right) for row in rows)
    st.html(
        f"{_STYLE}<table class=rs><caption style='position:absolute;clip-path:inset(50%)'>You {mine} and "
        f"{escape(name)} {theirs} of {done} answered</caption>"
        f"<thead><tr><td class=r>Round {seed + 1}</td>{numbers}<td class=n></td></tr></thead>"
        f"<tr><th>You</th>{you}<td class=n>{mine} of {done}</td></tr>"
        f"<tr><th>{escape(name)}</th>{model}<td class=n>{theirs} of {done}</td></tr></table>"
    )


def _cell(row: Row, right: bool) -> str:
    if row.answer is None:
        return '<td aria-label="not yet answered">·</td>'
    return '<td aria-label="right">✓</td>' if right else '<td aria-label="wrong" style="opacity:.75">✗</td>'


def finish(rows: Sequence[Row], name: str, kind: Kind, seed: int, state: PageState) -> None:
    """The end of a round: the score, every question, and the same as a file."""
    _, mine, theirs = points(rows)
    verdict = "You knew more." if mine > theirs else "The model knew more." if theirs > mine else "A draw."
    st.markdown(f"##### You {mine} of {LENGTH}, {plain(name)} {theirs} of {LENGTH}. {verdict}")
    found = [_told(number, row) for number, row in enumerate(rows, 1)]
    text_table(
        TextTable(
            ("", "question", "written", "you", name),
            tuple(
                (
                    str(f["number"]),
                    str(f["question"]),
                    str(f["written"]),
                    f"{_mark(f['you right'])} {f['you']}",
                    f"{_mark(f['model right'])} {f['model']}",
                )
                for f in found
            ),
            "The ten questions with your answers and the model's",
            (5, 41, 20, 16, 18),
        )
    )
    download_csv(Table.from_records(found), f"round-{kind}-{seed}", state.key("rounds.csv"))


def _told(number: int, row: Row) -> dict[str, object]:
    answer, question = row.answer, row.question
    if answer is None:
        raise ValueError("a round is finished when all of it is answered")
    shown = question.text
    if question.kind == "order":
        shown = " ".join(f"{letter}: {text}" for letter, text in zip(LETTERS, question.choices, strict=True))
    return {
        "number": number,
        "question": shown,
        "written": written(question),
        "you": said(question, row.given),
        "you right": row.right,
        "model": model_said(question, answer),
        "model right": answer.right,
        "its probability": percent(answer.chances[answer.choice]),
    }


def _mark(right: object) -> str:
    return "✓" if right else "✗"
