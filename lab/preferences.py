r"""The study ``preferences``: a decoder improved against a reward model that was trained on pairs.

The three steps of InstructGPT (Ouyang et al. 2022, arXiv 2203.02155) at a small size, on sentences of ``reviews.tsv``:

1. *Demonstrations*: the story decoder learns to write such sentences, positive and negative ones alike: the policy ρ.
2. *Comparisons*: a copy of ρ whose head has one output r learns n pairs of a positive (w) and a negative sentence (l),

   .. math:: L = -\ln \sigma(r_w - r_l).

3. *Optimization* against r: the best of n samples of ρ, or updates of the policy π by the gradient of

   .. math:: E_{y \sim \pi}\big[r(y) - \beta\, (\ln \pi(y) - \ln \rho(y))\big],

   with the mean reward of the other samples of a prompt as the baseline of each (REINFORCE, where the paper has PPO).

The best of n has a divergence of :math:`\ln n - (n - 1) / n` from ρ (Gao et al. 2022, arXiv 2210.10760). A gold
classifier of another architecture, trained on other sentences with their labels, stands for the people whom the pairs
come from: it tells positive from negative sentences, and both from broken ones, of which no pair has any. A sample is
compared with those of ρ for the same prompt: the share of them that score lower.
"""

from __future__ import annotations

import copy
import io
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, log
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError
from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import Setup
from core.finetuning.train import Learner
from lab import corpus as texts
from lab.distill import scores_of
from lab.files import write_file
from lab.recipe import SourceFile
from lab.train import STATE

FOLDER = STATE / "preferences"
GOOD, BAD, BROKEN = "positive", "negative", "broken"
CLASSIFIER = Setup("all", "first", epochs=1, rate=5e-4, seconds=1e6)
"""How the gold classifier is trained."""
DEMONSTRATIONS, HELD_OUT = 4000, 500
"""Sentences of step 1; pairs on which reward models are measured."""
PAIRS = (100, 1600)
PASSES = {100: 8, 1600: 1}
"""Over the pairs, in training a reward model."""
STEPS = 250
"""Updates of step 1."""
HELD, BEST = "held-out pairs", "best of n"
"""Methods: none, of a reward model on pairs; the best of n samples; others are policy gradients by their β."""
BETAS = {"policy gradient": 0.0, "policy gradient, KL": 0.2}
PROMPT, LONGEST = 2, 22
"""Words of a prompt; tokens of a sentence, the one that starts it included."""
PROMPTS, POOL, AGAIN = 32, 64, 4
"""Of the evaluation: prompts, samples of ρ for each, and samples of a later policy for each."""
GROUPS, GROUP = 8, 4
"""Prompts of an update, and samples for each."""
RATE = 3e-4
"""Of the updates."""
SAMPLES, UPDATES = (1, 2, 4, 8, 16, 32, 64), (1, 2, 4, 8, 16, 32)
"""The n of the best of n, and the updates after which a policy is measured."""


@dataclass(frozen=True, slots=True)
class Preferred:
    """How a scorer ranks held-out pairs, or a policy's samples."""

    method: str
    """:data:`HELD`, :data:`BEST` or a policy gradient of :data:`BETAS`."""
    pairs: int
    """Of the reward model; 0 for scorers that no pair trained."""
    seed: int
    amount: int
    """Samples n or updates; of held-out pairs 0."""
    scorer: str
    """reward (the reward model), or of the gold classifier: positive, or well-formed (positive and not broken); of
    held-out pairs also words (a weight for each word of the same pairs), length and likelihood (of ρ)."""
    preferred: float
    """Share: of held-out pairs, the better sentence; of samples, against those of ρ for the same prompt."""
    positive: float | str = ""
    """Share of the samples that the classifier finds positive."""
    divergence: float | str = ""
    """From ρ, in nats per sentence."""
    distinct: float | str = ""
    """Share of different sentences among the samples."""
    example: str = ""
    """The first sample."""


@dataclass(frozen=True, slots=True)
class Reviews:
    """Disjoint sentences by their use."""

    labeled: list[Example]
    """For the gold classifiers."""
    demonstrated: list[str]
    pairs: list[tuple[str, str]]
    """(better, worse)."""
    held_out: list[tuple[str, str]]


