"""Pinned systems side by side, property by property; the words that the others lack are marked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from core.anatomy.sheet import COLUMNS, SheetRow
from core.catalogue.differences import marked

_STYLE = """<style>
.atlas-pins{width:100%;border-collapse:collapse;table-layout:fixed;font-size:.9rem;line-height:1.5;margin:0 0 .6rem}
.atlas-pins caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.atlas-pins th,.atlas-pins td{text-align:left;vertical-align:top;padding:.5rem .8rem .5rem 0;overflow-wrap:anywhere;
  border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent)}
.atlas-pins th{font-weight:600}
.atlas-pins small{display:block;font-size:.8rem;font-weight:400;opacity:.8}
.atlas-pins mark{color:inherit;background:color-mix(in srgb,var(--atlas-orange) 24%,transparent);
  text-decoration:underline 2px;  text-underline-offset:.2em;border-radius:.15rem;padding:0 .1em}
.atlas-pins a{color:inherit;text-decoration:underline dotted 1px;text-underline-offset:.2em}
.atlas-pins .same td{opacity:.78}
@media (max-width:640px){
  .atlas-pins thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
  .atlas-pins,.atlas-pins tbody{display:block}
  .atlas-pins colgroup{display:none}
  .atlas-pins tr{display:block;padding:.6rem 0;border-bottom:1px solid color-mix(in srgb,currentColor 18%,transparent)}
  .atlas-pins th,.atlas-pins td{display:block;border:0;padding:.15rem 0}
  .atlas-pins td::before{content:attr(data-h);display:block;font-size:.8rem;opacity:.8}
}
</style>"""


def pins_html(rows: Sequence[SheetRow], columns: Sequence[str], write: Callable[[str], str] = escape) -> str:
    """Two systems or more, a column each, the properties as rows; ``write`` makes HTML of a cell's words."""
    names = [row.system.name for row in rows]
    width = 84 / len(rows)
    cols = '<col style="width:16%">' + f'<col style="width:{width:.2f}%">' * len(rows)
    head = "<th></th>" + "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "".join(_property(column.slug, column.heading, rows, write) for column in COLUMNS if column.slug in columns)
    return (
        f'{_STYLE}<table class="atlas-pins"><caption>{escape(" and ".join(names))}, property by property</caption>'
        f"<colgroup>{cols}</colgroup><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def _property(slug: str, heading: str, rows: Sequence[SheetRow], write: Callable[[str], str]) -> str:
    cells = [row.cells[slug] for row in rows]
    texts = [cell.text for cell in cells]
    same = len(set(texts)) == 1
    word = "nothing found" if not any(cell.lines for cell in cells) else "the same" if same else "differs"
    shown = []
    for at, (row, cell) in enumerate(zip(rows, cells, strict=True)):
        others = [other.text for place, other in enumerate(cells) if place != at and other.lines]
        # nothing stands out against an empty cell, and a missing text has no words to mark
        runs = marked(cell.text, others) if cell.lines and others and not same else ((cell.text, False),)
        text = "".join(f"<mark>{write(run)}</mark>" if new else write(run) for run, new in runs)
        evidence = f"<small>{escape(cell.evidence)}</small>" if cell.evidence else ""
        shown.append(f'<td data-h="{escape(row.system.name)}">{text}{evidence}</td>')
    state = ' class="same"' if same else ""
    return f'<tr{state}><th scope="row">{escape(heading)}<small>{word}</small></th>{"".join(shown)}</tr>'
