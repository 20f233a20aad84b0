"""The plain table of facts: semantic, escaped, labeled for narrow screens."""

from __future__ import annotations

from html.parser import HTMLParser

from core.ui.text_table import Link, TextTable, html


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def test_what_stands_in_a_cell_stays_text() -> None:
    bad = "</table><script>alert(1)</script>&\"'"
    made = html(TextTable((bad, bad), [(bad, (bad, bad))], caption=bad, widths=(50, 50)))
    tags = _Tags()
    tags.feed(made)
    assert "script" not in tags.seen
    assert tags.seen.count("table") == 1
    assert made.count("&lt;script&gt;") == 7  # 2 headings, 3 texts, 1 label for narrow screens, 1 caption


def test_rows_have_a_heading_and_cells_carry_their_columns_name() -> None:
    table = TextTable(("A", "B"), [("x", "1"), ("y", ("2", "two"))], caption="c", widths=(50, 50), numeric=(1,))
    made = html(table)
    assert made.count('<th scope="row">') == 2
    assert made.count('<th scope="col"') == 2
    assert '<td data-h="B" class="n">2<small>two</small></td>' in made


def test_a_link_is_escaped_and_what_stands_below_spans_the_row() -> None:
    link = Link("<i>", 'encoder?a="b"&c=d')
    table = TextTable(
        ("A", "B"), [("x", (link, "r", "s")), ("y", "2")], caption="c", widths=(5, 5), below=[("<u>",), ()]
    )
    made = html(table)
    assert '<a href="encoder?a=&quot;b&quot;&amp;c=d">&lt;i&gt;</a><small>r</small><small>s</small>' in made
    assert made.count('<tr class="below"><td colspan="2"><small>&lt;u&gt;</small></td></tr>') == 1