Score = Callable[[Sequence[str]], Tensor]
"""(n,) of n sentences; the higher is preferred."""


def reviews(
    corpus: Path, demonstrations: int = DEMONSTRATIONS, pairs: int = PAIRS[-1], held: int = HELD_OUT
) -> Reviews:
    """The sentences of a corpus.

    Raises:
        AtlasError: there are too few.
    """
    items = texts.items_of(corpus, SourceFile("reviews.tsv"), every=2)
    examples = list(dict.fromkeys(Example(item.text, item.other) for item in items))
    random.Random(0).shuffle(examples)
    sides = {label: [e.text for e in examples if e.label == label] for label in (GOOD, BAD)}
    compared = list(zip(*sides.values(), strict=False))[: pairs + held]
    taken = {text for pair in compared for text in pair}
    rest = [example for example in examples if example.text not in taken]
    if len(compared) < pairs + held or len(rest) < 2 * demonstrations:
        raise AtlasError(f"The corpus has too few reviews: {len(examples)}.")
    shown = [example.text for example in rest[:demonstrations]]
    return Reviews(rest[demonstrations:], shown, compared[held:], compared[:held])


def pair_loss(better: Tensor, worse: Tensor) -> Tensor:
    """Mean of −ln σ(r_w − r_l) over the pairs, in nats; ``better`` and ``worse`` (n,) are r_w and r_l."""
    return functional.softplus(worse - better).mean()


def best_of(proxy: Tensor, gold: Tensor, n: int) -> float:
    """Expected ``gold`` of the one with the highest ``proxy`` among n drawn from M, both (M,): over all draws."""
    count = len(proxy)
    chances = [comb(rank, n - 1) / comb(count, n) for rank in range(count)]
    return float(torch.tensor(chances, dtype=torch.float64) @ gold[proxy.argsort(stable=True)].double())


def against(scores: Tensor, pool: Tensor) -> Tensor:
    """Share of a pool (M,) to which each of the scores (n,) is preferred; a tie counts half."""
    return ((scores[:, None] > pool).double() + 0.5 * (scores[:, None] == pool).double()).mean(1)


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z']+", text.lower())


def counting(pairs: Sequence[tuple[str, str]]) -> Score:
    """A score that adds a weight for each word, learned from pairs with the loss of a reward model."""
    known = {
        word: number for number, word in enumerate({w: 0 for pair in pairs for text in pair for w in words_of(text)})
    }

    def counts(lines: Sequence[str]) -> Tensor:
        rows = torch.zeros(len(lines), len(known))
        for row, text in zip(rows, lines, strict=True):
            for word in words_of(text):
                if word in known:
                    row[known[word]] += 1
        return rows

    better, worse = (counts([pair[side] for pair in pairs]) for side in (0, 1))
    weights = torch.zeros(len(known), requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.05)
    for _ in range(300):
        loss = pair_loss(better @ weights, worse @ weights) + 1e-3 * weights.square().sum()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    fixed = weights.detach()
    return lambda lines: counts(lines) @ fixed


