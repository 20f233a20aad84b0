"""Objectives of encoders that hide single tokens: masked tokens, and their masks over the epochs."""

from __future__ import annotations

from core.objectives import epochs, masked
from core.objectives.shares import Tally, tally
from core.ui.objectives import live
from core.ui.objectives.bank import KING
from core.ui.objectives.entry import Entry, Given, Number, Option, Share, Stage
from core.ui.objectives.epochs_view import epochs_view

RATE = Number(
    "rate", "Share hidden, %", 15, 5, 50, 5, help="BERT hides 15 %. Of a short sentence that is one or two tokens."
)
FORMULA = r"L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x)"
SYMBOLS = (
    "- $x_i$: the token that stood at place $i$\n- $M$: the chosen places\n"
    "- $\\tilde x$: the text in which 80 % of the chosen tokens became [MASK], 10 % a random token, and 10 % "
    "stayed as they were\n- $p$: the model's probability; $L$: the loss, the mean over the chosen places"
)


def fates(found: Tally, rate: float) -> tuple[Share, ...]:
    """The share of tokens asked and what became of them, against the published ones; ``rate`` in percent."""
    parts = (found.share, found.change("masked"), found.change("random"), found.change("unchanged"))
    names = ("tokens asked", "of these, [MASK]", "of these, a random token", "of these, left as they were")
    return tuple(
        Share(name, 100 * value, published)
        for name, value, published in zip(names, parts, (rate, 80.0, 10.0, 10.0), strict=True)
    )


def _masked(given: Given) -> tuple[Stage, ...]:
    example = masked.corrupt(
        given.framed,
        given.vocabulary,
        given.rng(),
        rate=given.number("rate") / 100,
        mask=given.frame["mask"],
        fixed=given.fixed,
    )
    return (Stage(example),)


def _shares(given: Given) -> tuple[Share, ...]:
    rate = given.number("rate")
    found = tally(lambda rng: masked.corrupt(given.framed, ("x",), rng, rate=rate / 100, fixed=given.fixed))
    return fates(found, rate)


def _epoch(given: Given) -> tuple[Stage, ...]:
    static = given.word("masking") == "static"
    epoch, copies = given.number("epoch"), given.number("copies")
    example = epochs.corrupt(
        given.framed,
        given.vocabulary,
        given.rng(),
        epoch,
        copies=copies if static else None,
        rate=given.number("rate") / 100,
        mask=given.frame["mask"],
        fixed=given.fixed,
    )
    seen = f"copy {(epoch - 1) % copies + 1} of {copies}" if static else "drawn for this epoch alone"
    return (Stage(example, f"Epoch {epoch}: {seen}"),)


ENTRIES = (
    Entry(
        slug="masked",
        name="Masked tokens",
        systems="BERT, DeBERTa",
        branch="encoder",
        line="Some tokens are hidden and asked of all that stands around them, to the left and to the right.",
        paper="Devlin et al. 2019, arXiv:1810.04805, section 3.1.",
        formula=FORMULA,
        symbols=SYMBOLS,
        try_="half of the tokens hidden, then 5 %: how much worse do the guesses become?",
        notice="a place that was left as it is carries a loss as well. The model cannot know which tokens are right, "
        "so it must have an opinion on every one. It learns from the asked places alone: at 15 % the rest of the text "
        "is context.",
        text=KING,
        build=_masked,
        models=("atlas-bert", "atlas-roberta", "atlas-deberta", "atlas-albert"),
        answer=live.masked,
        about="It was trained on masked tokens: 15 %, of which 80 % became [MASK] and 10 % a random token.",
        settings=(RATE,),
        shares=_shares,
    ),
    Entry(
        slug="epochs",
        name="Masks over epochs",
        systems="BERT, RoBERTa",
        branch="encoder",
        line="A text comes back 40 times. With static masks it brings one of 10 masks; with dynamic ones a new one.",
        paper="Liu et al. 2019, arXiv:1907.11692, section 4.1.",
        formula=r"m_e = \begin{cases} m^{(1 + (e - 1) \bmod 10)} & \text{static} \\ \text{drawn anew} & "
        r"\text{dynamic} \end{cases}",
        symbols="- $m_e$: which tokens are asked in epoch $e$\n- $m^{(1)}, \\dots, m^{(10)}$: the masks of the ten "
        "copies that were written down before training\n\nThe loss is that of masked tokens.",
        try_="epoch 3 and epoch 13, static and then dynamic.",
        notice="after 40 epochs static masks have asked four tokens in five, and each with the same neighbours hidden; "
        "dynamic masks have asked nearly all. RoBERTa's authors found dynamic masks as good or slightly better.",
        text=KING,
        build=_epoch,
        models=("atlas-bert", "atlas-roberta"),
        answer=live.masked,
        notes={
            "atlas-bert": "It was trained with static masks, one for each text; it passed over its text little more "
            "than once.",
            "atlas-roberta": "It was trained with dynamic masks; it passed over its text little more than once.",
        },
        settings=(
            Option("masking", "Masks", "static", {"static": "static (BERT)", "dynamic": "dynamic (RoBERTa)"}),
            Number("epoch", "Epoch", 1, 1, epochs.EPOCHS),
            Number("rate", "Share hidden, %", 15, 5, 50, 5, rare=True),
            Number("copies", "Copies", epochs.COPIES, 1, epochs.EPOCHS, help="BERT's data held 10.", rare=True),
        ),
        more=epochs_view,
    ),
)
