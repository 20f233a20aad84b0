"""Objectives of encoders on whole texts with other tokens in them: shuffled words, and replaced tokens."""

from __future__ import annotations

from core.language.losses import Losses
from core.objectives import replaced, word_order
from core.objectives.shares import tally
from core.ui.objectives import live
from core.ui.objectives.bank import KING, STORY
from core.ui.objectives.encoders import RATE
from core.ui.objectives.entry import Entry, Given, Option, Share, Stage


def _shuffled(given: Given) -> tuple[Stage, ...]:
    example = word_order.corrupt(
        given.framed,
        given.vocabulary,
        given.rng(),
        rate=0.15 if given.word("both") == "yes" else 0.0,
        mask=given.frame["mask"],
        fixed=given.fixed,
    )
    groups = {cell.group for cell in example.source if cell.change in ("moved", "unchanged") and cell.group is not None}
    free = len(word_order.windows(len(example.source), {*given.fixed, *_masked_places(example.source)}))
    if not groups:
        return (Stage(example, note="No three neighbouring tokens are free here, so nothing is shuffled."),)
    return (Stage(example, note=f"Shuffled: {len(groups)} of {free} trigrams without a masked token."),)


def _masked_places(source: tuple[object, ...]) -> set[int]:
    return {
        place
        for place, cell in enumerate(source)
        if getattr(cell, "target", None) is not None and getattr(cell, "group", None) is None
    }


def _shuffled_shares(given: Given) -> tuple[Share, ...]:
    found = tally(lambda rng: word_order.corrupt(given.framed, ("x",), rng, rate=0.0, fixed=given.fixed))
    free = len(word_order.windows(len(given.framed), given.fixed))
    share = found.groups / found.draws / free if free else 0.0
    return (Share("trigrams shuffled, no token masked (one at least)", 100 * share, 5.0),)


def _detect(given: Given) -> tuple[Stage, ...]:
    hidden = replaced.hide(
        given.framed, given.rng(), rate=given.number("rate") / 100, mask=given.frame["mask"], fixed=given.fixed
    )
    samples = live.samples(given.slug, hidden.source, given.seed)
    judged = replaced.corrupt(given.framed, samples, given.fixed)
    right = sum(judged.source[place].change == "unchanged" for place in hidden.asked)
    lucky = f"{right} of {len(hidden.asked)} samples happen to be right and count as original." if right else ""
    return (
        Stage(hidden, "The generator reads masks and must answer what stood there"),
        Stage(
            judged,
            "The judge reads what the generator sampled and must judge every token",
            lucky,
            True,
            "the judge's probability that the token was replaced",
            "answers",
        ),
    )


def _detect_shares(given: Given) -> tuple[Share, ...]:
    rate = given.number("rate")
    found = tally(lambda rng: replaced.hide(given.framed, rng, rate=rate / 100, fixed=given.fixed))
    return (
        Share("tokens the generator fills", 100 * found.share, float(rate)),
        Share("tokens the judge is asked about", 100.0, 100.0),
    )


def _sum(answers: tuple[Losses, ...]) -> str:
    words, verdicts = answers[0].mean, answers[1].mean
    if words is None or verdicts is None:
        return ""
    total = words + replaced.WEIGHT * verdicts
    return (
        f"ELECTRA's loss is the sum with a weight: {words:.2f} for the generator and {replaced.WEIGHT:.0f} · "
        f"{verdicts:.3f} for the judge, {total:.2f} nats."
    )


ENTRIES = (
    Entry(
        slug="word-order",
        name="Word order",
        systems="StructBERT",
        branch="encoder",
        line="Three neighbouring tokens are shuffled and have to be put back, beside the masked ones.",
        paper="Wang et al. 2020, arXiv:1908.04577, with K = 3; the 5 % as read in notes on the paper.",
        formula=r"L = -\frac{1}{|M|} \sum_{i \in M} \log p(x_i \mid \tilde x) - \frac{1}{|S|} \sum_{i \in S} "
        r"\log p(x_i \mid \tilde x)",
        symbols="- $M$: the masked places, 15 %, as BERT has them\n- $S$: the places of the shuffled trigrams, 5 % of "
        "those without a masked token\n- $p$: the model's probability; $L$: the loss, the sum of both means\n- $x_i$: "
        "the token that stood at place $i$; $\\tilde x$: what the model reads",
        try_="the masked tokens left out, and “Again” until the shuffled words make another good sentence.",
        notice="nothing is missing here: all three tokens are there, and the model must say in which order. Three "
        "function words in a row are harder to put back than a name and its verb.",
        text=STORY,
        build=_shuffled,
        models=("atlas-bert",),
        answer=live.masked,
        about="There is no live answer: no model here was trained on shuffled words.",
        relative="It answers as a relative: since a tenth of its chosen "
        "tokens were random ones, it has learned to doubt what stands there, though never an order.",
        settings=(Option("both", "Masked tokens", "yes", {"yes": "as well", "no": "left out"}),),
        shares=_shuffled_shares,
        several=True,
    ),
    Entry(
        slug="replaced",
        name="Replaced tokens",
        systems="ELECTRA",
        branch="encoder",
        line="A small generator fills hidden places with samples of its own, and a judge says of every token whether "
        "it is the original.",
        paper="Clark et al. 2020, arXiv:2003.10555; weight 50 and shares as in the released configuration (15 %, "
        "large model 25 %).",
        formula=r"\begin{aligned} L &= L_{MLM} + 50 \, L_D \\ L_D &= -\frac{1}{n} \sum_{t=1}^{n} r_t \log D_t "
        r"+ (1 - r_t) \log (1 - D_t) \end{aligned}",
        symbols="- $L$: the loss; $L_D$: the judge's part of it\n- $L_{MLM}$: the generator's loss at the hidden "
        "places\n- $D_t$: the judge's probability that token "
        "$t$ was replaced\n- $r_t$: 1 where token $t$ is not the one that stood there, else 0\n- $n$: the tokens\n\n"
        "No gradient flows from the judge to the generator.",
        try_="25 %, as the large model had it, with “Guess first” on: which tokens would you take for replaced?",
        notice="every token carries a loss, and not 15 % alone: that is where ELECTRA's saving comes from. A blind "
        "guess costs 0.69 nats here, one bit.",
        text=KING,
        build=_detect,
        models=("atlas-electra",),
        answer=live.replaced,
        about="Generator and judge were trained together with this objective; the judge started as Atlas BERT. Few "
        "tokens are replaced, so it takes one for replaced above 16 % already.",
        settings=(RATE,),
        shares=_detect_shares,
        total=_sum,
    ),
)
