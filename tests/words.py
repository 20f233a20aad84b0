"""What a page's Markdown says to its reader: without the addresses of links and without escapes."""

from __future__ import annotations

import re

_LINK = re.compile(r'(?<!!)\[((?:[^\[\]\\]|\\.)*)\]\([^\s)]*(?: "[^"]*")?\)')


def words(markdown: str) -> str:
    """``markdown`` as it is read: terms that are links to the glossary are only their words."""
    return _LINK.sub(r"\1", markdown).replace("\\", "")
