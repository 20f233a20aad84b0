"""What the efficient page says: what to try, what to notice, the formula, and what the library does."""

from __future__ import annotations

import streamlit as st

from core.efficiency.compare import Comparison, MaskedWord
from core.efficiency.layout import Sparsity
from core.ui.glossary import told
from core.ui.page import plain


def try_and_notice(seen: str | None) -> None:
    """Two short lines below the picture."""
    told(
        "**Try** the clue in the middle of the log, then turn the random blocks up or change their seed: "
        "the mask's row gains or loses the clue's column."
    )
    st.markdown(
        f"**Notice** {plain(seen) + ' ' if seen else ''}Full attention always sees it, at the price of every pair."
    )


def change(word: MaskedWord) -> str:
    """One sentence on how much the prediction changes."""
    best_full = max(word.answers, key=lambda answer: answer.full)
    best_sparse = max(word.answers, key=lambda answer: answer.sparse)
    share = f"{100 * word.distance:.0f} % of the probability lies on other words"
    if best_full == best_sparse:
        return f"Both put “{plain(best_full.text)}” first. {share} under sparse attention."
    return f"Full attention says “{plain(best_full.text)}”, sparse attention “{plain(best_sparse.text)}”. {share}."


def formula(sparsity: Sparsity) -> None:
    """The attention of one block of queries, and what it costs, with every symbol named."""
    st.latex(
        r"\operatorname{head}(Q_i) = \operatorname{softmax}\!\left("
        r"\frac{Q_i\,[K_{G}\;K_{W(i)}\;K_{R(i)}]^{\top}}{\sqrt{d}}\right)[V_{G}\;V_{W(i)}\;V_{R(i)}]"
    )
    st.latex(r"\text{scores} \approx (w + g + r)\,b\,n + g\,b\,n \qquad\text{instead of}\qquad n^2")
    told(
        "- $Q_i$: the queries of block $i$; $K$, $V$: keys and values; $d$: width of a head\n"
        f"- $G$: the global blocks, $g = {sparsity.global_blocks}$; they are seen by all and see all\n"
        f"- $W(i)$: the window around block $i$, $w = {sparsity.window}$ blocks\n"
        f"- $R(i)$: the random blocks of block $i$, $r = {sparsity.random_blocks}$, drawn for each layer and head\n"
        f"- $b = {sparsity.block_size}$: tokens in a block; $n$: tokens in the text"
    )
    st.caption(
        "The approximation leaves out the text's ends and overlaps of window and global blocks; the counts on this "
        "page leave out nothing. Zaheer et al. 2020, “Big Bird: Transformers for Longer Sequences”, arXiv 2007.14062."
    )


def library(sparsity: Sparsity) -> None:
    """What transformers does with the same model, and what is done here instead."""
    least = 5 + 2 * sparsity.random_blocks
    told(
        "The attention on this page is computed by the Atlas on the model's own weights, because transformers 5.23 "
        "does three other things when a BigBird model is evaluated:\n"
        "1. **Nothing random is left.** Its tables of random blocks stay at zero, so all "
        f"{sparsity.random_blocks} random blocks of a row are block 0. That block is global already; it is counted "
        f"{1 + sparsity.random_blocks} times in the softmax instead. Random blocks are drawn in training only.\n"
        f"2. **Short texts switch it over.** Up to 5 + 2 r blocks (here {least} blocks, "
        f"{least * sparsity.block_size:,} tokens) it changes the model to full "
        "attention, and leaves it so for every later text.\n"
        "3. **Lengths are filled up** to whole blocks; the attention matrices that it returns keep the filling."
    )
    told(
        "Here the random blocks are drawn outside window and global blocks, for each layer and head, from the seed in "
        "the settings, as the paper describes. Sparse or full is chosen before the call and nothing is switched. With "
        "the library's choice of random blocks our computation gives the library's numbers; a test holds both together."
    )


def how_measured(found: Comparison) -> str:
    """Which numbers are counted, which are measured, and how."""
    passes = "one pass" if found.full.passes == 1 else f"the median of {found.full.passes} passes"
    return (
        f"Scores are counted. Seconds are {passes} of {found.layers} layers with {found.heads} heads, measured on this "
        "server now. Peak memory is measured for one head, because the heads run one after the other here; a library "
        "that runs all heads of a layer at once holds at least the last column, which is computed (4 bytes a score). "
        "Both sides are plain matrix products: fused kernels would make both faster and spare most of the memory."
    )
