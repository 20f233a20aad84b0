"""The items of a view: one line for each control, heading, picture, table, file, text and link that stands there."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from html import unescape
from typing import Any

_LIMIT = 240
"""So much of a text is kept; of the rest, a short hash."""


def plain(text: object) -> str:
    """One line without markup of links, escapes and signs that part an item's fields."""
    found = re.sub(r'\[((?:[^\[\]\\]|\\.)*)\]\([^\s)]*(?: "[^"]*")?\)', r"\1", str(text))
    return re.sub(r"\s+", " ", found.replace("\\", "")).strip().replace(" | ", " ¦ ")


def counted(text: object) -> str:
    """:func:`plain` with every number as ``#``, and no unit of time or size after it, since both depend on its size."""
    found = re.sub(r"(?<![A-Za-z])(?<![A-Za-z]-)[-−+]?\d[\d,.\u2009\u202f]*(?:e[-+]?\d+)?(?<![,.])", "#", plain(text))
    return re.sub(r"#\s?(?:ms|s|seconds?|minutes?|hours?|kB|MB|GB|KiB|MiB|GiB)\b", "# unit", found)


def short(text: str) -> str:
    """The beginning of ``text``, and a hash of all of it where that is not the whole."""
    return text if len(text) <= _LIMIT else f"{text[:_LIMIT]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"


def item(kind: str, **fields: object) -> str:
    """A line: its kind, then its fields; empty ones are left out."""
    said = [f"{name}: {value}" for name, value in fields.items() if value not in ("", None, False, [], ())]
    return " | ".join((kind, *said))


def keys_of(value: object, depth: int = 3) -> str:
    """The shape of a component's data: its keys, those of the first entry of a list, numbers as ``#``."""
    if isinstance(value, Mapping) and depth:
        names = sorted({(counted(name), keys_of(inner, depth - 1)) for name, inner in value.items()})
        if len(names) > 40:
            return "{many}"
        return "{" + ", ".join(f"{name}{inner}" for name, inner in names) + "}"
    if isinstance(value, list) and value and depth:
        return f"[{keys_of(value[0], depth - 1)}]"
    return ""


def header_of(data: object) -> str:
    """The first line of a file."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)
    return short(counted(text.removeprefix("\ufeff").partition("\n")[0]))


class Downloads:
    """What the download buttons of the running view offer, by the button's id; read where the button is made."""

    def __init__(self) -> None:
        from streamlit.elements.widgets import button

        self.made: dict[str, tuple[str, str, str]] = {}
        real = button.marshall_file

        def marshall_file(
            place: str, data: Any, proto: Any, mime: str | None, file_name: str | None = None, **more: Any
        ) -> None:
            header = ""
            if mime == "text/csv" or str(file_name).endswith(".csv"):
                header = header_of(data() if callable(data) else data)
            self.made[proto.id] = (str(file_name or ""), str(mime or ""), header)
            real(place, data, proto, mime, file_name, **more)

        button.marshall_file = marshall_file  # type: ignore[assignment]


def nodes(tree: Any) -> Iterator[Any]:
    """Everything on the page, in its order."""
    for child in getattr(tree, "children", {}).values():
        yield child
        yield from nodes(child)


def options_of(node: Any) -> list[str]:
    found = getattr(node.proto, "options", ())
    return [plain(getattr(option, "content", option)) for option in found]


def value_of(node: Any) -> str:
    """What a control stands at, as its visitor reads it."""
    kind, options = node.type, options_of(node)
    with contextlib.suppress(Exception):
        if kind in ("selectbox", "radio"):
            return "" if node.index is None else options[node.index]
        if kind in ("button_group", "multiselect"):
            return ", ".join(options[index] for index in node.indices)
    with contextlib.suppress(Exception):
        return short(plain(node.value))
    return ""


def control(node: Any) -> str:
    proto = node.proto
    low, high = getattr(proto, "min", ""), getattr(proto, "max", "")
    ranged = f"{low:g} to {high:g} by {proto.step:g}" if node.type in ("slider", "number_input") else ""
    return item(
        "control",
        label=plain(getattr(proto, "label", "")),
        type=node.type,
        value=value_of(node),
        options=" · ".join(options_of(node)),
        range=ranged,
        help=short(counted(getattr(proto, "help", ""))),
        placeholder=plain(getattr(proto, "placeholder", "")),
        off=getattr(proto, "disabled", False),
    )


def table(node: Any) -> str:
    """A table's columns as they are called on the page, and how many rows it has."""
    value, proto = node.value, node.proto
    named: dict[str, Any] = json.loads(getattr(proto, "columns", "") or "{}")
    labels = []
    for column in value.columns:
        given = named.get(str(column)) or {}
        if not given.get("hidden"):
            labels.append(counted(given.get("label") or column))
    return item(
        "table",
        type=node.type,
        alt=short(counted(getattr(proto, "alt", ""))),
        columns=short(" · ".join(dict.fromkeys(labels))),
        rows=len(value),
        selects=bool(list(getattr(proto, "selection_mode", ()))),
    )


