"""The vocabulary of plain byte-pair encoding (Sennrich et al., 2016), learnt from the text that the encoders share.

No model here reads through it; it stands beside the other kinds of tokeniser. As in the paper a word is its letters,
the last of which carries ``</w>``, the mark of the word's end, and the most frequent pair of neighbours becomes one
piece, again and again. What was no letter of the training text is unknown: byte-level BPE was made to avoid that.

Capitals stay. Words end at blanks and marks, where the paper used the Moses tokeniser. The text is that of
``assets/recipes/sources/english.toml`` without what is held out, and the size that of the encoders' WordPiece
vocabulary, so that the two can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from core.tokenizers.known import PLAIN_BPE
from core.training import corpus, recipe

END = "</w>"
"""Closes a word."""
UNKNOWN = "<unk>"
LETTERS = 200
"""The most frequent characters of the text; the rest is unknown, as in the encoders' WordPiece vocabulary."""
_RECIPE = "atlas-bert"
"""Whose text, held-out part and size are taken."""


def train(texts: Iterable[str], size: int) -> Any:
    """A plain BPE tokeniser of at most ``size`` pieces, by the `tokenizers` library."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    tokenizer: Any = Tokenizer(models.BPE(unk_token=UNKNOWN, end_of_word_suffix=END))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix=END)
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[UNKNOWN], limit_alphabet=LETTERS, end_of_word_suffix=END, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def write(folder: Path, output: Path = PLAIN_BPE) -> Path:
    """Learns it from the corpus in ``folder`` and writes it to the file ``output``.

    Raises:
        CorpusError: the folder lacks a file of the text.
    """
    encoder = recipe.load(_RECIPE)
    corpus.check(folder, encoder.sources)
    every = int(encoder.data["hold_out_every"])
    texts = (
        item.text
        for source in encoder.sources
        for item in corpus.read(folder, source, every=every)
        if not item.held_out
    )
    tokenizer = train(texts, int(encoder.data["vocabulary"]))
    output.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(output))
    return output