class Policy:
    """A decoder that writes sentences after prompts."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.model: Any = copy.deepcopy(checkpoint.model).eval().requires_grad_(True)
        self.tokenizer, self.spec = checkpoint.tokenizer, checkpoint.spec
        self.end = int(checkpoint.tokenizer.eos_token_id)

    @property
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(self.model, self.tokenizer, self.spec)

    def ids(self, text: str) -> list[int]:
        """Of a sentence or its beginning, behind the token that starts it."""
        return [self.end, *self.tokenizer(text, verbose=False)["input_ids"]][:LONGEST]

    def text(self, ids: Sequence[int]) -> str:
        row = list(ids[1:])
        return str(self.tokenizer.decode(row[: row.index(self.end)] if self.end in row else row))

    @torch.no_grad()
    def samples(self, prompts: Sequence[Sequence[int]], chance: torch.Generator) -> tuple[Tensor, Tensor]:
        """(R, LONGEST) tokens of a sentence for each prompt, and which of them were sampled, its end included."""
        rows = torch.full((len(prompts), LONGEST), self.end)
        for row, prompt in zip(rows, prompts, strict=True):
            row[: len(prompt)] = torch.tensor(prompt)
        begun = torch.tensor([len(prompt) for prompt in prompts])
        sampled, over, past = torch.zeros_like(rows, dtype=torch.bool), torch.zeros(len(rows), dtype=torch.bool), None
        for at in range(1, LONGEST):
            made = self.model(input_ids=rows[:, at - 1 : at], past_key_values=past, use_cache=True)
            past = made.past_key_values
            drawn = torch.multinomial(made.logits[:, -1].softmax(-1), 1, generator=chance)[:, 0]
            sampled[:, at] = (begun <= at) & ~over
            rows[:, at] = torch.where(sampled[:, at], drawn, rows[:, at])
            over |= sampled[:, at] & (drawn == self.end)
            if bool(over.all()):
                break
        return rows, sampled

    def logs(self, rows: Tensor, counted: Tensor) -> Tensor:
        """(R,) log-probability of the counted tokens of each row (R, n), in nats."""
        longest = int(counted.any(0).nonzero().max()) + 1
        rows, counted = rows[:, :longest], counted[:, 1:longest]
        logits = self.model(input_ids=rows[:, :-1]).logits
        each = -functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="none")
        return (each.view(counted.shape) * counted).sum(1)

    def padded(self, lines: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Whole sentences (R, LONGEST), and which of their tokens are predicted, the end included."""
        rows = torch.full((len(lines), LONGEST), self.end)
        for row, text in zip(rows, lines, strict=True):
            ids = self.ids(text)
            row[: len(ids)] = torch.tensor(ids)
        counted = torch.zeros_like(rows, dtype=torch.bool)
        for mask, text in zip(counted, lines, strict=True):
            mask[1 : len(self.ids(text)) + 1] = True
        return rows, counted


def demonstrate(policy: Policy, lines: Sequence[str], rate: float = 5e-4) -> None:
    """Step 1: fine-tune on sentences."""
    optimizer = torch.optim.AdamW(policy.model.parameters(), lr=rate)
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
    chance = random.Random(0)
    for _ in range(STEPS):
        rows, counted = policy.padded(chance.sample(lines, 48))
        loss = -policy.logs(rows, counted).sum() / counted.sum()
        _update(loss, policy.model, optimizer)
        falling.step()


def rewarding(policy: Policy, pairs: Sequence[tuple[str, str]], seed: int, rate: float = 2e-4) -> Score:
    """Step 2: the policy with a head of one output, trained on pairs (better, worse)."""
    learner = Learner(policy.checkpoint, 1, Setup("all", "last", rate=rate, seed=seed))
    sides = [learner.encode([pair[side] for pair in pairs]) for side in (0, 1)]
    optimizer, chance = learner.optimizer(), torch.Generator().manual_seed(seed)
    for _ in range(PASSES[len(pairs)]):
        for chosen in torch.split(torch.randperm(len(pairs), generator=chance), 16):
            better, worse = (
                learner.head(learner.states({name: rows[chosen] for name, rows in side.items()}))[:, 0]
                for side in sides
            )
            optimizer.zero_grad()
            pair_loss(better, worse).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_([*learner.head.parameters(), *learner.parameters.values()], 1.0)
            optimizer.step()
    return lambda lines: scores_of(learner, lines)[:, 0]


