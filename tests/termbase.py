"""The term base: words of ours that a page must not show, each with the term that the field has for it.

A pattern is as narrow as it has to be so that stories, treebanks and what a model generates pass: it looks for our
phrases, not for English words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Any

INSTEAD: dict[str, str] = {
    r"(?:hidden|masked|asked|which|each|every|these|those|same|other|earlier|later|two|three|four|five|\d+) places?\b"
    r"(?! of| where)": "position",
    r"(?<!does bert )look(?:s|ing)? (?:at|back|ahead)\b": "attend to, attends to",
    r"(?:token|key|column|position|head|row|text)s? (?:that is |that are )?looked at\b": "attended to",
    r"(?:is|are|was|were|be) asked (?:of|at|from)\b": "is predicted from",
    r"asked (?:position|place|token|word)s?\b": "prediction targets, positions with a loss",
    r"what (?:it|the model) is asked\b": "what the model predicts",
    r"(?:the model's|its (?:best|first|top)|the model) guess(?:es)?\b": "prediction",
    r"(?:hide|hides|hidden|hiding) (?:a |the |some |more |these |its )?(?:words?|tokens?|places?)\b": "mask",
    r"(?:words?|tokens?) (?:is |are |were )?hidden\b": "masked tokens",
    r"(?<!asks for )damage(?:d)?\b(?!=)|damaging\b": "corrupt, corruption",
    r"mend(?:s|ed|ing)?\b|set right\b": "reconstruct, denoise",
    r"(?:one|a|your|two|this) beginnings?\b": "prompt, prefix",
    r"(?:the beginning|a text) is (?:written|gone) on\b|writes? on\b|writing on\b": "generate, continue",
    r"goes? on (?:from|writing)\b": "continues",
    r"cut into (?:pieces|tokens|words)\b": "tokenized",
    r"(?:the|total|mean|average) surprise\b": "surprisal",
    r"dice\b": "sample, random seed",
    r"(?:the|a|its|own) (?:trunk|skeleton)\b(?! of an? (?:tree|elephant))": "backbone, base model",
    r"word matri(?:x|ces)\b": "embedding matrix",
    r"turned (?:on its side|by their|by an angle)\b|(?:are|is) turned by\b": "rotated; transposed",
    r"numbers (?:remembered|kept) for\b": "KV-cache size per token",
    r"numbers of a (?:head|token|word|vector|query|key|value)\b": "dimension, values",
    r"squares of (?:an|the) image\b|image is cut into squares\b": "image patches",
    r"sums exchanged\b": "all-reduces",
    r"graphics cards?\b": "GPUs",
    r"texts at a time\b|tensor ways\b": "micro-batch size; tensor-parallel degree",
    r"(?:on|for|keeps for) the way back\b": "for the backward pass",
    r"(?:what|than|as|of|between|two) strangers\b": "anisotropy baseline",
    r"the stream behind\b|goes past the attention\b": "residual stream",
    r"heads? (?:is |are )?switched off\b|switch(?:ed|es)? off (?:a |the |all |these )?heads?\b": "ablate",
    r"ready (?:words|weights|sentences)\b|lies? ready\b": "examples, presets",
    r"learned from nothing\b": "trained from scratch",
    r"blanks put in\b|put in blanks\b": "spaces inserted",
    r"comes? back exactly\b": "lossless round trip",
    r"at the desk\b": "precomputed",
    r"elmo's mix\b": "scalar mix (ELMo)",
    r"what is minimi[sz]ed\b": "training loss",
    r"the zoo\b": "Models",
    r"\d+ in a hundred\b|out of a hundred\b": "84.0%",
    r"\d[ \u00a0]%": "2.0%",
    r"who (?:may|can) (?:look|see)\b|who sees whom\b|nobody sees\b": "attention mask; no token attends to",
    r"(?:tokens?|heads?|layers?|masks?|quer(?:y|ies)|decoders?|encoders?|rows?) (?:can |may |cannot |never |only )*"
    r"(?:sees?|hears?|judges?|believes?|thinks?|wants?)\b": "attends to; classifies; predicts",
    r"every so manieth\b": "every d-th (dilation)",
    r"until news arrives\b": "layers needed for information to reach a position",
    r"take away\b|save the picture\b|this table \(csv\)": "Download",
    r"(?:no line lit|numbers are lines|question before|everything that fits|nothing here fits)\b": "see the term base",
    r"(?:as the source has it|what holds|how one can see it|slips of the hand)\b": "Claim, Correct, Evidence, Typos",
    r"not found in a text that was read\b": "not found by us",
    r"a further token\b": "each extra token",
    r"by powers of ten\b|(?:cut|read) and answered by\b": "log; tokenized and answered by",
}
_EACH = tuple((re.compile(pattern), re.compile(rf"\b(?:{pattern})"), term) for pattern, term in INSTEAD.items())
"""Each alone, and first without the boundary: so it is searched by its first letters, several times as fast."""


def private(text: str) -> Iterator[tuple[str, str]]:
    """Each phrase of ours in a text, with its surroundings in small letters, and the term that should stand there."""
    text = text.lower()
    for phrase, full, term in _EACH:
        for match in phrase.finditer(text):
            if full.match(text, match.start()):
                yield text[max(0, match.start() - 50) : match.end() + 40].replace("\n", " "), term


_ENDS = re.compile(r'[<>\n.;:!?|"{}\[\]]+')
_NUMBER = re.compile(r"\d+")
_UNREAD = re.compile('must be one of.*|“[^”]*”|(?:href|title)="[^"]*"|"query": "[^"]*"')


def pieces(text: str) -> Iterator[str]:
    """The parts of a text between marks that no phrase of ours spans, all numbers 0: pages differ in few of them.

    Addresses and names of links are left out, and what stands in “…”, which may be a visitor's or a model's.
    """
    return iter(_ENDS.split(_NUMBER.sub("0", _UNREAD.sub("“…”", unescape(text)))))


def check(texts: Iterable[str], where: str) -> None:
    """Fail where a text holds a phrase of ours.

    Args:
        where: what the message calls the source of the texts.
    """
    wrong = [f"{around!r}: {term}" for around, term in private("\n".join(texts))]
    assert not wrong, f"{where} shows words that the field has a term for:\n" + "\n".join(dict.fromkeys(wrong))


_SILENT = frozenset({"id", "key", "form_id", "url", "element_id", "value", "default", "raw_values", "query"})
"""Fields of an element that nobody reads, or that hold what a visitor typed."""


def strings(message: Any) -> Iterator[str]:
    """Every text of a Streamlit element that its reader can see: labels, options, Markdown, HTML, figures."""
    for field, value in message.ListFields():
        if field.name in _SILENT or field.type not in (field.TYPE_STRING, field.TYPE_MESSAGE):
            continue
        for part in value if field.is_repeated else (value,):
            if field.type == field.TYPE_MESSAGE:
                yield from strings(part)
            elif " " in part:
                yield part


def shown(node: Any) -> Iterator[str]:
    """Every text of an AppTest's tree."""
    for child in getattr(node, "children", {}).values():
        yield from shown(child)
    if getattr(node, "proto", None) is not None and hasattr(node.proto, "ListFields"):
        yield from strings(node.proto)
