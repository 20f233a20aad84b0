"""The tokens of a training: characters, bytes, or a byte-level BPE learned on the text (Sennrich et al. 2016)."""

from __future__ import annotations

from collections import Counter

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from core.lazy import transformers
from core.training.setup import ENTRIES, Objective, Setup

_MOST_CHARACTERS = 2_000
"""The commonest; of a text in Chinese all others are unknown."""
SENTINELS = 20
"""More than a row has spans: 15% of 256 tokens, in spans of 3, are 13."""
_SPECIAL: dict[Objective, dict[str, str]] = {
    "next": {"eos_token": "<|endoftext|>", "unk_token": "<unk>"},
    "masked": {
        **{"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"},
        "mask_token": "[MASK]",
    },
    "spans": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
}


def learn(lines: tuple[str, ...], setup: Setup) -> transformers.PreTrainedTokenizerFast:
    """A tokenizer for the model of ``setup``, from the lines that it is trained on."""
    special = [*_SPECIAL[setup.objective].values(), *_sentinels(setup)]
    tokenizer = _characters(lines, special) if setup.units == "characters" else _bytes(lines, special, setup)
    tokenizer.add_special_tokens(special)
    if setup.objective == "masked":
        ends = [(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ends)
    if setup.objective == "spans":
        end = ("</s>", tokenizer.token_to_id("</s>"))
        tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A $B </s>", [end])
    return wrapped(tokenizer, setup)


def wrapped(tokenizer: Tokenizer, setup: Setup) -> transformers.PreTrainedTokenizerFast:
    """The tokenizer of transformers with the entries of ``tokenizer``."""
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=setup.context,
        additional_special_tokens=_sentinels(setup),
        clean_up_tokenization_spaces=False,
        **_SPECIAL[setup.objective],
    )


def entries(lines: tuple[str, ...], setup: Setup) -> int:
    """How many entries :func:`learn` gives a tokenizer; of BPE at most."""
    special = len(_SPECIAL[setup.objective]) + len(_sentinels(setup))
    characters = min(len(set().union(*lines)), _MOST_CHARACTERS)
    return {"bpe": ENTRIES, "bytes": 256 + special, "characters": characters + special}[setup.units]


def _sentinels(setup: Setup) -> list[str]:
    return [f"<extra_id_{number}>" for number in range(SENTINELS)] if setup.objective == "spans" else []


def _characters(lines: tuple[str, ...], special: list[str]) -> Tokenizer:
    counts = Counter("".join(lines))
    characters = [character for character, _ in counts.most_common(_MOST_CHARACTERS)]
    vocabulary = {token: number for number, token in enumerate([*special, *sorted(characters)])}
    unknown = next(token for token in special if "unk" in token.lower())
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    tokenizer.decoder = decoders.Fuse()
    return tokenizer


def _bytes(lines: tuple[str, ...], special: list[str], setup: Setup) -> Tokenizer:
    """All bytes are entries; of BPE merges, too, up to `ENTRIES`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=setup.units == "bpe")
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    size = ENTRIES if setup.units == "bpe" else len(alphabet) + len(special)
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special, initial_alphabet=alphabet, min_frequency=2, show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer
