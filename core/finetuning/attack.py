r"""A gradient attack on a classifier of texts: GBDA (Guo et al. 2021, arXiv 2104.13733).

The attack optimizes a distribution over sentences: a matrix :math:`\Theta` of logits, a row for each word that may
change, a column for each candidate of the vocabulary. With Gumbel noise g a row of it becomes a probability vector,

.. math:: \pi_{ij} = \frac{e^{(\Theta_{ij} + g_{ij}) / \tau}}{\sum_k e^{(\Theta_{ik} + g_{ik}) / \tau}}, \qquad
          g = -\ln(-\ln u), \quad u \sim U(0, 1),

and the model gets the expected embedding :math:`\sum_j \pi_{ij} e_j` in place of a token's, which has a gradient. With
class scores s, the class y that the text has, and masked positions m, the loss is

.. math:: L = E_g\Bigl[\max(0, s_y - \max_{k \ne y} s_k + \kappa)
          - \lambda_f \sum_j \pi_{mj} \ln p(j \mid x_{\setminus m})
          + \lambda_s \tfrac1n \sum_i \bigl(1 - \sum_j \pi_{ij} \cos(e_{x_i}, e_j)\bigr)\Bigr],

by Adam. Fluency is that of the classifier's own masked language model, one random masked position of each sample at a
step; the paper has a causal one. Similarity is that of token embeddings at each position; the paper has BERTScore, of
contextual ones. At the end sentences are sampled from :math:`\mathrm{softmax}(\Theta)`.

Legend: S samples of a step, n free positions, C candidates, K classes, w hidden size, q tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import exp

from core.attention.layers import stacks
from core.checkpoints.spec import Checkpoint
from core.errors import InputTooLong, InputUnusable, OutOfRange
from core.finetuning.examples import LabeledSet, ready
from core.finetuning.setup import Setup
from core.language import starts
from core.language.text import clean
from core.language.tokens import tokenize
from core.lazy import Tensor, functional, torch
from core.run.run import Site, run
from core.turns import turns
from core.words import counted

MAX_CHARS, MOST_TOKENS = 200, 32
"""Of a text."""
CANDIDATES = 6_000
"""The most frequent whole words, as a WordPiece vocabulary is ordered, that may replace a word."""
SAMPLES, DRAWN, EVERY = 3, 16, 5
"""Gumbel samples of a step; sentences drawn to measure the distribution, every so many steps."""
RATE, START, MARGIN, TEMPERATURE = 0.3, 12.0, 3.0, 1.0
"""Adam's learning rate, the first logit of the text's own words (others: 0), kappa, and tau."""
STEPS, MOST_STEPS = 60, 200
FLUENCY, KEPT, MOST_KEPT = 0.5, 1, 8
ENOUGH = 0.5
"""An attack ends early once so large a share of the sentences drawn fools the classifier."""


@dataclass(frozen=True, slots=True)
class Classifier:
    """A linear head on the mean state of a frozen encoder. Hashable."""

    labels: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]
    """(K, w)."""
    biases: tuple[float, ...]
    """(K,)."""
    accuracy: float
    """On the held-out texts of its set."""
    trained: int
    """Training texts."""
    held_out: int


@dataclass(frozen=True, slots=True)
class AttackSetup:
    """Hashable."""

    fluency: float = FLUENCY
    """Its weight in the loss, as that of similarity."""
    similarity: float = 0.0
    kept: int = KEPT
    """So many of the words that the prediction depends on most must stay."""
    steps: int = STEPS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the classifier's probabilities of the K classes."""

    words: tuple[str, ...]
    """Its tokens, without the special ones, as the tokenizer writes them."""
    text: str
    probabilities: tuple[float, ...]
    changed: tuple[bool, ...]
    """Token by token, against the text that is attacked."""

    @property
    def best(self) -> int:
        """The number of the most probable class."""
        return self.probabilities.index(max(self.probabilities))


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack so far, measured every ``EVERY`` steps from 0."""

    original: Sentence
    sentence: Sentence
    """Of the sentences drawn so far that fool the classifier the one with the fewest changes; if none does, the one
    with the lowest probability of the original's class."""
    kept: tuple[bool, ...]
    """Tokens that may not change."""
    fooled: tuple[float, ...]
    """The share of the sentences drawn that have another class."""
    own: tuple[float, ...]
    """The mean probability of the original's class over them."""
    top: tuple[tuple[tuple[str, float], ...], ...]
    """For each token the most probable candidates of the distribution, and their probabilities."""
    step: int
    steps: int


