"""The table of all systems as HTML, and pinned systems side by side.

Everything is escaped. Two check boxes in each row work without the server: one shows the source of every cell, one (on
a narrow screen, where rows are cards) the properties that a card omits at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from core import links
from core.anatomy.sheet import COLUMNS, MISSING, Cell, SheetRow, cited, marked
from core.catalogue import Citation
from core.ui.glossary import Linker
from core.ui.page import accent, base_path
from core.ui.text_table import Mark, Part, Rich, Row, TextTable, inline

_WIDTHS = {"name": 11, "type": 10, "parameters": 17, "activation": 10, "batch": 13, "unknown": 14}
_USUAL = 17
_MOST_MARKED = 0.6
"""The largest share of a text that marks may cover; where more differs, “differs” says all."""
_IN_CARD = 4
"""Cells that a closed card shows, including the name."""

STYLE = """<style>
.atlas-sheet{overflow:auto;max-height:78vh;border:1px solid color-mix(in srgb,currentColor 22%,transparent);
  border-radius:.5rem;overscroll-behavior-x:contain}
.atlas-sheet:focus-visible{outline:2px solid var(--atlas-blue);outline-offset:2px}
.atlas-sheet table{border-collapse:separate;border-spacing:0;table-layout:fixed;
  font-size:.86rem;line-height:1.42;width:max(100%,WIDTHrem)}
.atlas-sheet caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.atlas-sheet th,.atlas-sheet td{text-align:left;vertical-align:top;padding:.5rem .7rem;overflow-wrap:anywhere;
  border-bottom:1px solid color-mix(in srgb,currentColor 14%,transparent)}
.atlas-sheet thead th{position:sticky;top:0;z-index:2;background:var(--atlas-ground);font-weight:600}
.atlas-sheet tbody th{position:sticky;left:0;z-index:1;background:var(--atlas-ground);font-weight:600;
  border-right:1px solid color-mix(in srgb,currentColor 22%,transparent)}
.atlas-sheet thead th:first-child{left:0;z-index:3;
  border-right:1px solid color-mix(in srgb,currentColor 22%,transparent)}
.atlas-sheet small{display:block;font-size:.78rem;font-weight:400;opacity:.8}
.atlas-sheet .none{opacity:.7;font-style:italic}
.atlas-sheet .src{display:none;margin-top:.35rem;padding-left:.5rem;border-left:2px solid currentColor}
.atlas-sheet tr:has(.s:checked) .src{display:block}
.atlas-sheet tr:has(.s:checked) .ev{display:none}
.atlas-sheet label{display:flex;gap:.35rem;align-items:center;font-size:.78rem;font-weight:400;margin-top:.3rem;
  cursor:pointer;min-height:1.5rem}
