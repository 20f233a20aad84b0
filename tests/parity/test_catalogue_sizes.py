"""The records' configurations against transformers itself: real classes, real field names, real hub kinds.

transformers takes unknown keyword arguments without a word, so a misspelt field would change nothing and go unseen.
"""

from __future__ import annotations

from typing import Any

import pytest
import transformers

from core import catalogue
from core.anatomy.build import named

SIZES = [(system.slug, size) for system in catalogue.systems() for size in system.sizes]


def tables(config: str, overrides: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every configuration of a size with its arguments; an encoder-decoder has two."""
    if config != "EncoderDecoderConfig":
        return [(config, overrides)]
    halves = [dict(overrides[half]) for half in ("encoder", "decoder")]
    return [(half.pop("config"), half) for half in halves]


@pytest.mark.parametrize(("slug", "size"), SIZES, ids=[f"{slug}-{size.name}" for slug, size in SIZES])
def test_every_field_of_a_size_exists_and_is_taken_over(slug: str, size: catalogue.Size) -> None:
    assert issubclass(named(size.architecture), transformers.PreTrainedModel)
    for name, arguments in tables(size.config, size.overrides):
        kind = getattr(transformers, name)
        default, made = kind(), kind(**arguments)
        for field, value in arguments.items():
            assert hasattr(default, field) or field in _EXTRA, f"{name} has no field {field}"
            found = getattr(made, field)  # Reformer makes tuples of its lists
            assert (list(found) if isinstance(found, tuple) else found) == value


_EXTRA = {"position_buckets", "norm_rel_ebd", "share_att_key", "conv_kernel_size", "conv_act", "adapter_size"}
_EXTRA |= {"image_vocabulary", "image_side", "head_dim"}
"""Fields that DeBERTa's second version and Qwen's experts (``head_dim``) read by ``getattr`` and that their
configurations do not declare; and those of our own skeletons of Adapter-BERT and DALL-E."""


def test_the_library_defaults_that_the_records_speak_of() -> None:
    albert, bart = transformers.AlbertConfig(), transformers.BartConfig()
    assert (albert.hidden_size, albert.num_attention_heads) == (4096, 64)  # xxlarge
    assert (bart.d_model, bart.encoder_layers) == (1024, 12)  # large
    assert transformers.DebertaConfig().relative_attention is False
    assert transformers.XLMConfig().emb_dim == 2048
    assert transformers.GPTNeoConfig().window_size == 256
    t5 = transformers.T5Config()
    assert (t5.relative_attention_num_buckets, t5.relative_attention_max_distance) == (32, 128)
    bigbird = transformers.BigBirdConfig()
    assert (bigbird.block_size, bigbird.num_random_blocks, bigbird.vocab_size) == (64, 3, 50358)


def test_masks_of_dall_e_as_appendix_b_has_them() -> None:
    """“The first four layers use row, column, row, row”; the convolutional one is used in the last layer alone."""
    from core.anatomy.own_dalle import mask_kind

    assert [mask_kind(i, 64) for i in range(1, 7)] == ["row", "column", "row", "row", "row", "column"]
    assert [i for i in range(1, 65) if mask_kind(i, 64) == "convolutional"] == [64]
    assert sum(mask_kind(i, 64) == "column" for i in range(1, 64)) == len(range(2, 64, 4)) == 16
