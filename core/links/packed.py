"""Long texts in a link: deflated, then written in the 64 signs that a URL needs not quote.

English prose becomes little more than half as long, so a link carries some 10,000 characters of it. A text that looks
packed without being so is packed, too: what :func:`carried` writes, :func:`text` reads back, whatever it is.
"""

from __future__ import annotations

import base64
import binascii
import zlib

from core.settings import MAX_LINK_CHARS, MAX_PACKED_CHARS, MAX_TEXT_CHARS

MARK = "deflate:"
_MOST_BYTES = 4 * MAX_TEXT_CHARS
"""UTF-8 writes no character in more than four bytes; what holds more is no text of ours and is not unpacked further."""


def carried(text: str) -> str | None:
    """``text`` as a link carries it; None where it is too long even so.

    A text has at most :data:`core.settings.MAX_LINK_CHARS` characters as it is, :data:`core.settings.MAX_PACKED_CHARS`
    when packed.
    """
    if len(text) <= MAX_LINK_CHARS and not text.startswith(MARK):
        return text
    try:
        data = zlib.compress(text.encode(), 9)
    except UnicodeEncodeError:  # half a character, which no link can carry
        return None
    packed = MARK + base64.urlsafe_b64encode(data).decode().rstrip("=")
    return packed if len(packed) <= MAX_PACKED_CHARS else None


def text(raw: str) -> str:
    """What ``raw``, the value of a link's parameter, says.

    Raises:
        ValueError: it is marked as packed and is not; the end of a sentence for the page.
    """
    if not raw.startswith(MARK):
        return raw
    body = raw.removeprefix(MARK)
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(base64.b64decode(body + "=" * (-len(body) % 4), b"-_", validate=True), _MOST_BYTES)
        found = data.decode()
    except (binascii.Error, ValueError, zlib.error):
        raise ValueError("it is a packed text that cannot be read; copy the link anew") from None
    if not unpacking.eof:
        raise ValueError("it is a packed text that is cut off or too long; copy the link anew")
    return found
