"""A log without visitors' texts: an exception's message may quote one."""

from __future__ import annotations

import logging
import traceback


def leave_texts_out_of_logs() -> None:
    """Log an exception as its type and traceback only: its message may contain a visitor's text."""
    make = logging.getLogRecordFactory()

    def record(*words: object, **named: object) -> logging.LogRecord:
        entry = make(*words, **named)
        if entry.exc_info and entry.exc_info[1]:
            entry.exc_text = _without_message(entry.exc_info[1])
        return entry

    logging.setLogRecordFactory(record)


def _without_message(error: BaseException) -> str:
    """The traceback of an exception and of its causes, ready for a log formatter."""
    earlier = error.__cause__ or error.__context__
    before = f"{_without_message(earlier)}\nthen\n" if earlier else ""
    return f"{before}{''.join(traceback.format_tb(error.__traceback__))}{type(error).__qualname__}"
