"""The KV cache: what is stored of a text, token by token, and how many tokens a model computes with it and without."""

from __future__ import annotations

from core import session
from core.attention.tokens import labels
from core.efficiency.growth import bytes_a_token, check, computed
from core.figures.decoding import SHOWN, cache_map
from core.figures.labels import in_bytes
from core.figures.lines import Line, line_alt, line_chart
from core.table import Table
from core.ui.generation.setup import SHARED, Setup, setup
from core.ui.page import accent, theme
from core.ui.panel import Panel
from core.ui.param import Integer
from core.ui.section import Section, View

AT = Integer(name="at", label="Token that is computed", low=1, high=SHOWN, style="slider", width=420)
GROW = Integer(name="grow", label="Maximum length, tokens", default=200, low=16, high=1_000, step=8, width=200)


def kv_cache(view: View) -> None:
    """Draw what is stored, then what is computed."""
    state, chosen = view.state, setup(view, length=False, settings=False)
    checkpoint, start = session.checkpoint(chosen.spec.slug), chosen.start()
    check(checkpoint)
    size = bytes_a_token(checkpoint.model, start.prompt * 4, start.source)
    if size is not None:
        _stored(chosen, labels(checkpoint.tokenizer, (start.source or start.prompt)[:SHOWN]), size)
    view.try_and_notice()
    most = GROW.draw(state)
    lengths = list(range(1, most + 1))
    looks = {"without": (theme().ink, "dash"), "with": (accent(chosen.spec.branch), "solid")}
    counts = {name: [computed(n, cached=name == "with") for n in lengths] for name in looks}
    lines = [Line(view.words.label(name), lengths, counts[name], *look) for name, look in looks.items()]
    Panel(
        "kv-cache-tokens",
        view.words.label("computed"),
        line_chart(
            lines,
            view.words.label("tokens"),
            across=view.words.label("length"),
            hover="%{x} tokens: %{y:,} computed",
            markers=False,
            height=300,
            theme=theme(),
        ),
        line_alt(lines, view.words.label("computed"), []),
        Table.from_columns({"length": lengths, **{view.words.label(name): counts[name] for name in counts}}),
        view.words.part("Computed", most=most, without=f"{computed(most, cached=False):,}"),
    ).draw(state)
    memory = "No keys and values" if size is None else "Memory"
    view.how_it_works("Formula", memory, notes=["Sources"], size=in_bytes(size or 0))


def _stored(chosen: Setup, tokens: tuple[str, ...], size: int) -> None:
    """Draw the rows of queries, keys and values at one token; the last one unless another is chosen."""
    view, count = chosen.view, len(tokens)
    at = count
    if count > 1:
        at = AT.with_(high=count, default=count).draw(view.state, tag=f"{chosen.spec.slug}.{count}")
    stored = in_bytes(size * at)
    Panel(
        "kv-cache",
        view.words.label("stored"),
        cache_map(tokens, at, theme=theme()),
        view.words.part("Alt", at=at, before=at - 1),
        Table.from_columns(
            {
                "token": tokens,
                "query": ["used, dropped"] * (at - 1) + ["computed"] + [""] * (count - at),
                "key": ["stored"] * (at - 1) + ["computed"] + [""] * (count - at),
                "value": ["stored"] * (at - 1) + ["computed"] + [""] * (count - at),
            }
        ),
        view.words.part("Stored", at=at, before=at - 1, stored=stored),
    ).draw(view.state)


CACHE = Section("cache", kv_cache, (*SHARED, AT, GROW))
