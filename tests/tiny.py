"""Tiny random models in ``save_pretrained`` folders, with tokenizers of their own: a checkpoint directory for tests.

Nothing is downloaded and nothing is trained: the weights are drawn from a seed, so tests on them check shapes, plumbing
and parity with transformers, never quality. Each function writes one folder and returns it; ``make_all`` writes one of
each kind below a root, named ``tiny-bert``, ``tiny-gpt2``, ``tiny-t5`` and ``tiny-bigbird`` (their slugs are
``dir-tiny-bert``, ...).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SENTENCES = (
    "The capital of France is Paris.",
    "The cat sat on the mat and looked at the dog.",
    "A small dog runs in the garden every morning.",
    "Tom gave Anna a red ball because she was kind.",
    "Once upon a time there was a little girl who lived in a house near the river.",
    "Le chat dort sur la chaise et le chien mange.",
    "Der Hund schläft im Garten und die Katze trinkt Milch.",
    "She reads a good book, and he drinks tea with milk.",
)
"""What the tokenizers are trained on; the words of these sentences are mostly whole tokens."""


def _fast(tokenizer: Any, **special: Any) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def wordpiece_tokenizer(positions: int = 64) -> Any:
    """A lower-casing WordPiece tokenizer with BERT's special tokens (ids 0-4: PAD UNK CLS SEP MASK)."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    normalizer, cut = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    words = {word for text in SENTENCES for word, _ in cut.pre_tokenize_str(normalizer.normalize_str(text))}
    letters = sorted({letter for word in words for letter in word})
    # Listed, not trained: the trainer breaks ties as it likes, and every process would have another vocabulary.
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *letters, *(f"##{letter}" for letter in letters), *sorted(words - set(letters))]
    vocabulary = {piece: number for number, piece in enumerate(pieces)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = cut
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return _fast(
        tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=positions,
    )


def bytelevel_tokenizer(positions: int = 64) -> Any:
    """A byte-level BPE tokenizer in the manner of GPT-2; every byte has a token, ``<|endoftext|>`` has id 0."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    end = "<|endoftext|>"
    return _fast(tokenizer, bos_token=end, eos_token=end, unk_token=end, model_max_length=positions)


def metaspace_tokenizer(positions: int = 64) -> Any:
    """A Unigram tokenizer in the manner of T5: ids 0-2 are ``<pad> </s> <unk>``, then ``<extra_id_0..9>``."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    extra = [f"<extra_id_{i}>" for i in range(10)]
    special = ["<pad>", "</s>", "<unk>", *extra]
    trainer = trainers.UnigramTrainer(vocab_size=220, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(SENTENCES, trainer)
    # The trainer's order is another in every process.
    learned = [tuple(entry) for entry in json.loads(tokenizer.to_str())["model"]["vocab"]]
    tokenizer.model = models.Unigram(learned[: len(special)] + sorted(learned[len(special) :]), unk_id=2)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return _fast(
        tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        additional_special_tokens=extra,
        model_max_length=positions,
    )


def _save(model: Any, tokenizer: Any, folder: Path) -> Path:
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _make(folder: Path, model: str, tokenizer: Any, **settings: Any) -> Path:
    """A random model of transformers' class ``model``, with its tokenizer."""
    import torch
    import transformers

    torch.manual_seed(0)
    kind = getattr(transformers, model)
    return _save(kind(kind.config_class(vocab_size=len(tokenizer), **settings)), tokenizer, folder)


def _encoder(layers: int, heads: int, width: int, positions: int) -> dict[str, Any]:
    """BERT's names for the sizes of an encoder."""
    return {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 2 * width,
        "max_position_embeddings": positions,
        "pad_token_id": 0,
    }


def _xlnet(layers: int, heads: int, width: int) -> dict[str, Any]:
    sizes = {"d_model": width, "n_layer": layers, "n_head": heads, "d_inner": 2 * width}
    return sizes | {"initializer_range": 0.3, "pad_token_id": 0}


def tiny_bert(folder: Path, *, layers: int = 2, heads: int = 2, width: int = 16, positions: int = 64) -> Path:
    """A random BertForMaskedLM."""
    sizes = _encoder(layers, heads, width, positions)
    return _make(folder, "BertForMaskedLM", wordpiece_tokenizer(positions), **sizes)


def tiny_gpt2(folder: Path, *, layers: int = 2, heads: int = 2, width: int = 16, positions: int = 64) -> Path:
    """A random GPT2LMHeadModel."""
    sizes = {"n_positions": positions, "n_embd": width, "n_layer": layers, "n_head": heads}
    return _make(folder, "GPT2LMHeadModel", bytelevel_tokenizer(positions), **sizes, bos_token_id=0, eos_token_id=0)


def tiny_t5(folder: Path, *, layers: int = 2, heads: int = 2, width: int = 16) -> Path:
    """A random T5ForConditionalGeneration with ``layers`` + ``layers`` layers and tied embeddings."""
    return _make(
        folder,
        "T5ForConditionalGeneration",
        metaspace_tokenizer(),
        d_model=width,
        d_kv=width // heads,
        d_ff=2 * width,
        num_layers=layers,
        num_decoder_layers=layers,
        num_heads=heads,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
    )


def tiny_bart(folder: Path, *, layers: int = 2, heads: int = 2, width: int = 16, positions: int = 64) -> Path:
    """A random BartForConditionalGeneration: the other family of encoder-decoders, with learned positions."""
    halves: dict[str, Any] = {}
    for half in ("encoder", "decoder"):
        halves |= {f"{half}_layers": layers, f"{half}_attention_heads": heads, f"{half}_ffn_dim": 2 * width}
    return _make(
        folder,
        "BartForConditionalGeneration",
        metaspace_tokenizer(positions),
        d_model=width,
        **halves,
        max_position_embeddings=positions,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=1,
        decoder_start_token_id=1,
        forced_eos_token_id=None,
    )


def tiny_bigbird(
    folder: Path,
    *,
    layers: int = 2,
    heads: int = 2,
    width: int = 16,
    positions: int = 512,
    block_size: int = 16,
    num_random_blocks: int = 1,
) -> Path:
    """A random BigBirdForMaskedLM; sparse attention runs above ``(5 + 2 num_random_blocks) * block_size`` tokens."""
    return _make(
        folder,
        "BigBirdForMaskedLM",
        wordpiece_tokenizer(positions),
        **_encoder(layers, heads, width, positions),
        block_size=block_size,
        num_random_blocks=num_random_blocks,
        attention_type="block_sparse",
        bos_token_id=2,
        eos_token_id=3,
        sep_token_id=3,
    )


def tiny_xlnet(folder: Path, *, layers: int = 2, heads: int = 2, width: int = 16, positions: int = 64) -> Path:
    """A random XLNetLMHeadModel with bidirectional attention, with BERT's WordPiece."""
    sizes = _xlnet(layers, heads, width) | {"mem_len": None, "bos_token_id": 2, "eos_token_id": 3}
    return _make(folder, "XLNetLMHeadModel", wordpiece_tokenizer(positions), **sizes)


def tiny_transformer_xl(
    folder: Path, *, layers: int = 2, heads: int = 2, width: int = 16, memory: int | None = 96
) -> Path:
    """A random XLNetLMHeadModel with causal attention and a memory of ``memory`` tokens, with GPT-2's tokenizer."""
    sizes = _xlnet(layers, heads, width) | {"attn_type": "uni", "mem_len": memory, "bos_token_id": 0, "eos_token_id": 0}
    return _make(folder, "XLNetLMHeadModel", bytelevel_tokenizer(2_000_000), **sizes)


def tiny_longformer(
    folder: Path, *, layers: int = 2, heads: int = 2, width: int = 16, positions: int = 512, window: int = 16
) -> Path:
    """A random LongformerForMaskedLM; ``window`` counts both sides."""
    return _make(
        folder,
        "LongformerForMaskedLM",
        wordpiece_tokenizer(positions),
        **_encoder(layers, heads, width, positions + 1),
        attention_window=[window] * layers,
        type_vocab_size=1,
        bos_token_id=2,
        eos_token_id=3,
        sep_token_id=3,
    )


REFORMER = {
    "type": "reformer",
    "attn_layers": ["local", "lsh"],
    "hidden_size": 16,
    "num_attention_heads": 2,
    "attention_head_size": 8,
    "feed_forward_size": 32,
    "num_hashes": 1,
    "axial_pos_embds_dim": [8, 8],
    "axial_norm_std": 0.02,
    "chunk_size_feed_forward": 0,
    "hidden_act": "gelu",
}


def sized(axial: tuple[int, int], chunk: int, buckets: int) -> dict[str, Any]:
    """How a Reformer cuts its texts."""
    both = {"lsh_attn_chunk_length": chunk, "local_attn_chunk_length": chunk}
    return {"axial_pos_shape": list(axial), "num_buckets": buckets, **both}


def tiny_reformer(folder: Path, *, axial: tuple[int, int] = (16, 16), chunk: int = 16, buckets: int = 8) -> Path:
    """A random ReformerModelWithLMHead over bytes: a local layer and a hashing one."""
    import torch

    from lab.objectives.hashed import PAD, HashedModel
    from lab.tokenizers import END, ship_tokenizer, single_bytes

    torch.manual_seed(0)
    model = HashedModel(REFORMER | sized(axial, chunk, buckets)).full
    model.config.hash_seed = 0
    model.eval().save_pretrained(folder)
    ship_tokenizer(
        single_bytes((PAD, END)),
        folder,
        axial[0] * axial[1],
        pad_token=PAD,
        bos_token=END,
        eos_token=END,
        unk_token=END,
    )
    return folder


def tiny_mamba(folder: Path, *, layers: int = 2, width: int = 16) -> Path:
    """A random MambaForCausalLM: a model without attention."""
    sizes = {"hidden_size": width, "state_size": 4, "num_hidden_layers": layers}
    special = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0}
    return _make(folder, "MambaForCausalLM", bytelevel_tokenizer(), **sizes, **special)


def make_all(root: Path) -> Path:
    """One folder of each branch below ``root``, as a host would fill ``ATLAS_CHECKPOINT_DIR``."""
    tiny_bert(root / "tiny-bert")
    tiny_gpt2(root / "tiny-gpt2")
    tiny_t5(root / "tiny-t5")
    tiny_bigbird(root / "tiny-bigbird")
    return root
