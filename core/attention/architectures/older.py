"""Where attention stands in older architectures whose library code goes ways of its own; a host may add them.

The same table as that of `core.attention.architectures.hosts`, which holds it. What is particular about their scores is
in `core.attention.architectures.particular`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from core.attention.architectures.attends import BART, BERT, Attends, bart, bert
from core.attention.trace import MapKind

_QUARTERS = "qkv_proj:0/3m qkv_proj:2/3m qkv_proj:1/3m"
_SOME_TURNED = "Queries and keys are shown after the turn by their positions, in models that turn them."
_TURNED = "Queries and keys are shown after the turn by their positions."
_WHOLE_NUMBERS = (
    "A model that is set to whole numbers (quant_mode) rounds queries, keys and weights, so that its weights are the "
    "softmax of the scores but for rounding."
)

_CONVOLVED = (
    "The maps are those of the heads that attend. Beside them stand convolutions over neighbouring tokens, which make "
    "half of what a layer passes on and have no map."
)
_EXACT = (
    "As many landmarks as tokens: nothing is approximated, and this is the whole softmax. To what a head reads by "
    "these weights, a convolution over the values of tokens nearby is added."
)
_READS = (
    "This is the main stream, which reads what is written. Beside it stand streams that predict the tokens to come: "
    "they look at the main stream and at their own token, and are not drawn."
)
_WRITES = (
    "Rows are those of the stream that predicts the next token, which is the one that writes. Where it reads several "
    "words at once, as here, the library mixes up the distances of this stream, so that rows may differ from those "
    "that it wrote by."
)
_PROMPTED = (
    "A token sees the whole text, what comes after it, too: so the library reads a text that is given. Before the text "
    "stand learned vectors, which take a part of every row and are not drawn."
)
_LIKELY = (
    "In place of a softmax stands the probability that a query and a key fall into one bucket, here divided by the sum "
    "of its row. That changes nothing: what a head reads is brought to length one."
)
NOTES: dict[tuple[str, MapKind], str] = {
    ("convbert", "encoder"): _CONVOLVED,
    ("cpmant", "decoder"): _PROMPTED,
    ("nystromformer", "encoder"): _EXACT,
    ("prophetnet", "decoder"): _READS,
    ("prophetnet", "cross"): _WRITES,
    ("yoso", "encoder"): _LIKELY,
}
"""What a map has to say of itself, by type and kind."""
WHOLE = frozenset({"cpmant"})
"""Decoders whose library code lets a token see the whole text that it is given, what comes later, too."""


def _prophet(side: str, name: str) -> Attends:
    return replace(
        bart(side, name, f"num_{side}_attention_heads"), parts="query_proj key_proj value_proj", score="particular"
    )


TABLE: dict[str, dict[str, Attends]] = {
    # encoders
    "convbert": {"encoder": bert(heads=".num_attention_heads", share=2)},
    "esm": {"encoder": bert(score="turned", note=_SOME_TURNED)},
    "funnel": {
        "encoder": Attends(
            "{at}.attention",
            "{at}.attention.post_proj",
            "q_head k_head v_head",
            "particular",
            heads="n_head",
            note="Queries contain the bias u that meets the content; the score has more terms, for distance and "
            "segment.",
        )
    },
    "ibert": {
        "encoder": bert(
            parts="query_activation key_activation value_activation", score="particular", note=_WHOLE_NUMBERS
        )
    },
    "nystromformer": {"encoder": bert(score="particular")},
    "squeezebert": {
        "encoder": Attends(
            "encoder.layers.{i}.attention",
            "encoder.layers.{i}.post_attention.conv1d",
            score="particular",
            order="row width token",
            note="Projections are convolutions over one token: a matrix for each group of "
            "numbers, in place of one for all.",
        )
    },
    "tapas": {"encoder": BERT["encoder"]},
    "yoso": {
        "encoder": bert(
            score="particular",
            note="Queries and keys are shown at length one. The score is the logarithm of how likely both are to fall "
            "into one bucket, which grows with their product.",
        )
    },
    # decoders
    "codegen": {"decoder": Attends("h.{i}.attn", "h.{i}.attn.out_proj", _QUARTERS, "paired", note=_TURNED)},
    # encoder-decoders
    "fsmt": {
        kind: replace(entry, order="token row width", mask="attn_mask" if kind == "decoder" else "attention_mask")
        for kind, entry in BART.items()
    },
    "prophetnet": {
        "encoder": _prophet("encoder", "self_attn"),
        "decoder": replace(
            _prophet("decoder", "self_attn"),
            note="The score has one more term, a number for the distance, which the query decides on, too.",
        ),
        "cross": _prophet("decoder", "cross_attn"),
    },
}


def of_tokens(config: Any) -> list[str]:
    """Where a Funnel's layers stand whose queries and keys are tokens, in the order in which they run.

    They are those before its first pooling, a layer as often as it is repeated, and its decoder's.
    """
    before = [f"encoder.blocks.0.{i}" for i in range(config.block_sizes[0]) for _ in range(config.block_repeats[0])]
    return before + [f"decoder.layers.{i}" for i in range(config.num_decoder_layers)]
