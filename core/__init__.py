"""Transformer Atlas: facts about the Transformer family, and models of it to run.

Plain Python that a notebook or a test can call; only ``core.session`` and ``core.ui`` know of Streamlit.
"""

from core.checkpoints.offline import apply as _apply_offline

__version__ = "0.1.0"

_apply_offline()
