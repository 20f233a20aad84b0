"""Text as documents of sentences: tokenised once, kept on disk, read through memory maps.

Sentences are written end to end in the order of the corpus. A *chunk* is a run of sentences of one document that fits
into its target: half of the targets are the whole width, the others spread evenly below it, so that a model sees
short texts too. Lines of a source that does not cut its paragraphs do not belong together; they are joined a few
at a time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from core.training import corpus
from core.training.batches import Ints, Ragged, RaggedWriter
from core.training.corpus import Item
from core.training.recipe import SourceFile

SHORTEST = 12
"""Smallest target of a chunk, in tokens."""
SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
"""BERT's special tokens by the names that transformers gives them; the ids follow this order."""
BART_SPECIAL = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
"""BART's and RoBERTa's, likewise."""
_AT_ONCE = 4096

T = TypeVar("T")


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of ``size`` items, the last one shorter."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part


@dataclass(frozen=True, slots=True)
class Documents:
    """Sentences and their chunks; n chunks."""

    sentences: Ragged
    bounds: Ints
    """(n, 4): first sentence, one past the last, one past the document's last, target in tokens."""
    source: Ints
    """(n,) number of the source in the recipe."""
    document: Ints
    """(n,) number of the document, or -1 where the sentences do not belong together."""

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> Ints:
        """(n,) tokens of each chunk."""
        offsets = self.sentences.offsets
        return np.asarray(offsets[self.bounds[:, 1]] - offsets[self.bounds[:, 0]], dtype=np.int64)

    def text(self, first: int, last: int) -> Ints:
        """Token ids of the sentences from ``first`` up to ``last`` (not included)."""
        offsets = self.sentences.offsets
        return np.asarray(self.sentences.flat[offsets[first] : offsets[last]], dtype=np.int64)

    def chunk(self, index: int) -> Ints:
        """Token ids of one chunk."""
        return self.text(int(self.bounds[index, 0]), int(self.bounds[index, 1]))

    @classmethod
    def load(cls, stem: Path) -> Documents:
        """Maps what `write` wrote; raises FileNotFoundError where it is missing."""
        arrays = (np.load(stem.with_suffix(f".{name}.npy")) for name in ("bounds", "source", "document"))
        return cls(Ragged.load(stem), *arrays)


class DocumentsWriter:
    """Writes one side of the split, sentence by sentence."""

    def __init__(self, stem: Path, room: int, seed: int) -> None:
        self.stem, self.room = stem, room
        self.rows = RaggedWriter(stem)
        self._rng = np.random.default_rng(seed)
        self._bounds: list[tuple[int, int, int, int]] = []
        self._source: list[int] = []
        self._document: list[int] = []
        self._sentences = self._documents = 0

    def __enter__(self) -> DocumentsWriter:
        self.rows.__enter__()
        return self

    def add(self, sentences: list[list[int]], source: int, together: bool, group: int) -> None:
        """Appends a document, or lines that do not belong together; a sentence is cut to the room of a chunk."""
        kept = [ids[: self.room] for ids in sentences if ids]
        self.rows.add([token for ids in kept for token in ids], [len(ids) for ids in kept])
        begin, end = self._sentences, self._sentences + len(kept)
        self._sentences = end
        at = 0
        while at < len(kept):
            whole = not together or self._rng.random() < 0.5
            target = self.room if whole else int(self._rng.integers(SHORTEST, self.room))
            size, stop = len(kept[at]), at + 1
            most = len(kept) if together else min(len(kept), at + group)
            while stop < most and size + len(kept[stop]) <= target:
                size += len(kept[stop])
                stop += 1
            ended = stop == len(kept) or not together
            self._bounds.append((begin + at, begin + stop, end, size if ended else max(target, size)))
            self._source.append(source)
            self._document.append(self._documents if together else -1)
            at = stop
        self._documents += 1

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self.rows.__exit__(kind, *rest)
        if kind is None:
            for name, values in (
                ("bounds", np.array(self._bounds, dtype=np.int64).reshape(-1, 4)),
                ("source", np.array(self._source, dtype=np.int64)),
                ("document", np.array(self._document, dtype=np.int64)),
            ):
                np.save(self.stem.with_suffix(f".{name}.npy"), values)


def pieces(folder: Path, source: SourceFile, *, every: int) -> Iterator[list[Item]]:
    """Documents of a source, at most some thousand sentences at a time; lines that are not cut come so, too."""
    items = corpus.read(folder, source, every=every)
    for _, document in groupby(items, key=lambda item: (item.held_out, item.document or source.sentences * item.line)):
        yield from batched(document, _AT_ONCE)


def wordpiece(texts: Iterable[str], size: int) -> Any:
    """An uncased WordPiece tokeniser (Schuster & Nakajima, 2012) with BERT's rules and special tokens."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer: Any = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk_token"]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=special, limit_alphabet=200, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


def byte_bpe(texts: Iterable[str], size: int) -> Any:
    """A byte-level BPE tokeniser (Radford et al., 2019) with BART's special tokens, a space before every text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    special = list(BART_SPECIAL.values())
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


TOKENIZERS: dict[str, Callable[[Iterable[str], int], Any]] = {"wordpiece": wordpiece, "byte-bpe": byte_bpe}


def write(
    folder: Path,
    sources: tuple[SourceFile, ...],
    tokenizer: Any,
    stem: Path,
    *,
    every: int,
    width: int,
    held_out: bool,
) -> None:
    """Tokenises one side of the split into the files that `Documents.load` maps; arguments as for `prepare`."""
    with DocumentsWriter(stem, width - 3, int(held_out)) as out:
        for number, source in enumerate(sources):
            for document in pieces(folder, source, every=every):
                if document[0].held_out == held_out:
                    made = tokenizer.encode_batch_fast([item.text for item in document], add_special_tokens=False)
                    out.add([encoding.ids for encoding in made], number, source.sentences, source.group)


def prepare(
    folder: Path,
    sources: tuple[SourceFile, ...],
    root: Path,
    *,
    every: int,
    vocabulary: int,
    width: int,
    kind: str = "wordpiece",
) -> tuple[Any, Documents, Documents]:
    """The tokeniser, the training side and the held-out side; taken from ``root`` where they were made before.

    Args:
        folder: the corpus.
        sources: what is read; recipes that read the same share the result.
        root: where results are kept.
        every: one document in so many is held out (`core.training.corpus.held_out`).
        vocabulary: pieces of the tokeniser.
        width: positions of the model; a chunk leaves room for ``[CLS]`` and two ``[SEP]``.
        kind: of the tokeniser, one of `TOKENIZERS`.
    """
    from tokenizers import Tokenizer

    spread = repr([(s.file, s.first, s.last, s.sentences, s.group) for s in sources])
    what = (spread, every, vocabulary, width, *([] if kind == "wordpiece" else [kind]))
    key = hashlib.blake2b(repr(what).encode(), digest_size=6).hexdigest()
    stem = root / key
    if not (stem / "done").is_file():
        stem.mkdir(parents=True, exist_ok=True)
        tokenizer = TOKENIZERS[kind](
            (item.text for source in sources for item in corpus.read(folder, source, every=every) if not item.held_out),
            vocabulary,
        )
        tokenizer.save(str(stem / "tokenizer.json"))
        for side in ("train", "test"):
            write(folder, sources, tokenizer, stem / side, every=every, width=width, held_out=side == "test")
        (stem / "done").touch()
    return (
        Tokenizer.from_file(str(stem / "tokenizer.json")),
        Documents.load(stem / "train"),
        Documents.load(stem / "test"),
    )
