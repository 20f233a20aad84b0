"""Trains the models' tokenizers with the `tokenizers` library and saves them."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers.convert_slow_tokenizer import bytes_to_unicode

from core.lazy import transformers
from core.tokenizers.known import PLAIN_BPE
from lab import corpus, recipe
from lab.tokens import Ints

BERT = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
"""Special tokens by their names in transformers, in the order of their ids."""
BART = {
    "bos_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
XLM = {
    "bos_token": "<s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "mask_token": "[MASK]",
}
T5 = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
M2M = {"bos_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
END = "<|endoftext|>"
"""The first and last token of a decoder's text."""
GPT = {"bos_token": END, "eos_token": END, "unk_token": END}


class Vocabulary:
    """A BERT tokenizer's special tokens, and which tokens continue a word."""

    def __init__(self, tokenizer: Any) -> None:
        vocab: dict[str, int] = tokenizer.get_vocab()
        self.pad, _, self.begin, self.end, self.mask = ids = [vocab[name] for name in BERT.values()]
        self.special = np.zeros(len(vocab), dtype=bool)
        self.special[ids] = True
        self.continues = np.zeros(len(vocab), dtype=bool)
        self.continues[[index for piece, index in vocab.items() if piece.startswith("##")]] = True

    def framed(self, *segments: Ints) -> Ints:
        """``[CLS]``, then each segment with ``[SEP]``."""
        return np.concatenate([[self.begin], *(part for segment in segments for part in (segment, [self.end]))])


def _framed(tokenizer: Any, single: str, pair: str = "") -> Any:
    """The tokenizer, with a template of special tokens for a text, and for a pair of texts."""
    names = {part.partition(":")[0] for part in f"{single} {pair}".split() if not part.startswith("$")}
    special = [(name, tokenizer.token_to_id(name)) for name in sorted(names)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, special_tokens=special, **({"pair": pair} if pair else {})
    )
    return tokenizer


def wordpiece(texts: Iterable[str], size: int, special: Mapping[str, str] = BERT) -> Any:
    """Uncased WordPiece (Schuster & Nakajima, 2012) with the normalization and template of BERT, or of XLM.

    The library numbers the characters inside words in an order that differs between processes, and breaks ties of
    counts by those numbers; here they are numbered beforehand, so that training is reproducible.
    """
    kept, named = list(texts), list(special.values())

    def trained(most: int, inside: Sequence[str] = ()) -> Any:
        tokenizer: Any = Tokenizer(models.WordPiece(unk_token=special["unk_token"]))
        accents = None if special is BERT else False  # XLM keeps those of French
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True, strip_accents=accents)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(
            vocab_size=most, special_tokens=[*named, *inside], limit_alphabet=200, show_progress=False
        )
        tokenizer.train_from_iterator(kept, trainer)
        return tokenizer

    tokenizer = trained(1)
    inside = sorted(piece for piece in tokenizer.get_vocab() if piece.startswith("##"))
    tokenizer.model = models.WordPiece(trained(size, inside).get_vocab(), unk_token=special["unk_token"])
    if "cls_token" in special:
        return _framed(tokenizer, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")
    return _framed(tokenizer, "</s> $A </s>", "</s> $A </s> </s> $B </s>")


def byte_bpe(texts: Iterable[str], size: int, special: Sequence[str] = (), *, bart: bool = False) -> Any:
    """Byte-level BPE (Radford et al., 2019) with `END` and further ``special`` tokens, or with BART's template."""
    tokenizer: Any = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=bart)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(BART.values()) if bart else [END, *special],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _framed(tokenizer, "<s> $A </s>", "<s> $A </s> </s> $B </s>") if bart else tokenizer


def bart_bpe(texts: Iterable[str], size: int) -> Any:
    """Byte-level BPE with BART's special tokens and a space before each text."""
    return byte_bpe(texts, size, bart=True)


ENCODERS: dict[str, Callable[[Iterable[str], int], Any]] = {"wordpiece": wordpiece, "byte-bpe": bart_bpe}
"""By their names in recipes."""


def byte_lengths(tokenizer: Any, special: Sequence[str] = ()) -> Ints:
    """Bytes of each token, 0 for special ones. A byte-level token has one character per byte."""
    lengths = np.zeros(tokenizer.get_vocab_size(), dtype=np.int64)
    for piece, index in tokenizer.get_vocab().items():
        lengths[index] = 0 if piece == END or piece in special else len(piece)
    return lengths