def classifier(checkpoint: Checkpoint, name: str) -> Classifier:
    """A head for a ready set, trained on its training texts, in a second; the same each time."""
    from core.finetuning.train import Learner  # torch, which a page loads when it first computes

    data: LabeledSet = ready(name)
    learner = Learner(checkpoint, len(data.labels), Setup(trained="head", pooling="mean"))
    *_, last = learner.train(data, last_only=True)
    weights, biases = learner.head.weight.tolist(), learner.head.bias.tolist()
    rows = tuple(map(tuple, weights))
    return Classifier(data.labels, rows, tuple(biases), last.accuracy, len(data.train), len(data.held_out))


def gumbel_softmax(logits: Tensor, uniform: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """(..., C) probability vectors of logits, with the Gumbel noise of ``uniform`` numbers between 0 and 1."""
    noise = -torch.log(-torch.log(uniform.clamp(1e-9, 1 - 1e-7)))
    result: Tensor = ((logits + noise) / temperature).softmax(-1)
    return result


class Victim:
    """A text, the classifier, and what of the text may change: what every attack on it needs.

    Raises:
        InputEmpty, InputTooLong: the text.
        InputUnusable: no word of it may change.
    """

    def __init__(self, checkpoint: Checkpoint, head: Classifier, text: str, kept: int = 0) -> None:
        self.checkpoint, self.model, self.labels = checkpoint, checkpoint.model, head.labels
        self.kind = stacks(checkpoint)[-1].kind
        self.weights, self.biases = torch.tensor(head.weights), torch.tensor(head.biases)
        tokens = tokenize(checkpoint, clean(text, MAX_CHARS))
        if len(tokens) > MOST_TOKENS:
            raise InputTooLong(f"The text has {len(tokens)} tokens, and at most {MOST_TOKENS} work. Shorten it.")
        self.ids = torch.tensor([token.id for token in tokens])
        self.special = [token.special for token in tokens]
        names: list[str] = checkpoint.tokenizer.convert_ids_to_tokens(self.ids.tolist())
        whole = [
            name.isalpha() and not token.special and not after.startswith("##")
            for name, token, after in zip(names, tokens, [*names[1:], ""], strict=True)
        ]
        if not 0 <= kept <= MOST_KEPT:
            raise OutOfRange(f"From 0 to {MOST_KEPT} words can be kept, not {kept}.")
        candidates = set(words(checkpoint)) | set(self.ids.tolist())
        self.candidates = torch.tensor(sorted(candidates))
        self.column = {number: at for at, number in enumerate(self.candidates.tolist())}
        self.table: Tensor = self.model.get_input_embeddings().weight.detach()
        self.free = torch.tensor([at for at, word in enumerate(whole) if word], dtype=torch.long)
        if len(self.free):
            self.own = int(self.scores(self.ids[None])[0].argmax())
            self.free = self._unprotected(kept)
        if not len(self.free):
            raise InputUnusable(
                f"This text has {counted(sum(whole), 'whole word')}, and {kept} may not change: nothing is left to "
                "attack. Type a longer sentence."
            )

    def _unprotected(self, kept: int) -> Tensor:
        """The free positions without those ``kept`` whose masking costs the prediction most."""
        if not kept:
            return self.free
        masked = self.ids.repeat(len(self.free), 1)
        masked[torch.arange(len(self.free)), self.free] = int(self.checkpoint.tokenizer.mask_token_id)
        order = self.margins(self.scores(masked)).argsort(stable=True)  # the smallest margin first
        return self.free[order[kept:]].sort().values

    def scores(self, ids: Tensor) -> Tensor:
        """(R, K) of texts (R, q)."""
        final = Site(self.kind, 0, "final")
        states: Tensor = run(self.model, {"input_ids": ids}, keep={final})[final]
        return self.classify(states.clone())  # a tensor of inference mode cannot be part of a gradient

    def classify(self, states: Tensor) -> Tensor:
        """(R, K) of states (R, q, w)."""
        return states.mean(1) @ self.weights.T + self.biases

    def margins(self, scores: Tensor) -> Tensor:
        """(R,) by how much the original's class leads, from (R, K)."""
        others = scores.clone()
        others[:, self.own] = -torch.inf
        return scores[:, self.own] - others.max(-1).values

    def sentences(self, ids: Tensor) -> tuple[Sentence, ...]:
        """The sentences with ids (R, q), classified."""
        tokenizer = self.checkpoint.tokenizer
        probabilities = self.scores(ids).softmax(-1).tolist()
        sentences = []
        for row, chances in zip(ids.tolist(), probabilities, strict=True):
            shown = [number for number, special in zip(row, self.special, strict=True) if not special]
            changed = [
                number != own
                for number, own, special in zip(row, self.ids.tolist(), self.special, strict=True)
                if not special
            ]
            sentences.append(
                Sentence(
                    tuple(tokenizer.convert_ids_to_tokens(shown)),
                    tokenizer.decode(shown),
                    tuple(chances),
                    tuple(changed),
                )
            )
        return tuple(sentences)


def words(checkpoint: Checkpoint) -> tuple[int, ...]:
    """The ids of the candidates: whole words of lower-case letters, in the order of the vocabulary."""
    vocabulary = sorted(checkpoint.tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    plain = (i for word, i in vocabulary if word.isascii() and word.isalpha() and word.islower() and len(word) > 1)
    return tuple(number for number, _ in zip(plain, range(CANDIDATES), strict=False))


def attack(checkpoint: Checkpoint, head: Classifier, text: str, setup: AttackSetup) -> Iterator[Attack]:
    """Attack a text; yields every ``EVERY`` steps, before the first included.

    Raises:
        InputEmpty, InputTooLong, InputUnusable: as :class:`Victim`.
        OutOfRange: a setting.
    """
    if not (0 <= setup.fluency <= 10 and 0 <= setup.similarity <= 100 and 1 <= setup.steps <= MOST_STEPS):
        raise OutOfRange(f"Weights lie from 0 to 10 and from 0 to 100, steps from 1 to {MOST_STEPS}.")
    victim = Victim(checkpoint, head, text, setup.kept)
    generator = torch.Generator().manual_seed(setup.seed)
    theta = torch.zeros(len(victim.free), len(victim.candidates))
    own = torch.tensor([victim.column[number] for number in victim.ids[victim.free].tolist()])
    theta[torch.arange(len(own)), own] = START
    theta.requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=RATE)
    cosines = _cosines(victim)
    original = victim.sentences(victim.ids[None])[0]
    fooled: list[float] = []
    probabilities: list[float] = []
    best: tuple[Sentence, ...] = ()
    for step in range(setup.steps + 1):
        turns.step()
        if step % EVERY == 0 or step == setup.steps:
            sentences = victim.sentences(_draw(victim, theta.detach(), torch.Generator().manual_seed(setup.seed)))
            fooled.append(sum(s.best != victim.own for s in sentences) / len(sentences))
            probabilities.append(sum(s.probabilities[victim.own] for s in sentences) / len(sentences))
            best = (_chosen((*best, *sentences), victim.own),)
            yield Attack(
                *(original, best[0], _kept(victim), tuple(fooled), tuple(probabilities)),
                *(_top(victim, theta.detach()), step, setup.steps),
            )
            if fooled[-1] >= ENOUGH:
                return
        if step < setup.steps:
            optimizer.zero_grad()
            _loss(victim, theta, cosines, setup, generator).backward()  # type: ignore[no-untyped-call]
            optimizer.step()


def _cosines(victim: Victim) -> Tensor:
    """(n, C) of the embeddings of the text's words and of the candidates."""
    own, all_ = (
        functional.normalize(victim.table[ids], dim=-1) for ids in (victim.ids[victim.free], victim.candidates)
    )
    result: Tensor = own @ all_.T
    return result


def _loss(victim: Victim, theta: Tensor, cosines: Tensor, setup: AttackSetup, generator: torch.Generator) -> Tensor:
    """L over S samples, in one pass: the S expected inputs, and with fluency the same with a masked position each."""
    chances = gumbel_softmax(theta, torch.rand(SAMPLES, *theta.shape, generator=generator))  # (S, n, C)
    expected = chances @ victim.table[victim.candidates]
    inputs = victim.table[victim.ids].expand(SAMPLES, -1, -1).index_copy(1, victim.free, expected)
    rows = torch.arange(SAMPLES)
    row = torch.randint(len(victim.free), (SAMPLES,), generator=generator)
    at = victim.free[row]
    if setup.fluency:
        masked = inputs.clone()
        masked[rows, at] = victim.table[int(victim.checkpoint.tokenizer.mask_token_id)]
        inputs = torch.cat((inputs, masked))
    states: list[Tensor] = []

    def read(final: Tensor) -> Tensor:
        """Take the classifier's states, and leave the head one position of each masked row, or of the first."""
        states.append(final[:SAMPLES])
        return final[SAMPLES:][rows, at][:, None] if setup.fluency else final[:1, :1]

    edits: dict[Site, Callable[[Tensor], Tensor]] = {
        Site(victim.kind, 0, "embed"): lambda _: inputs,
        Site(victim.kind, 0, "final"): read,
    }
    passed = run(victim.model, {"input_ids": victim.ids.repeat(len(inputs), 1)}, edits=edits, gradients=True)
    loss: Tensor = functional.relu(victim.margins(victim.classify(states[0])) + MARGIN).mean()
    if setup.fluency:
        logs = passed.output.logits[:, 0].log_softmax(-1)[:, victim.candidates]
        loss = loss - setup.fluency * (chances[rows, row] * logs).sum(-1).mean()
    if setup.similarity:
        loss = loss + setup.similarity * (1 - (chances * cosines).sum(-1)).mean()
    return loss


def _draw(victim: Victim, theta: Tensor, generator: torch.Generator) -> Tensor:
    """(``DRAWN``, q) ids: the most probable sentence of the distribution, and others drawn from it."""
    drawn = torch.multinomial(theta.softmax(-1), DRAWN - 1, replacement=True, generator=generator).T
    ids = victim.ids.repeat(DRAWN, 1)
    ids[:, victim.free] = victim.candidates[torch.cat((theta.argmax(-1)[None], drawn))]
    return ids


def _chosen(sentences: tuple[Sentence, ...], own: int) -> Sentence:
    if fooling := [sentence for sentence in sentences if sentence.best != own]:
        return min(fooling, key=lambda s: (sum(s.changed), s.probabilities[own]))
    return min(sentences, key=lambda s: s.probabilities[own])


def _kept(victim: Victim) -> tuple[bool, ...]:
    free = set(victim.free.tolist())
    return tuple(at not in free for at, special in enumerate(victim.special) if not special)


def _top(victim: Victim, theta: Tensor, k: int = 3) -> tuple[tuple[tuple[str, float], ...], ...]:
    chances, columns = theta.softmax(-1).topk(k)
    tokenizer = victim.checkpoint.tokenizer
    rows = {
        at: tuple(zip(tokenizer.convert_ids_to_tokens(victim.candidates[ids].tolist()), row, strict=True))
        for at, row, ids in zip(victim.free.tolist(), chances.tolist(), columns, strict=True)
    }
    own = tokenizer.convert_ids_to_tokens(victim.ids.tolist())
    return tuple(rows.get(at, ((word, 1.0),)) for at, word in enumerate(own) if not victim.special[at])


def substitute(
    checkpoint: Checkpoint, head: Classifier, text: str, method: str, swaps: int, kept: int = 0, seed: int = 0
) -> Sentence:
    """A text with ``swaps`` words replaced by a baseline.

    Args:
        method: ``random`` words at random positions; ``nearest``, at random positions the word of the nearest
            embedding; ``flips``, one after another the swap with the steepest first-order change of the margin
            (HotFlip: Ebrahimi et al. 2018, arXiv 1712.06751).

    Raises:
        InputEmpty, InputTooLong, InputUnusable, OutOfRange: as :func:`attack`.
    """
    victim = Victim(checkpoint, head, text, kept)
    generator = torch.Generator().manual_seed(seed)
    ids, swaps = victim.ids.clone(), min(swaps, len(victim.free))
    order = victim.free[torch.randperm(len(victim.free), generator=generator)[:swaps]]
    if method == "random":
        ids[order] = victim.candidates[torch.randint(len(victim.candidates), (swaps,), generator=generator)]
    elif method == "nearest":
        others = _cosines(victim) * (victim.candidates[None] != victim.ids[victim.free][:, None])
        nearest = dict(zip(victim.free.tolist(), victim.candidates[others.argmax(-1)].tolist(), strict=True))
        ids[order] = torch.tensor([nearest[at] for at in order.tolist()], dtype=ids.dtype)
    elif method == "flips":
        left = victim.free.tolist()
        for _ in range(swaps):
            turns.step()
            at, word = _flip(victim, ids, torch.tensor(left))
            ids[at] = word
            left.remove(at)
    else:
        raise OutOfRange("A baseline is “random”, “nearest” or “flips”.")
    return victim.sentences(ids[None])[0]


def _flip(victim: Victim, ids: Tensor, free: Tensor) -> tuple[int, int]:
    """The position and the word whose swap lowers the margin most, to first order."""
    inputs = victim.table[ids][None].clone().requires_grad_()
    states: list[Tensor] = []

    def read(final: Tensor) -> Tensor:
        states.append(final)
        return final[:, :1]

    edits = {Site(victim.kind, 0, "embed"): lambda _: inputs, Site(victim.kind, 0, "final"): read}
    run(victim.model, {"input_ids": ids[None]}, edits=edits, gradients=True)
    (gradient,) = torch.autograd.grad(victim.margins(victim.classify(states[0])).sum(), [inputs])
    words = victim.table[victim.candidates]
    gains = gradient[0, free] @ words.T - (gradient[0, free] * victim.table[ids[free]]).sum(-1, keepdim=True)
    row, column = divmod(int(gains.argmin()), len(words))
    return int(free[row]), int(victim.candidates[column])


def perplexity(checkpoint: Checkpoint, text: str) -> float:
    """Of a text under a decoder, per token: e to the mean of -ln p, from the second token on."""
    start = starts.prompt(checkpoint, text)
    ids = start.tensors["input_ids"][0]
    if len(ids) < 2:
        raise InputUnusable("A text of one token has no perplexity. Type a longer one.")
    logs = run(checkpoint.model, start.tensors).output.logits[0, :-1].float().log_softmax(-1)
    return exp(-float(logs.gather(-1, ids[1:, None]).mean()))
