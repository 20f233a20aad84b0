"""A log-in before every page, where the host sets ``ATLAS_LOGIN=on``: Streamlit's own OpenID Connect.

The provider is declared in ``[auth]`` of ``.streamlit/secrets.toml``; the package Authlib connects to it. If either is
missing, nobody can log in and the page says so. The provider's data on a visitor stay in their signed cookie. Streamlit
leads to Home after a log-in; ``assets/components/return`` leads on to the link that the visitor had opened.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

import streamlit as st
from streamlit.errors import StreamlitSecretNotFoundError

from core.content import content
from core.errors import SettingUnusable
from core.settings import settings
from core.ui.component import Component, Message
from core.ui.glossary import error

RETURN: Component[Message] = Component("return")


def may_enter() -> bool:
    """Whether this visitor may see pages: everybody without ``ATLAS_LOGIN``, otherwise those logged in."""
    return not _is_enabled() or bool(st.user.get("is_logged_in"))


def _is_enabled() -> bool:
    try:
        return settings().login == "on"
    except SettingUnusable:  # a mistake in a setting must open nothing
        return os.environ.get("ATLAS_LOGIN", "off") != "off"


def log_in() -> None:
    """Draw the only page of a visitor who has not logged in."""
    words = content("server", "login")
    st.title(words.title, anchor=False)
    try:
        provided = "auth" in st.secrets and find_spec("authlib") is not None
    except StreamlitSecretNotFoundError:
        provided = False
    if not provided:
        error(words.part("Not set up"))
        return
    RETURN.draw("atlas.return", {"keep": True})
    st.markdown(words.part("Log in"))
    st.button(words.label("button"), on_click=st.login, type="primary")


def log_out_button(page: str) -> None:
    """Draw the log-out button in the sidebar, if there is a log-in; after it, lead on from Home."""
    if _is_enabled():
        with st.sidebar:
            RETURN.draw("atlas.return", {"home": page == "home"})
        st.sidebar.button(content("server", "login").label("out"), on_click=st.logout, icon=":material/logout:")