def single_bytes(special: Sequence[str], close: str = "") -> Any:
    """One token per byte, in order, after the ``special`` ones; ``close`` ends each text."""
    letters = bytes_to_unicode()
    vocabulary = [*special, *(letters[byte] for byte in range(256))]
    tokenizer: Any = Tokenizer(models.BPE(vocab={piece: i for i, piece in enumerate(vocabulary)}, merges=[]))
    tokenizer.add_special_tokens(list(special))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    return _framed(tokenizer, f"$A {close}") if close else tokenizer


def unigram(
    texts: Iterable[str],
    size: int,
    added: Sequence[str],
    special: Mapping[str, str] = T5,
    *,
    decoded: bool = True,
    marks: Sequence[str] = (),
) -> Any:
    """A Unigram tokenizer (Kudo, 2018) with ``added`` tokens (prefixes, languages); ``</s>`` ends each text.

    Args:
        decoded: whether decoding without special tokens outputs the added tokens.
        marks: further added tokens (sentinels), which include the space before them.
    """
    tokenizer: Any = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=size - len(added) - len(marks),
        special_tokens=list(special.values()),
        unk_token=special["unk_token"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=not decoded) for text in added])
    tokenizer.add_tokens([AddedToken(text, normalized=False, lstrip=True) for text in marks])
    return _framed(tokenizer, "$A </s>")


def ship_tokenizer(tokenizer: Any, folder: Path, positions: int, **named: Any) -> None:
    """Save a tokenizer for transformers; ``named`` are its special tokens by their names there."""
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=positions, clean_up_tokenization_spaces=False, **named
    ).save_pretrained(folder)


# Plain BPE (Sennrich et al., 2016), for comparison with the other kinds of tokenizer; no model uses it. As in the
# paper, a word is its characters, the last with ``</w>``, and the most frequent adjacent pair is merged, again and
# again. Other characters than those of the training text are unknown, which byte-level BPE avoids. Case is preserved;
# words end at spaces and punctuation, where the paper used the Moses tokenizer.

WORD_END = "</w>"
UNKNOWN = "<unk>"
LETTERS = 200
"""How many characters are in the vocabulary, the most frequent ones, as in the encoders' WordPiece vocabulary."""


def plain_bpe(texts: Callable[[], Iterable[str]], size: int) -> Any:
    """A plain BPE tokenizer with at most ``size`` tokens.

    Ties of counts are broken by token ids. The library assigns ids to word-final characters in an order that differs
    between processes; here they are assigned beforehand, so that training is reproducible.

    Args:
        texts: returns an iterator over all texts.
    """
    counts = Counter(letter for text in texts() for letter in normalize("NFC", text) if not letter.isspace())
    letters = sorted(counts, key=lambda letter: (-counts[letter], letter))[:LETTERS]
    ends = sorted(piece for piece in _learn(texts(), 1, letters, ())["vocab"] if piece.endswith(WORD_END))
    learned = _learn(texts(), size, letters, ends)
    merges = [(str(left), str(right)) for left, right in learned["merges"]]
    return _plain(models.BPE(learned["vocab"], merges, unk_token=UNKNOWN, end_of_word_suffix=WORD_END))


def _learn(texts: Iterable[str], size: int, letters: Sequence[str], ends: Sequence[str]) -> dict[str, Any]:
    """``vocab`` and ``merges``; a size of 1 learns no merge."""
    tokenizer = _plain(models.BPE(unk_token=UNKNOWN, end_of_word_suffix=WORD_END))
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[UNKNOWN, *ends],
        initial_alphabet=list(letters),
        limit_alphabet=len(letters),
        end_of_word_suffix=WORD_END,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    learned: dict[str, Any] = json.loads(tokenizer.to_str())["model"]
    return learned


def _plain(model: Any) -> Any:
    """A tokenizer of ``model`` with NFC normalization and BERT's pre-tokenizer."""
    tokenizer: Any = Tokenizer(model)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.BPEDecoder(suffix=WORD_END)
    return tokenizer


def write_plain_bpe(folder: Path) -> Path:
    """Train plain BPE on the corpus in ``folder`` and write it to `PLAIN_BPE`.

    Text, split and size are those of the recipe that its card names as ``like``, an encoder's with WordPiece, so that
    the two can be compared.

    Raises:
        CorpusError: the folder lacks a file of the text.
    """
    encoder = recipe.load(tomllib.loads(PLAIN_BPE.with_name("card.toml").read_text(encoding="utf-8"))["like"])
    corpus.check(folder, encoder.sources)
    every = int(encoder.data["hold_out_every"])

    def texts() -> Iterable[str]:
        for source in encoder.sources:
            yield from (item.text for item in corpus.items_of(folder, source, every=every) if not item.held_out)

    tokenizer = plain_bpe(texts, int(encoder.data["vocabulary"]))
    tokenizer.save(str(PLAIN_BPE))
    return PLAIN_BPE
