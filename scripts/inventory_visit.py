"""Opening views as a visitor would, and making the steps that no link carries, by Streamlit's AppTest."""

from __future__ import annotations

import json
import random
import time
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

from inventory_items import Downloads, describe, item, nodes, options_of, plain, short

Step = tuple[str, str, int, str]
"""Type and label of a control, which of that label, and the option."""

ROOT = Path.cwd()
ARROW = " >> "
CHOICES = ("selectbox", "button_group", "radio", "select_slider")
_SECONDS = 300
_TICK = 10.0
"""Seconds between two looks at the clock."""


class Visitor:
    """Opens views as a visitor would, one after the other, in this process."""

    def __init__(self) -> None:
        from streamlit.components.v2 import manifest_scanner
        from streamlit.elements.lib.mutable_expander_container import ExpanderContainer
        from streamlit.elements.lib.mutable_popover_container import PopoverContainer
        from streamlit.elements.lib.mutable_tab_container import TabContainer

        manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
        for lazy in (ExpanderContainer, PopoverContainer, TabContainer):
            lazy.open = property(lambda self: True, lambda self, value: None)  # type: ignore[assignment,method-assign]
        # Set before any page imports it: whatever is measured takes the same time, and too long to be measured twice.
        clock = count()
        time.perf_counter = lambda: next(clock) * _TICK
        self.downloads = Downloads()

    def open(self, link: str) -> Any:
        """The page behind ``link``, run to its end."""
        import numpy as np
        import torch
        from streamlit.testing.v1 import AppTest

        random.seed(0)
        np.random.seed(0)
        torch.manual_seed(0)
        self.downloads.made.clear()
        page, _, query = link.partition("?")
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=_SECONDS)
        at.switch_page(f"pages/{page}.py")
        for name, value in parse_qsl(query, keep_blank_values=True):
            at.query_params[name] = value
        return at.run()

    def items(self, view: str) -> list[str]:
        """What stands in ``view``."""
        link, _, step = view.partition(ARROW)
        try:
            at = self.open(link)
            if step and (lost := take(at, tuple(json.loads(step)))):
                return [item("lost", step=lost)]
            found = [line for node in nodes(at._tree) for line in describe(node, self.downloads)]
        except Exception as error:
            return [item("exception", text=f"{type(error).__name__}: {short(plain(error))}")]
        links = {line for line in found if line.startswith("link |")}
        if written(at) != query_of(link):
            links.add(item("url", query=written(at)))
        return sorted([*(line for line in found if not line.startswith("link |")), *links])


def query_of(link: str) -> str:
    return urlencode(sorted(parse_qsl(link.partition("?")[2], keep_blank_values=True)))


def written(at: Any) -> str:
    """The query that the page has in its URL now."""
    said = [
        (name, v) for name, value in at.query_params.items() for v in (value if isinstance(value, list) else [value])
    ]
    return urlencode(sorted(said))


def take(at: Any, step: Step) -> str:
    """Make ``step`` and run the page; says what is not there any more."""
    kind, label, number, option = step
    there = [node for node in nodes(at._tree) if node.type == kind and plain(getattr(node, "label", "")) == label]
    if number >= len(there):
        return f"no {kind} “{label}”"
    node = there[number]
    if kind == "button":
        node.click()
    elif kind in ("checkbox", "toggle"):
        node.set_value(not node.value)
    elif kind in CHOICES or kind == "multiselect":
        if option and option not in options_of(node):
            return f"no “{option}” in {kind} “{label}”"
        _choose(node, kind, option)
    elif kind in ("number_input", "slider"):
        whole = isinstance(node.value, int)
        node.set_value(int(float(option)) if whole else float(option))
    else:
        node.set_value(option)
    at.run()
    return ""


def _choose(node: Any, kind: str, option: str) -> None:
    """Send what the browser sends: the option's text, whatever stands for it in the page's code."""
    from streamlit.proto.WidgetStates_pb2 import WidgetState

    raw = {plain(text): text for text in (getattr(o, "content", o) for o in node.proto.options)}
    state = WidgetState()
    state.id = node.id
    if kind in ("selectbox", "radio"):
        state.string_value = raw[option]
    else:
        state.string_array_value.data[:] = [raw[option]] if option else []
    node.__class__ = type(
        node.__class__.__name__, (node.__class__,), {"_widget_state": property(lambda self: state), "value": None}
    )
