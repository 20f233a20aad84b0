"""The vocabulary of plain byte-pair encoding (Sennrich et al., 2016), learnt from the text that the encoders share.

No model here reads through it; it stands beside the other kinds of tokeniser. As in the paper a word is its letters,
the last of which carries ``</w>``, the mark of the word's end, and the most frequent pair of neighbours becomes one
piece, again and again. What was no letter of the training text is unknown: byte-level BPE was made to avoid that.

Capitals stay. Words end at blanks and marks, where the paper used the Moses tokeniser. The text is that of
``assets/recipes/sources/english.toml`` without what is held out, and the size that of the encoders' WordPiece
vocabulary, so that the two can be compared.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

from core.tokenizers.known import PLAIN_BPE
from core.training import corpus, recipe

END = "</w>"
"""Closes a word."""
UNKNOWN = "<unk>"
LETTERS = 200
"""The most frequent characters of the text; the rest is unknown, as in the encoders' WordPiece vocabulary."""
_RECIPE = "atlas-bert"
"""Whose text, held-out part and size are taken."""


def train(texts: Callable[[], Iterable[str]], size: int) -> Any:
    """A plain BPE tokeniser of at most ``size`` pieces, by the `tokenizers` library.

    Equal counts are told apart by the numbers of the pieces. The library numbers letters that end words as it meets
    them, which is another order in every process; here they are numbered beforehand, so that a run can be repeated.

    Args:
        texts: gives all texts, anew each time it is called.
    """
    from tokenizers import models

    counts = Counter(letter for text in texts() for letter in normalize("NFC", text) if not letter.isspace())
    letters = sorted(counts, key=lambda letter: (-counts[letter], letter))[:LETTERS]
    ends = sorted(piece for piece in _learn(texts(), 1, letters, ())["vocab"] if piece.endswith(END))
    learnt = _learn(texts(), size, letters, ends)
    joins = [(str(left), str(right)) for left, right in learnt["merges"]]
    return _around(models.BPE(learnt["vocab"], joins, unk_token=UNKNOWN, end_of_word_suffix=END))


def _learn(texts: Iterable[str], size: int, letters: Sequence[str], ends: Sequence[str]) -> dict[str, Any]:
    """``vocab`` and ``merges``; a size of 1 learns no join."""
    from tokenizers import models, trainers

    tokenizer = _around(models.BPE(unk_token=UNKNOWN, end_of_word_suffix=END))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[UNKNOWN, *ends],
        initial_alphabet=list(letters),
        limit_alphabet=len(letters),
        end_of_word_suffix=END,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    learnt: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return learnt


def _around(model: Any) -> Any:
    """A tokeniser with this model: words end at blanks and marks."""
    from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers

    tokenizer: Any = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix=END)
    return tokenizer


def write(folder: Path, output: Path = PLAIN_BPE) -> Path:
    """Learns it from the corpus in ``folder`` and writes it to the file ``output``.

    Raises:
        CorpusError: the folder lacks a file of the text.
    """
    encoder = recipe.load(_RECIPE)
    corpus.check(folder, encoder.sources)
    every = int(encoder.data["hold_out_every"])

    def texts() -> Iterable[str]:
        for source in encoder.sources:
            yield from (item.text for item in corpus.read(folder, source, every=every) if not item.held_out)

    tokenizer = train(texts, int(encoder.data["vocabulary"]))
    output.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(output))
    return output
