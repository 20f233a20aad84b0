"""What a session keeps of widgets that no page will draw again.

A widget's key carries the epoch of its page (`core.ui.links`), so a link that is opened in a session draws new
widgets. Streamlit drops the old ones' values, but keeps what it knows of each, callbacks and all that these refer to,
for as long as the session lasts; and it keeps values that were put into the session under such a key.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx


def forget_older(page: str, epoch: int) -> None:
    """Drop what the session holds under the keys of the page's earlier epochs; for the end of a run.

    What a browser still sends for such a widget is then passed over, as for any that does not exist.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    # There is no public way to these. They go first: without them no callback meets a value that is gone.
    known = context.session_state._state._new_widget_state.widget_metadata
    for widget in [widget for widget in known if _older(widget.split("-", 2)[-1], page, epoch)]:
        del known[widget]
    for key in [str(key) for key in st.session_state if _older(str(key), page, epoch)]:
        del st.session_state[key]


def _older(key: str, page: str, epoch: int) -> bool:
    owner, _, rest = key.partition(".")
    number, dot, _ = rest.partition(".")
    return owner == page and dot == "." and number.isdigit() and int(number) != epoch