def chart(proto: Any) -> str:
    """A picture's description, its kinds of traces and what its axes and legend say."""
    figure = json.loads(proto.spec)
    layout = figure.get("layout", {})
    titles = [layout.get("title", {}).get("text", "")] if isinstance(layout.get("title"), dict) else []
    axes = [
        counted((layout[name].get("title") or {}).get("text", ""))
        for name in sorted(layout)
        if re.fullmatch(r"[xy]axis\d*", name) and isinstance(layout[name], dict)
    ]
    traces = Counter(str(trace.get("type", "scatter")) for trace in figure.get("data", ()))
    legend = {counted(trace["name"]) for trace in figure.get("data", ()) if trace.get("name")}
    return item(
        "chart",
        alt=short(counted(proto.alt)),
        title=counted(titles[0]) if titles else "",
        traces=", ".join(sorted(traces)),
        axes=" / ".join(dict.fromkeys(filter(None, axes))),
        legend=short(" · ".join(sorted(legend))),
        selects=bool(list(proto.selection_mode)),
    )


def component(proto: Any) -> str:
    kind = proto.WhichOneof("data")
    raw = proto.json if kind == "json" else proto.mixed.json if kind == "mixed" else ""
    data = json.loads(raw) if raw else {}
    known = data if isinstance(data, dict) else {}
    return item(
        "component",
        name=proto.component_name.rpartition(".")[2],
        keys=keys_of(data),
        title=short(counted(known.get("title") or known.get("label") or "")),
        csv=header_of(known["csv"]) if known.get("csv") else "",
    )


def frame(proto: Any) -> str:
    """A page within the page: its title, what can be pressed there, and the names of its data."""
    source = proto.srcdoc or proto.src
    if source.startswith("data:"):
        source = base64.b64decode(source.partition(",")[2]).decode("utf-8", "replace")
    title = re.search(r"<title>(.*?)</title>", source, re.S)
    drawn = re.sub(r"<(style|script)\b.*?</\1>", " ", source, flags=re.S)
    pressed = re.findall(r"<(?:button|label|option)\b[^>]*>([^<]+)<", drawn)
    names = sorted(set(re.findall(r'"([A-Za-z_]\w*)":', source)))
    return item(
        "iframe",
        title=counted(unescape(title.group(1))) if title else "",
        alt=short(counted(getattr(proto, "alt", ""))),
        buttons=short(" · ".join(dict.fromkeys(counted(unescape(text)) for text in pressed))),
        keys=short(", ".join(names)),
    )


def targets(markup: str) -> Iterator[str]:
    """Where the links of Markdown or HTML lead."""
    for target in re.findall(r'\]\(([^\s)]+)(?: "[^"]*")?\)|href="([^"]+)"', markup):
        yield item("link", to=unescape(next(filter(None, target))).lstrip("/"))


def describe(node: Any, downloads: Downloads) -> Iterator[str]:
    """The items that stand for one element of a page."""
    kind, proto = node.type, getattr(node, "proto", None)
    if kind in ("title", "header", "subheader", "heading"):
        yield item("heading", text=counted(node.value), tag=node.tag)
    elif kind in ("markdown", "caption", "latex", "text", "code", "json"):
        yield item(kind, text=short(counted(node.value)))
        yield from targets(str(node.value))
    elif kind == "html":
        body = re.sub(r"<(style|script)\b.*?</\1>", " ", proto.body, flags=re.S)
        text = counted(unescape(re.sub(r"<[^>]+>", " ", body)))
        if text:
            yield item("html", text=short(text))
        yield from targets(body)
    elif kind in ("info", "warning", "error", "success"):
        yield item("notice", type=kind, text=short(counted(node.value)))
        yield from targets(str(node.value))
    elif kind == "exception":
        yield item("exception", text=short(plain(node.value)))
    elif kind == "button":
        yield item("button", label=plain(node.label), help=short(counted(proto.help)), off=proto.disabled)
    elif kind == "download_button":
        name, mime, header = downloads.made.get(proto.id, ("", "", ""))
        yield item(
            "download", label=plain(proto.label), file=name, mime=mime, header=header, help=short(counted(proto.help))
        )
    elif kind == "page_link":
        yield item(
            "page link",
            label=plain(proto.label),
            to=f"{proto.page}?{proto.query_string}".rstrip("?"),
            off=proto.disabled,
        )
    elif kind in ("dataframe", "table"):
        yield table(node)
    elif kind == "plotly_chart":
        yield chart(proto)
    elif kind == "bidi_component":
        yield component(proto)
    elif kind == "iframe":
        yield frame(proto)
    elif kind in ("expander", "tab", "status"):
        yield item("panel", type=kind, label=counted(node.label))
    elif kind == "popover":
        yield item("panel", type=kind, label=plain(proto.popover.label), help=short(counted(proto.popover.help)))
    elif hasattr(node, "_widget_state") or kind == "file_uploader":
        yield control(node)
    elif kind == "metric":
        yield item("metric", label=plain(proto.label))
    elif kind not in _SILENT:
        yield item("other", type=kind)


_SILENT = (
    *("main", "sidebar", "event", "flex_container", "column", "tab_container", "divider", "empty", "space", "form"),
    *("progress", "spinner", "skeleton", "horizontal", "vertical", None),
)
