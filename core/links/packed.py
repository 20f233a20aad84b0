"""Long texts in a link: deflated, then encoded in URL-safe base64.

English prose becomes little more than half as long, so a link carries some 10,000 characters of it. A text that begins
like a packed one is packed, too, so that :func:`text` inverts :func:`carried` for every text.
"""

from __future__ import annotations

import base64
import binascii
import zlib

from core.settings import MAX_LINK_CHARS, MAX_PACKED_CHARS, settings

MARK = "deflate:"


def carried(text: str) -> str | None:
    """``text`` as a link carries it; None where it is too long.

    The limits are :data:`core.settings.MAX_LINK_CHARS` characters unpacked, :data:`core.settings.MAX_PACKED_CHARS`
    packed.
    """
    if len(text) <= MAX_LINK_CHARS and not text.startswith(MARK):
        return text
    try:
        data = zlib.compress(text.encode(), 9)
    except UnicodeEncodeError:  # a lone surrogate, which no link can carry
        return None
    packed = MARK + base64.urlsafe_b64encode(data).decode().rstrip("=")
    return packed if len(packed) <= MAX_PACKED_CHARS else None


def text(raw: str) -> str:
    """The text of ``raw``, the value of a link's parameter.

    Raises:
        ValueError: it is marked as packed but cannot be unpacked; the message ends a sentence of the page.
    """
    if not raw.startswith(MARK):
        return raw
    body = raw.removeprefix(MARK)
    unpacking = zlib.decompressobj()
    most = 4 * settings().max_chars  # bytes of UTF-8: a longer result is no text of ours
    try:
        data = unpacking.decompress(base64.b64decode(body + "=" * (-len(body) % 4), b"-_", validate=True), most)
        unpacked = data.decode()
    except (binascii.Error, ValueError, zlib.error):
        raise ValueError("it is a packed text that cannot be read; copy the link anew") from None
    if not unpacking.eof:
        raise ValueError("it is a packed text that is cut off or too long; copy the link anew")
    return unpacked
