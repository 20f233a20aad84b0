"""What a page's Markdown says to its reader: terms without their links to the glossary, signs without escapes."""

from __future__ import annotations

import re

_LINK = re.compile(r'\[((?:[^\[\]\\]|\\.)*)\]\([^\s)]*/glossary\?term=[^\s)]*(?: "[^"]*")?\)')


def unlinked(markdown: str) -> str:
    """``markdown`` in which terms are only their words; other links stay."""
    return _LINK.sub(lambda link: link.group(1).replace("\\", ""), markdown)


def words(markdown: str) -> str:
    """``markdown`` as it is read: :func:`unlinked`, and without escapes; a space that does not break is a space."""
    return unlinked(markdown).replace("\\", "").replace("\u00a0", " ")
