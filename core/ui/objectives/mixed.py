"""One stack with a mask of its own: the prefix language model, and UniLM's three kinds."""

from __future__ import annotations

from core.language.text import two_parts
from core.objectives import prefix, unified
from core.ui.objectives import live
from core.ui.objectives.entry import Entry, Given, Number, Option, Stage

MASKS = {
    "drawn": "Drawn as published",
    "both": "Both sides (1/3)",
    "seq2seq": "Sequence to sequence (1/3)",
    "left": "Left to right (1/6)",
    "right": "Right to left (1/6)",
}


def _prefix(given: Given) -> tuple[Stage, ...]:
    pieces = [token.piece for token in given.tokens]
    wanted = given.number("prefix")
    example = prefix.corrupt(pieces, given.rng(), min(wanted, len(pieces) - 1) if wanted and len(pieces) > 1 else None)
    count = sum(cell.segment == 0 for cell in example.source)
    return (Stage(example, note=f"The first {count} tokens are the prefix: they see each other, and none is asked."),)


def _unified(given: Given) -> tuple[Stage, ...]:
    rng = given.rng()
    drawn = unified.draw(rng)
    kind = next((name for name in unified.SHARES if name == given.word("mask")), drawn)
    a, b, said = two_parts(given.text) if kind in ("both", "seq2seq") else (given.text, "", "")
    first, second = ([token.piece for token in given.cut(part)] if part else [] for part in (a, b))
    example = unified.corrupt(
        first,
        second,
        given.vocabulary,
        rng,
        kind,
        rate=given.number("rate") / 100,
        mask=given.frame["mask"],
        special=given.special,
    )
    return (Stage(example, note=f"Mask of this row: {MASKS[kind].split(' (')[0].lower()}. {said}".strip()),)


ENTRIES = (
    Entry(
        slug="prefix",
        name="Prefix, then the rest",
        systems="T5's comparison, UniLM's third mask",
        branch="decoder",
        line="The first part of a text is given and may look both ways; every token after it is asked of what stands "
        "before.",
        paper="Raffel et al. 2019, arXiv:1910.10683, section 3.2.",
        formula=r"L = -\frac{1}{n - c} \sum_{i=c+1}^{n} \log p(x_i \mid x_1, \dots, x_{i-1})",
        symbols="- $n$: the number of tokens\n- $c$: how many of them are the prefix; 0 in the box draws it\n"
        "- $x_i$: token $i$; $p$: the model's probability; $L$: the loss, its mean over the rest",
        try_="a prefix of one token, which makes it a causal model, and one that leaves a single token to write.",
        notice="one stack of layers reads like an encoder and writes like a decoder. Only the mask says where reading "
        "ends.",
        text="The king gave his daughter a golden ring, and she thanked him.",
        build=_prefix,
        models=("atlas-gpt-2",),
        answer=live.causal,
        about="There is no live answer: no model here was trained with a prefix.",
        relative="The losses are those of a causal model, in which the prefix "
        "looks back only, as the rest does: read them as what the same tokens cost without the wider view.",
        settings=(Number("prefix", "Prefix, tokens", 0, 0, 200, 1, help="0: drawn evenly from 1 to all but one."),),
    ),
    Entry(
        slug="unified",
        name="One model, three masks",
        systems="UniLM",
        branch="encoder-decoder",
        line="Tokens are hidden and asked as for BERT, but who may look at whom changes from row to row: both ways, "
        "one way, or a first text freely and a second one from left to right.",
        paper="Dong et al. 2019, arXiv:1905.03197, sections 2.3 and 2.4.",
        formula=r"\begin{gathered} L = -\frac{1}{|C|} \sum_{i \in C} \log p(x_i \mid \tilde x, M) \\[4pt] "
        r"A = \mathrm{softmax}\!\Big(\frac{Q K^\top}{\sqrt{d_k}} + M\Big) V \end{gathered}",
        symbols="- $L$: the loss, the mean over the chosen places; $p$: the model's probability; $A$: what attention "
        "makes\n- $C$: the chosen places; $x_i$: what stood there; $\\tilde x$: the text with hidden tokens\n- $Q, K, "
        "V$: queries, keys and values; $d_k$: the width of a key\n- $M$: the mask; $M_{ij}$ is 0 where place $i$ may "
        "look at place $j$ and $-\\infty$ where not\n- of the rows of a batch 1/3 are bidirectional, 1/3 sequence to "
        "sequence, 1/6 left to right and 1/6 right to left; the paper calls both of the last unidirectional\n- 15 % of "
        "the tokens are asked; 80 % of the choices are single tokens, 20 % two or three neighbours",
        try_="each mask in turn with one seed, and look at the picture of who sees whom.",
        notice="nothing else changes: the same weights are trained as an encoder, as a decoder and as both. The rows "
        "for one direction hold one text, the others two.",
        text="The cat sat on the warm stone. It did not see the dog behind the door.",
        build=_unified,
        models=("atlas-bert",),
        about="There is no live answer: no model here was trained under changing masks.",
        settings=(
            Option("mask", "Mask", "seq2seq", MASKS),
            Number("rate", "Share hidden, %", 15, 5, 50, 5, help="UniLM hides 15 %."),
        ),
        several=True,
    ),
)
