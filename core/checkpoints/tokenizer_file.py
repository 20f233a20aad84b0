"""A host's tokenizer: does it work, and could a text keep a processor busy for minutes, or fill the memory?

The library tokenizes in native code that nothing interrupts, and its regular expressions backtrack:
``[a-z]+[a-z]*\\d`` takes a minute for 3,000 letters. So only two sorts of patterns are accepted: those of published
tokenizers, and those whose time grows with the square of a text at most: each alternative has one repetition, and in
at most two something follows it, without which it is tried in vain.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from core.checkpoints.folder import opened, read_json
from core.errors import CheckpointRefused

_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PUBLISHED = (
    r"\s*[\r\n]+",
    r"\s*[\r\n]",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*",
    r" ?[\p{P}\p{S}]+[\r\n]*",
    *(
        rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}{some}{_LOWER}{more}{ending}"
        for some, more in ("*+", "+*")
        for ending in ("", _ENDING)
    ),
)
"""Alternatives of Llama 3, Qwen, DeepSeek, GPT-4o and Mistral with two repetitions, which are quick: what the first
takes the second cannot take, or another alternative takes at once."""

_ATOM = re.compile(r"\\[pP]\{\^?\w+\}|\\[^\W\d_kg]|\\[\W_]|\[(?:\\.|[^\\\[\]])+\]")
_REPEATED = re.compile(r"(?:[*+]|\{\d*,?\d*\})[?+]?")
_MAX_LENGTH, _MAX_PATTERNS, _MAX_OPTIONAL, _MAX_OPEN = 1_000, 16, 4, 2
_MAX_GROWTH = 10_000
_MAX_FILE, _MAX_ADDED = 100_000_000, 10_000
_MAX_WORD = 1_000
"""Characters of a word up to which WordPiece may tokenize, in time that grows with their cube; usually 100."""


def refuse_slow_tokenizer(file: Path) -> None:
    """Raise :class:`CheckpointRefused` for a ``tokenizer.json`` with such a pattern; it need not be there."""
    if not file.exists():
        return
    name = file.parent.name
    with opened(file) as (stream, size):
        if size > _MAX_FILE:
            raise CheckpointRefused(
                f"The tokenizer of “{name}” has {size:,} bytes; at most {_MAX_FILE:,} work. The largest published ones "
                "have half of that."
            )
        content = stream.read()
    try:
        parts: dict[str, Any] = json.loads(content)
        added = len(parts.get("added_tokens") or ())
        patterns = [pattern for key in parts if key != "added_tokens" for pattern in _patterns(parts[key])]
        word = parts["model"].get("max_input_chars_per_word") or 0
        growth = math.prod(_growth(parts.get("normalizer"))) * math.prod(_growth(parts.get("decoder")))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return  # the library says what is wrong with it
    _refuse_many_added(name, added)
    if len(patterns) > _MAX_PATTERNS or any(map(slow, patterns)):
        raise CheckpointRefused(
            f"The tokenizer of “{name}” splits text by a regular expression that can take minutes for one sentence. "
            "Patterns of published tokenizers work, and those with one repetition in each alternative."
        )
    if growth > _MAX_GROWTH:
        raise CheckpointRefused(
            f"The tokenizer of “{name}” replaces text by text that may be more than {_MAX_GROWTH:,} times as long."
        )
    if word > _MAX_WORD:
        raise CheckpointRefused(
            f"The tokenizer of “{name}” takes words of up to {word:,} characters, which can take minutes. Set "
            f"max_input_chars_per_word to {_MAX_WORD:,} or less."
        )


def refuse_many_added_tokens(folder: Path) -> None:
    """Raise :class:`CheckpointRefused` where a further file of a tokenizer adds so many tokens.

    Each added token is compared with every text, and the library registers them one by one, in seconds for thousands.
    """
    for file in ("added_tokens.json", "tokenizer_config.json", "special_tokens_map.json"):
        if (folder / file).exists():
            values = read_json(folder / file)
            lists = (value for value in values.values() if isinstance(value, dict | list))
            _refuse_many_added(folder.name, max(len(values), *map(len, lists), 0))


def _refuse_many_added(name: str, added: int) -> None:
    if added > _MAX_ADDED:
        raise CheckpointRefused(
            f"The tokenizer of “{name}” adds {added:,} tokens to its vocabulary; at most {_MAX_ADDED:,} work. Train a "
            "vocabulary that holds them."
        )


def _patterns(value: object) -> Iterator[str]:
    """Every regular expression in a part of the file; a vocabulary holds none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "Regex":
                yield str(inner)
            elif key not in ("vocab", "merges"):
                yield from _patterns(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _patterns(inner)


def _growth(value: object) -> Iterator[float]:
    """How many times as long each replacement in a part of the file may make a text."""
    if isinstance(value, dict):
        if value.get("type") == "Replace":
            yield max(1, len(value["content"]) / max(1, len(value["pattern"].get("String", ""))))
        for inner in value.values():
            yield from _growth(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _growth(inner)


_PROBE = 'The cats ate 12 fish.\n"É語" \U0010fffd'


def refuse_failing_tokenizer(name: str, encode: Callable[[str], Any], decode: Callable[[Any], object]) -> None:
    """Raise :class:`CheckpointRefused` for a tokenizer that was loaded and fails on a plain text."""
    try:
        decode(encode(_PROBE))
    except BaseException as error:
        if not is_failure(error):
            raise
        raise CheckpointRefused(
            f"The tokenizer of “{name}” fails on a plain text: {str(error)[:200]}. Save it again with save_pretrained."
        ) from None


def is_failure(error: BaseException) -> bool:
    """Whether a library failed. A panic of the tokenizers library is no ordinary exception; those end a run."""
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def slow(pattern: str) -> bool:
    """Whether a regular expression (Oniguruma's syntax) may take more than the square of a text's length."""
    for published in sorted(_PUBLISHED, key=len, reverse=True):
        pattern = re.sub(rf"(^|\|){re.escape(published)}(?=\||$)", r"\1a", pattern)
    reduced, before = pattern, ""
    while reduced != before:  # classes may hold classes
        reduced, before = _ATOM.sub("a", reduced), reduced
    reduced = _REPEATED.sub("*", reduced)
    if len(pattern) > _MAX_LENGTH or set(reduced) & set("\\[]{}"):
        return True
    before = ""
    while reduced != before:  # a group becomes a character with the repetitions and options of what it holds
        reduced, before = (
            re.sub(r"\((?:\?(?:i?:|<?[=!]|>))?(?!\?)([^()?]*(?:\?[^()?]*)*)\)(\*?)", _flat, reduced),
            reduced,
        )
    parts = reduced.split("|")
    if set(reduced) & set("()") or sum("*" in part[:-1] for part in parts) > _MAX_OPEN:
        return True
    return any(part.count("*") > 1 or part.count("?") > _MAX_OPTIONAL for part in parts)


def _flat(group: re.Match[str]) -> str:
    inside, repeated = group.groups()
    stars = "*" * (inside.count("*") + 2 * bool(repeated))
    return "a" + "?" * inside.count("?") + stars + "a" * ("*" in inside[:-1])
