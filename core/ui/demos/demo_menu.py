"""The choice among a model's demos, the same on every branch page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from core.checkpoints.spec import CheckpointSpec

if TYPE_CHECKING:
    from core.ui.links import PageState


def chosen_demo(
    spec: CheckpointSpec, offered: Sequence[str], names: Mapping[str, str], label: str, state: PageState
) -> str:
    """The demo that link or visitor chose; a menu stands above it where there are several.

    Args:
        spec: the model; another one starts with a menu of its own.
        offered: its demos, the one that it opens with first.
        names: what each is called in the menu.
        label: what the menu is for, read to those who do not see it.
        state: keeps the choice in the link.
    """
    wanted = state.text("demo")
    demo = wanted if wanted in offered else offered[0]
    if len(offered) > 1:
        demo = str(
            st.segmented_control(
                label,
                offered,
                format_func=names.__getitem__,
                default=demo,
                required=True,
                key=state.key(f"demo.{spec.slug}"),
                label_visibility="collapsed",
            )
        )
    state.set(demo=None if demo == offered[0] else demo)
    return demo
