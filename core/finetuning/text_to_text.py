r"""Fine-tuning an encoder-decoder: the task as text, without a head (T5, arXiv 1910.10683, section 2.4).

A prefix and the text are the input, the label's own tokens are the target, and all weights are trained on

.. math:: L = -\frac1T \sum_t \ln p(y_t \mid y_{<t}, x), \qquad p(y \mid x) = \prod_t p(y_t \mid y_{<t}, x).

Each label ends with the end token, so the probabilities of the K labels are exact, and what they lack of 1 belongs to
texts that are no label. The prediction is what greedy decoding generates; a text that is no label counts as wrong.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from core.checkpoints.spec import Checkpoint
from core.errors import OutOfRange
from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import BATCH, Epoch, Setup
from core.language.tokens import check_length
from core.run.model import Model, call
from core.turns import turns

WEIGHT_DECAY = 0.01
IGNORED = -100
"""The target of a position without a loss, as transformers has it."""


def source(example: Example) -> str:
    """The input of a text or a pair."""
    second = f" second: {example.second}" if example.second else ""
    return f"{'classify first' if second else 'classify'}: {example.text}{second}"


def pieces(checkpoint: Checkpoint, text: str) -> tuple[str, ...]:
    """The tokens of an input or a label."""
    return tuple(checkpoint.tokenizer.convert_ids_to_tokens(checkpoint.tokenizer(text)["input_ids"]))


def train(checkpoint: Checkpoint, data: LabeledSet, setup: Setup) -> Iterator[Epoch]:
    """Train a copy of the whole model; yield the state before, and after each epoch.

    Raises:
        InputTooLong: a text has more tokens than the model has positions.
        OutOfRange: a setting is out of range.
    """
    if not (1 <= setup.epochs <= 100 and 1e-6 <= setup.rate <= 0.1):
        raise OutOfRange("Epochs lie from 1 to 100, the learning rate from 0.000001 to 0.1.")
    begun, random = time.monotonic(), torch.Generator().manual_seed(setup.seed)
    model = _copy(checkpoint, setup)
    optimizer = torch.optim.AdamW(model.parameters(), setup.rate, weight_decay=WEIGHT_DECAY)
    inputs, held_out = _encode(checkpoint, data.train), _encode(checkpoint, data.held_out)
    labels = [torch.tensor(checkpoint.tokenizer(label)["input_ids"]) for label in data.labels]
    padded = nn.utils.rnn.pad_sequence(labels, batch_first=True, padding_value=IGNORED)
    goals, truth = (torch.tensor([data.labels.index(e.label) for e in part]) for part in (data.train, data.held_out))

    def state(number: int, loss: float, *, last: bool = False) -> Epoch:
        scores, greedy = _label_scores(model, held_out, labels)
        right = greedy[torch.arange(len(truth)), truth].float().mean()
        trained = sum(value.numel() for value in model.parameters())
        return Epoch(*(number, loss, float(right), scores.exp().numpy(), time.monotonic() - begun, trained), last=last)

    with torch.no_grad():
        yield state(0, float(call(model, **inputs, labels=padded[goals]).loss))
    for number in range(1, setup.epochs + 1):
        losses = []
        for chosen in torch.split(torch.randperm(len(goals), generator=random), BATCH):
            turns.step()
            loss = call(
                model, **{name: rows[chosen] for name, rows in inputs.items()}, labels=padded[goals[chosen]]
            ).loss
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(float(loss.detach()) * len(chosen))
        over = number == setup.epochs or time.monotonic() - begun > setup.seconds
        yield state(number, sum(losses) / len(goals), last=over)
        if over:
            return


def _copy(checkpoint: Checkpoint, setup: Setup) -> Model:
    """The model with its own or with random weights; without dropout."""
    model = checkpoint.model
    if setup.pretrained:
        return copy.deepcopy(model).eval().requires_grad_(True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(setup.seed)
        return type(model)(model.config).eval()


def _encode(checkpoint: Checkpoint, examples: Sequence[Example]) -> dict[str, Tensor]:
    """Ids and attention mask (n, q)."""
    tokenizer = checkpoint.tokenizer
    encoded = tokenizer([source(example) for example in examples], padding=True, return_tensors="pt", verbose=False)
    check_length(checkpoint, encoded["input_ids"].shape[1])
    return {name: encoded[name] for name in ("input_ids", "attention_mask")}


@torch.no_grad()
def _label_scores(model: Model, inputs: dict[str, Tensor], labels: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(n, K): the log-probability of each label, and whether greedy decoding generates it."""
    encoded = call(model.get_encoder(), **inputs)
    scores, greedy = [], []
    for label in labels:
        goal = label.repeat(len(inputs["input_ids"]), 1)
        logits = call(model, encoder_outputs=encoded, attention_mask=inputs["attention_mask"], labels=goal).logits
        scores.append(logits.log_softmax(-1).gather(-1, goal[..., None])[..., 0].sum(-1))
        greedy.append((logits.argmax(-1) == goal).all(-1))
    return torch.stack(scores, -1), torch.stack(greedy, -1)