.atlas-sheet .card{display:none}
.atlas-sheet a{color:inherit;text-decoration:underline;text-underline-offset:.2em}
.atlas-sheet .dot{display:inline-block;width:.6rem;height:.6rem;border-radius:50%;margin-right:.4rem}
@media (max-width:640px){
  .atlas-sheet{max-height:none;border:0;overflow:visible}
  .atlas-sheet table{width:auto;display:block}
  .atlas-sheet colgroup,.atlas-sheet thead{display:none}
  .atlas-sheet tbody{display:block}
  .atlas-sheet tr{display:block;border:1px solid color-mix(in srgb,currentColor 22%,transparent);border-radius:.5rem;
    margin:0 0 .7rem;padding:.4rem 0}
  .atlas-sheet th,.atlas-sheet td{display:block;position:static!important;border:0!important;padding:.25rem .8rem}
  .atlas-sheet td::before{content:attr(data-h);display:block;font-size:.78rem;opacity:.8}
  .atlas-sheet label,.atlas-sheet .card{display:inline-flex;margin-right:1rem}
  .atlas-sheet tr:not(:has(.c:checked)) td:nth-child(n+CARD){display:none}
}
</style>"""


def sheet_html(rows: Sequence[SheetRow], columns: Sequence[str], linker: Linker) -> str:
    """The table of ``rows``; ``columns`` are slugs, the name first."""
    headings = {column.slug: column.heading for column in COLUMNS}
    widths = [_WIDTHS.get(slug, _USUAL) for slug in columns]
    style = STYLE.replace("WIDTH", str(sum(widths))).replace("CARD", str(_IN_CARD + 1))
    cols = "".join(f'<col style="width:{width}rem">' for width in widths)
    head = "".join(f'<th scope="col">{escape(headings[slug])}</th>' for slug in columns)
    body = "".join(f"<tr>{_name(row)}{_cells(row, columns, headings, linker)}</tr>" for row in rows)
    return (
        f'{style}<div class="atlas-sheet" role="region" aria-label="Systems, property by property" tabindex="0"><table>'
        f"<caption>Systems, property by property</caption><colgroup>{cols}</colgroup>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _name(row: SheetRow) -> str:
    system = row.system
    href = base_path() + links.url(system.branch, {"system": system.slug, "tab": "facts"})
    small = "".join(f"<small>{escape(line)}</small>" for line in row.cells["name"].lines[1:])
    live = "<small>runs here</small>" if system.live.exact else ""
    dot = f'<span class="dot" style="background:{accent(system.branch)}"></span>'
    of = escape(system.name)
    return (
        f'<th scope="row">{dot}<a href="{escape(href)}">{of}</a>{small}{live}'
        f'<label><input type="checkbox" class="s" aria-label="Sources of {of}">Sources</label>'
        f'<label class="card"><input type="checkbox" class="c" aria-label="All properties of {of}">'
        "All properties</label></th>"
    )


def _cells(row: SheetRow, columns: Sequence[str], headings: dict[str, str], linker: Linker) -> str:
    shown = (slug for slug in columns if slug != "name")
    return "".join(f'<td data-h="{escape(headings[slug])}">{_cell(row.cells[slug], linker)}</td>' for slug in shown)


def _cell(cell: Cell, linker: Linker) -> str:
    if not cell.lines:
        return f'<span class="none">{MISSING}</span>'
    hover = escape("\n".join(map(cited, cell.citations)))
    lines = "".join(f"<div>{inline(linker.rich(line))}</div>" for line in cell.lines)
    evidence = f'<small class="ev">{escape(cell.evidence)}</small>' if cell.evidence else ""
    return f'<div title="{hover}">{lines}{evidence}</div>' + "".join(map(_source, cell.citations))


def _source(citation: Citation) -> str:
    title = escape(citation.title)
    # addresses come from records, and only the web's are links
    if citation.url and citation.url.startswith(("https://", "http://")):
        title = f'<a href="{escape(citation.url)}">{title}</a>'
    who = f"{escape(citation.authors)}: " if citation.authors else ""
    return f'<small class="src">{who}{title}. {escape(citation.evidence.capitalize())}: {escape(citation.read)}</small>'


def pins_table(rows: Sequence[SheetRow], columns: Sequence[str], linker: Linker) -> TextTable:
    """Two or more systems as columns, properties as rows; words unique to a column are marked, if they are few."""
    names = tuple(row.system.name for row in rows)
    body = [_property(column.slug, column.heading, rows, linker) for column in COLUMNS if column.slug in columns]
    caption = f"{' and '.join(names)}, property by property"
    return TextTable(("", *names), body, caption, (16, *[84 // len(rows)] * len(rows)))


def _property(slug: str, heading: str, rows: Sequence[SheetRow], linker: Linker) -> Row:
    cells = [row.cells[slug] for row in rows]
    same = len({cell.text for cell in cells}) == 1
    verdict = "not stated" if not any(cell.lines for cell in cells) else "the same" if same else "differs"
    shown: list[tuple[Part, ...]] = []
    for at, cell in enumerate(cells):
        others = [other.text for column, other in enumerate(cells) if column != at and other.lines]
        # no marks against an empty cell; a missing text has no words to mark
        runs = marked(cell.text, others) if cell.lines and others and not same else ((cell.text, False),)
        if sum(len(run) for run, new in runs if new) > _MOST_MARKED * len(cell.text):
            runs = ((cell.text, False),)  # marks on nearly every word would point at nothing
        parts = [Mark(linker.rich(run)) if new else linker.rich(run) for run, new in runs]
        shown.append((Rich(tuple(parts)), cell.evidence))
    return ((heading, verdict), *shown)
