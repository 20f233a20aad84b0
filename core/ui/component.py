"""The bridge to JavaScript: a component is a folder of ``assets/components`` and the message it may send.

A folder holds one ``.html``, and ``.css`` and ``.js``, each kind joined in the order of the names. The script is given
``data`` and sends ``setTriggerValue("sent", message)``. A browser's message is untrusted: it is accepted only if it
has exactly the fields of the component's `Message`, each of its type and within its range. What only
a page knows, such as the number of tokens, the page checks when it takes the message.

A component whose message counts what the visitor did draws an answer only if ``data.count`` is at least its own
count: an answer to an older click must not undo a newer one.

Streamlit may draw a component anew before the drawing before has ended: what a script returns ends what its own drawing
has begun, listeners and timers, and nothing of a newer one. Between two drawings a key may come: what
hears the page's keys and messages is added once, and goes with the element.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import urlsplit

import streamlit as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import InputTooLong
from core.settings import ASSETS, raised_with, settings
from core.ui.page import HALL, NEWS, presenting
from core.webpage import data_url, presented

MOST = 20_000
"""The longest list in a message."""
Position = Annotated[int, Field(ge=0, lt=1_000_000)]
Positions = Annotated[list[Position], Field(max_length=MOST)]


class Message(BaseModel):
    """A component's message: its count of uses; subclasses add fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    count: Annotated[int, Field(ge=0, lt=1_000_000_000)] = 0


Sent = TypeVar("Sent", bound=Message)


class Component(Generic[Sent]):
    """A component of the app, created once when its module is imported.

    Args:
        name: its folder in ``assets/components``.
        message: what it may send; None if it sends nothing.
        uses: folders of functions that its script calls: ``dom`` makes elements, ``saved`` downloads a drawing.
    """

    def __init__(
        self, name: str, message: type[Sent] | None = None, *, uses: tuple[Literal["dom", "saved"], ...] = ()
    ) -> None:
        folders = [ASSETS / "components" / part for part in (*uses, name)]
        self.files = tuple(
            "\n".join(
                file.read_text(encoding="utf-8") for folder in folders for file in sorted(folder.glob(f"*.{ending}"))
            )
            for ending in ("html", "css", "js")
        )
        html, css, js = self.files
        self.name, self.message = name, message
        self._mount = st.components.v2.component(f"atlas_{name}", html=html, css=css or None, js=js)

    def draw(
        self, key: str, data: Mapping[str, Any] | None = None, *, height: int | Literal["content"] = "content"
    ) -> None:
        """Draw it.

        Args:
            key: unique on the page.
            data: the script's props, to which the count of the last message is added.
        """
        # Streamlit looks for a data frame in each list and dictionary, with pandas, but sends a tuple as it is
        props = {name: tuple(value) if isinstance(value, list) else value for name, value in (data or {}).items()}
        props["count"] = st.session_state.get(f"{key}--count", 0)
        if self.message is None:
            self._mount(key=key, data=props, height=height)
        else:
            self._mount(key=key, data=props, height=height, on_sent_change=partial(self.receive, key))

    def sent(self, key: str) -> Sent | None:
        """The message sent since the last call; call it before the component is drawn."""
        message: Sent | None = st.session_state.pop(f"{key}--sent", None)
        return message

    def put(self, key: str, message: Sent) -> None:
        """Let the next run find ``message``, as if the browser had sent it."""
        st.session_state[f"{key}--sent"] = message

    def receive(self, key: str) -> None:
        """Store a valid message for the run that it starts; drop an invalid one."""
        if self.message is None:
            return
        try:
            message = self.message.model_validate(getattr(st.session_state.get(key), "sent", None))
        except ValidationError:
            return
        self.put(key, message)
        st.session_state[f"{key}--count"] = message.count


def check_page(page: str) -> None:
    """Raise :class:`InputTooLong` if ``page`` has more bytes than the settings allow."""
    size, most = len(page), settings().max_page_mb
    if size > most * 1_000_000:
        raise InputTooLong(
            f"This picture would be a page of {size / 1e6:,.1f} MB; at most {most} MB are built here. A shorter text, "
            f"or fewer layers and heads, works. {raised_with('max_page_mb')}"
        )


_ACROSS = 570
"""Pixels of the app that a presentation has for a frame from left to right."""
FRAMED = "atlas-framed"
"""The key of a framed page's container; a section has one such page."""


def framed(page: str, height: int, alt: str, *, whole: tuple[int, int] | None = None) -> None:
    """Draw a complete HTML ``page`` in a frame of ``height`` pixels; ``alt`` is its accessible name.

    ``whole``: width and height in pixels of all that a presentation shows at once, if the page does not fit itself in;
    it is made smaller by two thirds at most.

    Raises:
        InputTooLong: the page has more bytes than the settings allow.

    Streamlit parses the URL with urllib, which caches the last 128 results. Ours
    contains the page itself, up to 16 MB, so the cache is cleared.
    """
    check_page(page)
    st.session_state.setdefault(NEWS, alt)
    if presenting():
        page = presented(page)
        height = HALL
        screens = max(1, whole[0] / _ACROSS, whole[1] / HALL) if whole else 1
        st.html(f"<style>.st-key-{FRAMED} {{ --screens: {min(screens, 3):.3f}; }}</style>")
    with st.container(key=FRAMED):
        st.iframe(data_url(page), height=height, alt=alt)
    urlsplit.cache_clear()  # type: ignore[attr-defined]