def _update(loss: Tensor, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


class Reference:
    """What samples are compared with: those of ρ for some prompts, and how each gold classifier scores them."""

    def __init__(self, policy: Policy, prompts: Sequence[Sequence[int]], golds: Mapping[str, Score]) -> None:
        chance = torch.Generator().manual_seed(0)
        drawn = [policy.samples([prompt] * POOL, chance)[0] for prompt in prompts]
        self.policy, self.prompts, self.golds = policy, prompts, golds
        self.texts = [policy.text(row) for rows in drawn for row in rows.tolist()]
        self.scores = {name: self.read(score) for name, score in golds.items()}

    def read(self, score: Score) -> Tensor:
        """(P, M) scores of the samples of each prompt."""
        return score(self.texts).view(len(self.prompts), -1)


def chosen(reference: Reference, proxy: Tensor, row: Preferred) -> Iterator[Preferred]:
    """The best of n by a reward model; ``proxy`` (P, M) are its rewards."""
    for n in (n for n in SAMPLES if n <= POOL):
        divergence, example = log(n) - (n - 1) / n, reference.texts[int(proxy[0, :n].argmax())]
        for name, scores in {"reward": proxy, **reference.scores}.items():
            preferred = [best_of(own, against(of, of), n) for own, of in zip(proxy, scores, strict=True)]
            positive = [best_of(own, (of > 0).double(), n) for own, of in zip(proxy, scores, strict=True)]
            yield replace(
                row,
                amount=n,
                scorer=name,
                preferred=fmean(preferred),
                positive="" if name == "reward" else fmean(positive),
                divergence=divergence if name == "reward" else "",
                example=_plain(example),
            )


def improved(
    reference: Reference, reward: Score, proxy: Tensor, prompts: Sequence[Sequence[int]], row: Preferred
) -> Iterator[Preferred]:
    """Step 3: updates of a copy of ρ, which is measured after 1, 2, 4, ... of them."""
    policy = Policy(reference.policy.checkpoint)
    optimizer = torch.optim.Adam(policy.model.parameters(), lr=RATE)
    chance, order = torch.Generator().manual_seed(row.seed), random.Random(row.seed)
    for update in range(1, UPDATES[-1] + 1):
        asked = [prompt for prompt in order.sample(prompts, GROUPS) for _ in range(GROUP)]
        rows, sampled = policy.samples(asked, chance)
        rewards = (reward([policy.text(ids) for ids in rows.tolist()]) - proxy.mean()) / proxy.std()
        logs = policy.logs(rows, sampled)
        with torch.no_grad():
            priced = rewards - BETAS[row.method] * (logs - reference.policy.logs(rows, sampled))
        groups = priced.view(-1, GROUP)
        others = (groups.sum(1, keepdim=True) - groups) / (GROUP - 1)
        _update(-((groups - others).flatten() * logs).mean(), policy.model, optimizer)
        if update in UPDATES:
            yield from _state(reference, policy, reward, proxy, replace(row, amount=update))


@torch.no_grad()
def _state(reference: Reference, policy: Policy, reward: Score, proxy: Tensor, row: Preferred) -> Iterator[Preferred]:
    """How each scorer ranks new samples of a policy."""
    asked = [prompt for prompt in reference.prompts for _ in range(AGAIN)]
    rows, sampled = policy.samples(asked, torch.Generator().manual_seed(row.seed))
    divergence = float((policy.logs(rows, sampled) - reference.policy.logs(rows, sampled)).mean())
    lines = [policy.text(ids) for ids in rows.tolist()]
    for name, score in {"reward": reward, **reference.golds}.items():
        scores, pool = score(lines), proxy if name == "reward" else reference.scores[name]
        parts = zip(scores.view(len(pool), -1), pool, strict=True)
        yield replace(
            row,
            scorer=name,
            preferred=float(torch.stack([against(own, other).mean() for own, other in parts]).mean()),
            positive="" if name == "reward" else float((scores > 0).double().mean()),
            divergence=divergence if name == "reward" else "",
            distinct=len(set(lines)) / len(lines),
            example=_plain(lines[0]),
        )


def _plain(text: str) -> str:
    """As it stands in a table's cell."""
    return text.replace('"', "").replace("\n", " ")


def right(score: Score, pairs: Sequence[tuple[str, str]]) -> float:
    """Share of the pairs whose better sentence has the higher score; a tie counts half."""
    better, worse = (score([pair[side] for pair in pairs]) for side in (0, 1))
    return float(((better > worse).double() + 0.5 * (better == worse).double()).mean())


def broken(examples: Sequence[Example]) -> list[Example]:
    """Every second sentence with its words in random order, or with a third of them replaced by words of others."""
    chance, out = random.Random(0), []
    pool = [word for example in examples for word in example.text.split()]
    for number, example in enumerate(examples[::2]):
        words = example.text.split()
        if number % 2:
            chance.shuffle(words)
        else:
            words = [chance.choice(pool) if chance.random() < 1 / 3 else word for word in words]
        out.append(Example(BROKEN, " ".join(words)))
    return [example for example in out if example.text not in {other.text for other in examples}]


def classifiers(examples: Sequence[Example], file: Path) -> dict[str, Score]:
    """Log-odds of an encoder that learned three classes: positive against negative, and against broken as well."""
    first = [next(example for example in examples if example.label == label) for label in (GOOD, BAD)]
    data = LabeledSet((*first, *examples, *broken(examples)), tuple(first))  # they set the order of the classes
    learner = Learner(checkpoints.load(checkpoints.first("fine-tuning")[0]), len(data.labels), CLASSIFIER)
    _kept(file, (learner.backbone, learner.head), lambda: list(learner.train(data, last_only=True)))

    def positive(lines: Sequence[str]) -> Tensor:
        scores = scores_of(learner, lines)
        return scores[:, 0] - scores[:, 1]

    def well_formed(lines: Sequence[str]) -> Tensor:
        scores = scores_of(learner, lines)
        return scores[:, 0] - scores[:, 1:].logsumexp(1)

    return {"positive": positive, "well-formed": well_formed}


def _kept(file: Path, modules: Sequence[Any], train: Callable[[], object]) -> None:
    """Train modules, or read what an interrupted study has trained."""
    if file.is_file():
        for module, state in zip(modules, torch.load(file, weights_only=True), strict=True):
            module.load_state_dict(state)
        return
    train()
    out = io.BytesIO()
    torch.save([module.state_dict() for module in modules], out)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, out.getvalue())


