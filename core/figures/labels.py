"""Text of a visitor or a model as plotly shows it.

plotly reads a small HTML of its own in labels. Of its entities it knows these three and a few more, but not ``&quot;``:
quotation marks stay as they are, since no label stands inside an attribute.
"""

from html import escape


def label(text: str) -> str:
    """``text`` with ``&``, ``<`` and ``>`` escaped."""
    return escape(text, quote=False)
