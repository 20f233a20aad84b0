"""A value without a widget of its own: a link opens with it, chips or a chart change it, another owner resets it.

The owner is what the value belongs to, such as the tokens whose positions it holds: with others it has no meaning. The
page's state holds the value, the session only whose it is::

    order = Slot(state, ORDER, sampled, owner=tokens)
    st.button("Left to right", on_click=order.set, args=(forward,))
    draw(order.get())
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

import streamlit as st

from core.links.parameters import Value
from core.ui.links import PageState, instead, store
from core.ui.param import Param

T = TypeVar("T", bound=Value)


class Slot(Generic[T]):
    """The value of ``param`` in this run; ``key`` is for widgets that belong to it."""

    def __init__(
        self,
        state: PageState,
        param: Param[Any],
        default: T,
        *,
        owner: object = "",
        refusal: Callable[[T], str] = lambda value: "",
        carry: Callable[[Any, T], T | None] = lambda former, value: None,
    ) -> None:
        """Take up the link's value, or reset that of another owner.

        Args:
            refusal: why a value of the link does not fit here, in a sentence; empty if it fits.
            carry: what remains of the value of a former owner; None is the default.
        """
        self.default, self.key = default, state.key(param.name)
        self._name, self._values = param.name, state.values  # not the state: callbacks outlive it, and all it offers
        former = st.session_state.get(f"{self.key}.owner", owner)
        st.session_state[f"{self.key}.owner"] = owner
        if former != owner:
            carried = carry(former, self.get())
            self.set(default if carried is None else carried)
        elif state.values.get(self._name) is not None and (sentence := refusal(self.get())):
            instead(state, sentence)
            self.set(default)

    def get(self) -> T:
        value = self._values.get(self._name)
        return self.default if value is None else cast(T, value)

    def set(self, value: T) -> None:
        """Change the value, in a run or in a callback, at once: a click elsewhere may interrupt the run."""
        written = None if value == self.default else value
        if written != self._values.get(self._name):
            self._values[self._name] = written
            store(self.key, {self._name: written}, self._values.get("tab"))
