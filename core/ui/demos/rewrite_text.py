"""What the encoder-decoder page says: samples for each task, what to try and notice, the formula."""

from __future__ import annotations

import streamlit as st

from core.language.guesses import in_order
from core.language.tasks import Task
from core.ui.glossary import noted, told

DAMAGE = {
    "mixed": "A little of everything",
    "letters": "Slips of the fingers",
    "spaces": "Lost and wrong spaces",
    "order": "Swapped words",
    "case": "No capitals, no marks",
    "mask": "Hide tokens",
    "delete": "Delete tokens",
    "infill": "Hide spans behind one mask each",
    "permute": "Change the order of sentences",
    "rotate": "Begin in the middle",
    "typos": "Slips of the fingers",
    "drop": "Lost letters",
    "repeat": "Repeeeated letters",
    "antspeak": "A N T S P E A K",
    "upper": "ALL CAPITALS",
    "random-case": "rANdOm CaSE",
    "none": "None: repair what I type",
}

_SAMPLES: dict[str, tuple[str, ...]] = {
    "en": (
        "The cat sleeps on the chair.",
        "I would like a cup of tea.",
        "Where is the train station?",
        "My sister reads a book in the garden.",
    ),
    "fr": (
        "Le chat dort sur la chaise.",
        "Je voudrais une tasse de thé.",
        "Où est la gare ?",
        "Ma sœur lit un livre dans le jardin.",
    ),
    "de": (
        "Die Katze schläft auf dem Stuhl.",
        "Ich möchte eine Tasse Tee.",
        "Wo ist der Bahnhof?",
        "Meine Schwester liest ein Buch im Garten.",
    ),
}
_DENOISE = (
    "The king had three sons. The youngest of them was very kind.",
    "It was a cold night. The snow fell, and the wind blew. Nobody was in the street.",
    "Tom opened the door. His mother was in the kitchen.",
)
_FUSE = (
    "Tom stayed at home. He was ill.",
    "It was late. The children did not want to go to bed.",
    "The king was old. His son was still a child.",
    "We waited in the garden. The rain began.",
)
_RESPELL = (
    "The children play in the garden after school.",
    "I would like a cup of tea.",
    "She told me that the train was late again.",
    "We are going home because it is late.",
)
_REPAIR = (
    "We are going home because it is late.",
    "The children play in the garden after school.",
    "Nous rentrons à la maison parce qu'il est tard.",
    "Die Kinder spielen nach der Schule im Garten.",
)


def samples(task: Task) -> tuple[str, ...]:
    """Sentences to try, in the language that the task reads."""
    if task.repairs:
        return _REPAIR
    if task.respells:
        return _RESPELL
    if task.denoises:
        return _DENOISE
    if task.slug == "fuse":
        return _FUSE
    return _SAMPLES.get(task.languages[0] if task.languages else "en", _SAMPLES["en"])


def every_sample() -> frozenset[str]:
    """All samples of all tasks."""
    return frozenset((*_REPAIR, *_RESPELL, *_DENOISE, *_FUSE)).union(*_SAMPLES.values())


def kept(before: str, after: str) -> str:
    """How much of a text has come back, in a sentence; words are compared in their order."""
    old, new = before.split(), after.split()
    if old == new:
        return "Rebuilt word for word."
    same = in_order(old, new)
    return f"{same} of the original's {len(old)} words stand in their order in the {len(new)} that were written."


def try_and_notice(task: Task) -> None:
    """Two short lines."""
    if task.repairs:
        told(
            "**Try** damaging the sentence another way until the answer is wrong.\n\n"
            "**Notice** that a written word looks back at all the pieces of its damaged form: damage breaks it into "
            "more and rarer tokens."
        )
    elif task.respells:
        told(
            "**Try** each kind of noise on one sentence, then misspell one by hand, with the damage set to none.\n\n"
            "**Notice** where it goes wrong: a name or a rare word that has lost letters comes back as a frequent one, "
            "and after A N T S P E A K it has to find where words end. Behind each written byte the lines lead to the "
            "place in the noisy text that it came from."
        )
    elif task.denoises:
        told(
            "**Try** all five ways of damage on one text, and each of them another way.\n\n"
            "**Notice** what each asks for: behind a mask a word must be guessed, behind one mask for a span also how "
            "many, after a deletion even where; order and beginning can be found from what is there.\n\n"
            "Nothing tells the model which damage was done."
        )
    elif task.slug == "fuse":
        told(
            "**Try** two sentences that contradict each other, and two of which one is the reason for the other.\n\n"
            "**Notice** where the connective comes from: no token of the input is it, so the decoder has to find it in "
            "what the two sentences say; the words around it are copied."
        )
    elif task.languages:
        told(
            "**Try** a sentence whose words change places in the other language, and follow the lines that cross.\n\n"
            "**Notice** where a word looks at its counterpart, and which heads look elsewhere: attention is no "
            "dictionary, and each head has its own way."
        )
    else:
        told(
            "**Try** choosing a written token and then single heads.\n\n"
            "**Notice** which tokens are copied from the input and which are new."
        )


def formula(task: Task, scaled: bool) -> None:
    """Cross-attention, with its symbols named, and how the task is told.

    Args:
        task: what the model is asked for.
        scaled: whether the model divides its scores by the root of the head's width; T5 does not.
    """
    score = r"\frac{(Y W_Q)(X W_K)^{\top}}{\sqrt{d}}" if scaled else r"(Y W_Q)(X W_K)^{\top}"
    st.latex(rf"\operatorname{{cross}}(Y, X) = \operatorname{{softmax}}\!\left({score}\right) X W_V")
    told(
        "- $Y$: the decoder's states, one row for each token written so far\n"
        "- $X$: the encoder's states, one row for each token read; computed once, before the first token is written\n"
        f"- $W_Q, W_K, W_V$: the weights of the layer{'; $d$: the width of a head' if scaled else ''}\n\n"
        "The lines above are the rows of the softmax: each sums to one."
        + ("" if scaled else " T5 does not divide the scores; it began with smaller weights instead.")
    )
    named = ""
    if task.prefix:
        named = "The task is named in the text itself, as T5 does: Raffel et al. 2020, arXiv 1910.10683. "
    elif task.opens or task.answers:
        named = "The languages are named by tokens of their own, as M2M-100 does: Fan et al. 2020, arXiv 2010.11125. "
    noted(f"{named}Encoder and decoder with cross-attention: Vaswani et al. 2017, arXiv 1706.03762.")
