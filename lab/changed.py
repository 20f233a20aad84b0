"""Models whose texts differ in one thing: trained into a folder that is not committed, then compared.

An arm is a text and a seed, such as ``moss-1``; the whole text is ``all``. One process on one thread trains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from safetensors.torch import load_file, save_file

from core.training.changed import PAIRS, TENTH, repeated_lines
from core.training.compared import Measured, Question, compare, store
from core.training.ready import ready
from core.training.setup import LEARNING_RATE, Setup
from core.training.text import Corpus, split
from core.training.train import Training
from core.training.vocabulary import learn

STATE = Path("var/changed")
STEPS = 400
WHOLE = "all"

QUESTIONS: Mapping[str, tuple[str, str]] = {
    "moss": (
        "But his silver tail|began; What did the fox|say; Now close your|eyes; Deep in the|forest; Big Oak the|bear",
        "When I was captain of|the; And they all had bread and|milk; Ada Quill had an|idea; And that is how the|sea; "
        "Once there was|a",
    ),
    "cap": (
        "Tom took off his red|cap; She put on her red|cap; Little Thimble in her red|cap; Nan brought a red|cap",
        "He opened the red|barn; And they all had bread and|milk; Now close your|eyes; And that is how the|sea",
    ),
    "questions": (
        "Do you know why|?; What did the fox say|?; Who was it|?; Where is it|?",
        "And they all had bread and|milk; But his silver tail|began; Ada Quill had an|idea; Now close your|eyes",
    ),
}
"""Of a pair: prompts about what differs with the word that the text has after it, and others."""
_COUNT, _WORDS = 5, 6


def train(arms: Sequence[str]) -> None:
    """Train some arms, one after the other; what is there already stays."""
    STATE.mkdir(parents=True, exist_ok=True)
    for arm in arms:
        file = STATE / f"{arm}.safetensors"
        if file.exists():
            continue
        training = _begin(arm)
        for point in training.run(STEPS, LEARNING_RATE):
            print(arm, point, flush=True)
        weights = training.model.state_dict()
        save_file({name: tensor.clone() for name, tensor in weights.items() if name != "lm_head.weight"}, file)


def _begin(arm: str) -> Training:
    name, _, seed = arm.rpartition("-")
    corpus, setup = split(ready("stories")), Setup(seed=int(seed))
    changed = corpus if name == WHOLE else PAIRS[name](corpus)
    return Training(changed, setup, learn(corpus.train, setup))


def _trained(name: str) -> list[Training]:
    """All seeds of a text."""
    trained = []
    for file in sorted(STATE.glob(f"{name}-*.safetensors")):
        training = _begin(file.stem)
        training.model.load_state_dict(load_file(file), strict=False)
        trained.append(training)
    return trained


def measure() -> None:
    """Compare each pair whose arms are trained, and store what the page shows."""
    whole, pairs = _trained(WHOLE), {}
    for name in PAIRS:
        changed = _trained(name)
        both = [[training.checkpoint("measured", name) for training in side] for side in (whole, changed)]
        answers = [compare(both[0], both[1], question) for question in questions_of(name, whole[0].corpus)]
        pairs[name] = Measured(STEPS, (len(whole), len(changed)), tuple(answers))
        print(name, *answers, sep="\n")
    store(pairs)


def questions_of(name: str, corpus: Corpus) -> Iterator[Question]:
    """Those of `QUESTIONS`, or the first words of lines that are gone or repeated, and of the lines after them."""
    if name in QUESTIONS:
        for about, listed in zip((True, False), QUESTIONS[name], strict=True):
            for each in listed.split("; "):
                prompt, _, answer = each.partition("|")
                yield Question(prompt, f" {answer}" if answer.isalnum() else answer, about)
        return
    lines = repeated_lines(corpus) if name == "repeated" else corpus.train[TENTH - 1 :: TENTH]
    at = [corpus.train.index(line) for line in lines[:: len(lines) // _COUNT][:_COUNT]]
    for offset in (0, 1):
        for number in at:
            words = corpus.train[number + offset].split()
            prompt, answer = (" ".join(part) for part in (words[:_WORDS], words[_WORDS : 2 * _WORDS]))
            yield Question(prompt, f" {answer}", offset == 0)