def on_pairs(pairs: Sequence[tuple[str, str]], scorers: Mapping[str, Score], row: Preferred) -> list[Preferred]:
    """How scorers rank held-out pairs."""
    return [replace(row, scorer=name, preferred=right(score, pairs)) for name, score in scorers.items()]


def runs(done: Sequence[Preferred], corpus: Path, seeds: int) -> Iterator[list[Preferred]]:
    """The rows of each reward model and each policy that is not done."""
    finished = {(row.method, row.pairs, row.seed) for row in done}
    texts_of, policy = (
        reviews(corpus, DEMONSTRATIONS, PAIRS[-1], HELD_OUT),
        Policy(checkpoints.load(checkpoints.first("generation")[0])),
    )
    _kept(FOLDER / "policy.pt", (policy.model,), lambda: demonstrate(policy, texts_of.demonstrated))
    golds = classifiers(texts_of.labeled, FOLDER / "gold.pt")
    begun, held_out = (
        [policy.ids(" ".join(text.split()[:PROMPT])) for text in lines]
        for lines in (texts_of.demonstrated, [text for pair in texts_of.held_out for text in pair])
    )
    reference = Reference(policy, held_out[:PROMPTS], golds)
    for seed in range(seeds):
        blank = Preferred(HELD, 0, seed, 0, "", 0)
        if (HELD, 0, seed) not in finished:
            yield on_pairs(texts_of.held_out, golds, blank)
        order = list(texts_of.pairs)
        random.Random(seed).shuffle(order)
        for count in PAIRS:
            wanted = [method for method in methods(count) if (method, count, seed) not in finished]
            if not wanted and (BEST, count, seed) in finished:
                continue
            pairs, blank = order[:count], replace(blank, pairs=count)
            reward = rewarding(policy, pairs, seed)
            proxy = reference.read(reward)
            if (BEST, count, seed) not in finished:
                others = {"reward": reward, "words": counting(pairs), **plain(policy, pairs)}
                best = chosen(reference, proxy, replace(blank, method=BEST))
                yield [*on_pairs(texts_of.held_out, others, blank), *best]
            for method in wanted:
                yield list(improved(reference, reward, proxy, begun, replace(blank, method=method)))


def plain(policy: Policy, pairs: Sequence[tuple[str, str]]) -> dict[str, Score]:
    """Scores that know nothing of the words, each with the sign that is right for more of the pairs."""

    @torch.no_grad()
    def likelihood(lines: Sequence[str]) -> Tensor:
        return torch.cat([policy.logs(*policy.padded(lines[at : at + 100])) for at in range(0, len(lines), 100)])

    def length(lines: Sequence[str]) -> Tensor:
        return torch.tensor([float(len(words_of(line))) for line in lines])

    def signed(score: Score) -> Score:
        return score if right(score, pairs) >= 0.5 else lambda lines: -score(lines)

    return {"length": signed(length), "likelihood": signed(likelihood)}


def methods(pairs: int) -> tuple[str, ...]:
    """The policy gradients against a reward model of that many pairs."""
    return tuple(BETAS) if pairs == PAIRS[0] else tuple(BETAS)[:1]
