"""Pages under AppTest: opened from a link, and read as a visitor reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from core import engine, links
from tests.words import words

ROOT = Path(__file__).resolve().parents[1]
NASTY = {
    "nothing": "",
    "blanks": " \t\n ",
    "very long": "word " * 2_000,
    "emoji": "😀🎉👩‍👩‍👧",
    "right to left": "שלום [MASK] مرحبا",
    "control characters": "a\x00b\x07c\x1b[31m",
    "a script": "</script><script>alert(1)</script>",
    "markdown and latex": "# **x** $\\frac{1}{0}$ [a](javascript:alert(1)) `b` :red[c]",
    "marks of models": "</s><pad>[UNK]<extra_id_0>",
    "turned round": "\u202eabc\u202c",
    "one letter": "x",
}
"""What somebody may type into any box."""
MUCH = ("a script", "markdown and latex", "right to left", "turned round", "control characters", "marks of models")
FEW = {name: NASTY[name] for name in ("nothing", "very long")} | {"much at once": " ".join(map(NASTY.get, MUCH))}
"""The same in three, for a box whose text is read and drawn as in one that is given all of them."""


def stop_after(monkeypatch: pytest.MonkeyPatch, last: Callable[[Any], bool]) -> None:
    """Press Stop once what is streamed is ``last``: its callback, and a new run of the page."""
    button, stream, drawn = DeltaGenerator.button, engine.stream, {}

    def noted(place: DeltaGenerator, label: str, **settings: Any) -> bool:
        drawn[label] = settings
        return button(place, label, **settings)

    def stopped(*given: Any, **named: Any) -> Iterator[Any]:
        for part in stream(*given, **named):
            yield part
            if last(part):
                stop = drawn["Stop"]
                stop["on_click"](*stop["args"])
                st.rerun()

    monkeypatch.setattr(DeltaGenerator, "button", noted)
    monkeypatch.setattr(engine, "stream", stopped)


def opened(page: str, /, **query: str) -> AppTest:
    """A page as its link opens it, or the page to which the browser is sent from a link whose view has moved."""
    at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    if not links.exists(page):
        page, query = links.current(page, query)  # as the server does
    at.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        at.query_params[name] = value
    at.run()
    for proto in protos(at, "bidi_component"):
        if proto.component_name.endswith("atlas_redirect"):
            address = urlsplit(json.loads(proto.json)["to"])
            return opened(address.path.rpartition("/")[2], **dict(parse_qsl(address.query)))
    return at


def shown(at: AppTest) -> str:
    """What the page says, without links to the glossary and without escapes."""
    return words(
        " ".join(
            str(element.value)
            for element in (*at.markdown, *at.subheader, *at.warning, *at.caption, *at.info, *at.error)
        )
    )


def protos(at: AppTest, kind: str) -> list[Any]:
    """The raw messages of elements that AppTest has no class for."""
    result: list[Any] = []

    def walk(node: Any) -> None:
        for child in getattr(node, "children", {}).values():
            walk(child)
        if getattr(node, "type", None) == kind:
            result.append(node.proto)

    walk(at._tree)
    return result


def html_of(at: AppTest) -> str:
    """Everything that was drawn as HTML."""
    return " ".join(proto.body for proto in protos(at, "html"))


def described(at: AppTest) -> str:
    """The descriptions of all charts."""
    return " ".join(proto.alt for proto in protos(at, "plotly_chart"))


def widget(elements: Iterable[Any], label: str) -> Any:
    """The control with this label."""
    return next(element for element in elements if element.label == label)


def link(at: AppTest) -> dict[str, str]:
    """What the link carries."""
    return {name: value[0] if isinstance(value, list) else value for name, value in at.query_params.items()}
