"""Sentences with dependency trees, read from CoNLL-U and validated.

In Universal Dependencies every word but the root depends on another word, its head, by a named relation. A file has a
line of ten columns for each word (https://universaldependencies.org/format.html). Two other kinds of lines occur: a
range such as ``3-4`` is a token of two words ("don't"), of which the words are read here; an empty node such as ``8.1``
is an elided word, and is skipped.

The format has no coreference. Here ``Coref=1`` in the last column marks the head word of a mention, and mentions of a
sentence with the same number corefer.

Words count from 0 in everything that is returned. Reading imports neither torch nor transformers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conllu import TokenList, parse_incr
from conllu.exceptions import ParseException

from core.errors import TreebankRefused
from core.settings import ASSETS

SHIPPED = ASSETS / "treebank" / "atlas.conllu"
"""The treebank that was written for the Atlas."""

RELATIONS = frozenset(
    {
        *("acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj"),
        *("cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj"),
        *("list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct"),
        *("reparandum", "root", "vocative", "xcomp"),
    }
)
"""The relations of Universal Dependencies, version 2; a subtype follows a colon (``aux:pass``)."""

UPOS = frozenset(
    {
        *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT"),
        *("SCONJ", "SYM", "VERB", "X"),
    }
)
"""The parts of speech of Universal Dependencies."""

ROOT = -1


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of n words; every tuple but ``clusters`` has n entries."""

    sent_id: str
    words: tuple[str, ...]
    upos: tuple[str, ...]
    heads: tuple[int, ...]
    """The head of each word, from 0; :data:`ROOT` for the root."""
    relations: tuple[str, ...]
    spaces_after: tuple[bool, ...]
    clusters: tuple[tuple[int, ...], ...] = ()
    """The head words of each coreference cluster's mentions, in text order."""

    @property
    def text(self) -> str:
        """The sentence as it is written."""
        return "".join(w + " " * s for w, s in zip(self.words, self.spaces_after, strict=True)).rstrip()

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The (start, end) of each word in ``text``."""
        spans, at = [], 0
        for word, space in zip(self.words, self.spaces_after, strict=True):
            spans.append((at, at + len(word)))
            at += len(word) + space
        return tuple(spans)


def files(path: Path) -> tuple[Path, ...]:
    """``path`` itself where it is a file; the ``.conllu`` files of a folder, in the order of their names.

    Raises:
        TreebankRefused: there is no such file or folder, or no treebank in the folder.
    """
    if path.is_file():
        return (path,)
    if not path.is_dir():
        raise TreebankRefused(f"There is no file or folder {path}. Name a .conllu file, or a folder of such files.")
    paths = tuple(sorted(path.glob("*.conllu")))
    if not paths:
        raise TreebankRefused(f"The folder {path} has no file that ends in .conllu.")
    return paths


def read_treebank(path: Path) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file, one at a time, each checked.

    Raises:
        TreebankRefused: the file cannot be read, is not CoNLL-U, or a sentence is not a valid tree; the message names
            the file, the sentence and the reason.
    """
    last = ""
    try:
        with path.open(encoding="utf-8") as file:
            for tokens in parse_incr(file):
                sentence = _sentence(tokens, f"{path.name}, {tokens.metadata.get('sent_id') or _after(last)}")
                last = sentence.sent_id
                yield sentence
    except OSError as error:
        raise TreebankRefused(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise TreebankRefused(f"{path} is not text in UTF-8, so it is no CoNLL-U file.") from None
    except ParseException as error:
        raise TreebankRefused(f"{path.name}, {_after(last)}: this is no CoNLL-U ({error}).") from None
    if not last:
        raise TreebankRefused(f"{path} holds no sentence.")


def _after(sent_id: str) -> str:
    return f"the sentence after {sent_id}" if sent_id else "the first sentence"


def count(path: Path) -> int:
    """The number of sentences in a file, counted by their words with the number 1."""
    with path.open("rb") as file:
        return sum(line.startswith(b"1\t") for line in file)


def _sentence(tokens: TokenList, location: str) -> Sentence:
    """The sentence of these lines; errors begin with ``location``."""

    def refuse(reason: str) -> None:
        raise TreebankRefused(f"{location}: {reason}" + "." * (reason[-1] != "?"))

    if any(token["id"] is None for token in tokens):
        refuse("a line has no number")
    rows: list[Any] = [token for token in tokens if isinstance(token["id"], int)]
    if not rows:
        refuse("no line describes a word; is this a CoNLL-U file?")
    for number, row in enumerate(rows, 1):
        if len(row) < 10:
            refuse(f"word {number} has {len(row)} of the ten columns")
        if row["id"] != number:
            refuse(f"the words are not numbered one after another (word {number} has the number {row['id']})")
        if row["upos"] not in UPOS:
            refuse(f"“{row['form']}” has the part of speech {row['upos']}, which is not in Universal Dependencies")
        if str(row["deprel"]).split(":")[0] not in RELATIONS:
            refuse(f"“{row['form']}” has the relation {row['deprel']}, which is not in Universal Dependencies")
        if row["head"] is None or not 0 <= row["head"] <= len(rows):
            refuse(f"“{row['form']}” has a head that is not in the sentence")
        if (row["head"] == 0) != (row["deprel"] == "root"):
            refuse(f"“{row['form']}” is a root by its head or by its relation, but not by both")
    roots = [row["form"] for row in rows if row["head"] == 0]
    if len(roots) != 1:
        refuse(f"there are {len(roots)} roots, not one")
    heads = [row["head"] - 1 for row in rows]
    if (start := _cycle(heads)) is not None:
        refuse(f"the heads form a cycle at “{rows[start]['form']}”")
    sentence = Sentence(
        str(tokens.metadata.get("sent_id", "")),
        tuple(str(row["form"]) for row in rows),
        tuple(str(row["upos"]) for row in rows),
        tuple(heads),
        tuple(str(row["deprel"]) for row in rows),
        _spaces(tokens, len(rows)),
        _clusters(rows, refuse),
    )
    if not sentence.sent_id:
        refuse("there is no line “# sent_id = ...”")
    if sentence.text != (stated := " ".join(str(tokens.metadata.get("text", "")).split())):
        refuse(f"the words make “{sentence.text}”, but “# text” says “{stated}”")
    return sentence


def _cycle(heads: list[int]) -> int | None:
    """A word that is on or below a cycle of heads; None without a cycle."""
    for start in range(len(heads)):
        at = start
        for _ in heads:
            at = heads[at]
            if at == ROOT:
                break
        else:
            return start
    return None


def _spaces(tokens: TokenList, words: int) -> tuple[bool, ...]:
    """Whether a space follows each word; within a range none does, after it its ``SpaceAfter`` counts."""
    spaces = [True] * words
    for token in tokens:
        wide = (token.get("misc") or {}).get("SpaceAfter") != "No"
        if isinstance(token["id"], int):
            spaces[token["id"] - 1] &= wide
        elif token["id"][1] == "-":
            first, _, last = token["id"]
            spaces[first - 1 : last] = [False] * (last - first) + [wide]
    return tuple(spaces)


def _clusters(rows: list[Any], refuse: Callable[[str], None]) -> tuple[tuple[int, ...], ...]:
    clusters: defaultdict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        if (name := (row["misc"] or {}).get("Coref")) is not None:
            clusters[name].append(index)
    for name, mentions in clusters.items():
        if len(mentions) < 2:
            refuse(f"“{rows[mentions[0]]['form']}” is the only mention with Coref={name}, so it refers to no other")
    return tuple(tuple(mentions) for mentions in clusters.values())
