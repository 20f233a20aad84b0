r"""Fine-tuning of a small model on a few labeled texts, epoch by epoch.

A linear head on the backbone's state of a text gives the probabilities of the K classes,

.. math:: p(y \mid x) = \mathrm{softmax}(V h(x) + c)_y, \qquad L = -\frac1n \sum_i \ln p(y_i \mid x_i),

with :math:`h` at the first token, [CLS] (BERT, arXiv 1810.04805, section 4), the mean over all tokens, or at the last
token, the only one that attends to the whole text under a causal mask (GPT, 2018, section 3.2). BART gets the text in
its encoder and again in its decoder, whose last state the head reads (arXiv 1910.13461, section 3.1): its backbone
shifts the text by itself. Besides the head are trained: nothing, adapters, low-rank updates (LoRA), the highest layer,
or everything:

.. math::

    \text{adapter after each layer: } h' = h + W_{up}\, \mathrm{gelu}(W_{down} h), \qquad
    \text{LoRA in each matrix: } y = W x + B A x.

:math:`W_{up}` and :math:`B` start at zero, so training starts from the pretrained model (adapters: Houlsby et al.,
arXiv 1902.00751, who put two in a layer; LoRA: Hu et al., arXiv 2106.09685). All visitors share the loaded model; a
copy is trained. Dropout is off: so few steps gain nothing from it, and the same seed gives the same run.

Shapes: n texts, q tokens, d hidden size, K classes.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from core.attention.tokens import align
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.finetuning import as_text, spans, text_to_text
from core.finetuning.examples import Example, LabeledSet
from core.finetuning.setup import BATCH, HEAD_RATE, LARGEST, SIZES, Epoch, Format, Setup
from core.language.tokens import check_length, describe, tokenize
from core.language.types import Token
from core.run.model import Model, Module, call
from core.turns import turns

WEIGHT_DECAY = 0.01


class Learner:
    """A copy of a model's backbone with a head, and what of both is trained."""

    def __init__(self, checkpoint: Checkpoint, classes: int, setup: Setup) -> None:
        """
        Raises:
            OutOfRange: a setting is out of range.
        """
        if not (1 <= setup.epochs <= 100 and 1e-6 <= setup.rate <= 0.1):
            raise OutOfRange("Epochs lie from 1 to 100, the learning rate from 0.000001 to 0.1.")
        if not 0 <= setup.size <= LARGEST:
            raise OutOfRange(f"Rank and bottleneck lie from 1 to {LARGEST}.")
        self.setup, self.checkpoint = setup, checkpoint
        self._random = torch.Generator().manual_seed(setup.seed)
        base = checkpoint.model.base_model
        if not setup.pretrained:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(setup.seed)
                self.backbone: Model = type(base)(base.config).eval()
            pooler = dict(self.backbone.named_children()).keys() - dict(base.named_children()).keys()
            for name in pooler:  # that the pretrained backbone lacks as well
                setattr(self.backbone, name, None)
        elif setup.trained == "head":
            self.backbone = base
        else:
            self.backbone = copy.deepcopy(base).eval()
        self.head = nn.Linear(base.config.get_text_config().hidden_size, classes)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)
        self.parameters = self._prepare()

    def _prepare(self) -> dict[str, nn.Parameter]:
        """The trained parameters of the backbone by name; all others are frozen."""
        trained, backbone = self.setup.trained, self.backbone
        if trained == "head":
            return {}
        layers = backbone.get_submodule(self.layers[0])
        backbone.requires_grad_(trained == "all")
        size = self.setup.size or SIZES.get(trained, 0)
        if trained == "top":
            layers[-1].requires_grad_(True)
        elif trained == "adapters":
            width = self.head.in_features
            for number, layer in enumerate(layers):
                adapter = _Adapter(width, size, self._random)
                backbone.add_module(f"adapter{number}", adapter)
                layer.register_forward_hook(adapter.after)
        elif trained == "lora":
            for number, layer in enumerate(layers):
                for name, module in list(layer.named_modules()):
                    if _is_matrix(module):
                        low_rank = _LowRank(module, size, self._random)
                        backbone.add_module(f"lora{number}_{name.replace('.', '_')}", low_rank)
                        module.register_forward_hook(low_rank.after)
        return {name: value for name, value in backbone.named_parameters() if value.requires_grad}

    @property
    def layers(self) -> tuple[str, int]:
        """The name of the backbone's list of layers, and their number."""
        lists = ((name, len(m)) for name, m in self.backbone.named_modules() if isinstance(m, nn.ModuleList))
        return max(lists, key=lambda entry: entry[1])

    @property
    def trained(self) -> int:
        """The number of trained parameters, the head's included."""
        return sum(value.numel() for value in (*self.parameters.values(), *self.head.parameters()))

    @property
    def whole(self) -> int:
        """The number of parameters of backbone and head."""
        base = self.checkpoint.model.base_model
        return sum(value.numel() for value in (*base.parameters(), *self.head.parameters()))

    def encode(self, texts: Sequence[Example | str]) -> dict[str, Tensor]:
        """Ids, attention mask and, of pairs, segments (n, q), padded on the right; of tagged sentences also
        ``reads``, how many words begin in a token, and of questions, which tokens are of the passage.

        Raises:
            InputTooLong: a text has more tokens than the model has positions.
        """
        examples = [Example("", text) if isinstance(text, str) else text for text in texts]
        tokenizer = self.checkpoint.tokenizer
        if (form := self.setup.format) == "plain":
            rows = [tokenizer(e.text, e.second or None, return_token_type_ids=True, verbose=False) for e in examples]
        else:
            rows = [{"input_ids": token_ids(self.checkpoint, example, form)} for example in examples]
        names = ["input_ids", "attention_mask"]
        if form == "plain" and examples[0].second and getattr(self.checkpoint.model.config, "type_vocab_size", 0) > 1:
            names.append("token_type_ids")
        columns = {name: [list(row[name]) for row in rows] for name in names if name != "attention_mask"}
        columns["attention_mask"] = [[1] * len(row) for row in columns["input_ids"]]
        longest = max(map(len, columns["input_ids"]))
        check_length(self.checkpoint, longest)
        if examples[0].sentence:
            read = [first_tokens(self.checkpoint, example)[1] for example in examples]
        else:
            read = [passage.at for passage in spans.tokenized(self.checkpoint, examples)] if examples[0].answer else []
        if read:
            columns["reads"] = [[positions.count(at) for at in range(longest)] for positions in read]
        fill = {"input_ids": tokenizer.pad_token_id or 0}
        encoded = {
            name: torch.tensor([[*row, *[fill.get(name, 0)] * (longest - len(row))] for row in rows])
            for name, rows in columns.items()
        }
        if form == "orders" and examples[0].second:
            others = [token_ids(self.checkpoint, replace(e, text=e.second, second=e.text), form) for e in examples]
            encoded["swapped"] = torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids in others])
        return encoded

    def states(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """(n, d): the state of each text; where ``reads`` is given (W, d), of each word or token that it counts."""
        arguments = {name: rows for name, rows in inputs.items() if name not in ("reads", "swapped")}
        hidden: Tensor = call(self.backbone, **arguments)[0]
        if "reads" in inputs:
            return hidden.flatten(0, 1).repeat_interleave(inputs["reads"].flatten(), 0)
        states = self.pool(hidden, inputs["attention_mask"])
        if "swapped" in inputs:
            states = states + self.pool(
                call(self.backbone, **arguments | {"input_ids": inputs["swapped"]})[0], inputs["attention_mask"]
            )
        return states

    def pool(self, hidden: Tensor, attended: Tensor) -> Tensor:
        """(n, d): of the states (n, q, d), what the head reads; ``attended`` (n, q) is the attention mask."""
        if self.setup.pooling == "first":
            return hidden[:, 0]
        if self.setup.pooling == "last":
            return hidden[torch.arange(len(hidden)), attended.sum(1) - 1]
        weights = attended[..., None].to(hidden.dtype)
        return (hidden * weights).sum(1) / weights.sum(1)

    def optimizer(self) -> torch.optim.AdamW:
        """AdamW for head and backbone, each with its learning rate."""
        groups: list[dict[str, Any]] = [{"params": list(self.head.parameters()), "lr": HEAD_RATE}]
        if self.parameters:
            groups.append({"params": list(self.parameters.values()), "lr": self.setup.rate})
        return torch.optim.AdamW(groups, weight_decay=WEIGHT_DECAY)

    def train(self, data: LabeledSet, *, last_only: bool = False) -> Iterator[Epoch]:
        """Train on ``data``; yield the state before, and after each epoch, or the last alone.

        Raises:
            InputTooLong: a text has more tokens than the model has positions.
            InputUnusable: the library's code for the model has no gradient.
        """
        begun, labels = time.monotonic(), data.labels
        goals, truth = (self._goals(examples, labels) for examples in (data.train, data.held_out))
        loss_of, best_of = _LOSSES.get(data.task, _class_loss), _BEST[data.task]
        inputs, held_out = self.encode(data.train), self.encode(data.held_out)
        optimizer = self.optimizer()
        # frozen features are computed once; a backbone that is trained is run for every batch
        features = None if self.parameters else (self._frozen(inputs), self._frozen(held_out))
        sizes, held_out_sizes = _sizes_of(inputs), _sizes_of(held_out)
        frozen = features and torch.split(features[0], sizes)

        def state(number: int, loss: float) -> Epoch:
            with torch.no_grad():
                scores = self.head(features[1] if features else self.states(held_out))
                best, probabilities = best_of(scores, held_out_sizes)
                accuracy = float((best == torch.cat(truth)).reshape(len(best), -1).all(1).float().mean())
            return Epoch(number, loss, accuracy, probabilities.numpy(), time.monotonic() - begun, self.trained)

        if not last_only:
            blind = torch.zeros(sum(sizes), self.head.out_features)
            yield state(0, float(loss_of(blind, goals, sizes)))
        for number in range(1, self.setup.epochs + 1):
            losses = []
            for chosen in torch.split(torch.randperm(len(goals), generator=self._random), BATCH):
                turns.step()
                batch = {name: rows[chosen] for name, rows in inputs.items()}
                states = torch.cat([frozen[i] for i in chosen]) if frozen else self.states(batch)
                goal = [goals[i] for i in chosen]
                loss = loss_of(self.head(states), goal, [sizes[i] for i in chosen])
                optimizer.zero_grad()
                self._differentiate(loss)
                nn.utils.clip_grad_norm_([*self.head.parameters(), *self.parameters.values()], 1.0)
                optimizer.step()
                losses.append(float(loss.detach()) * sum(map(len, goal)))
            if last_only and number < self.setup.epochs and time.monotonic() - begun <= self.setup.seconds:
                continue
            now = state(number, sum(losses) / sum(map(len, goals)))
            over = number == self.setup.epochs or now.seconds > self.setup.seconds
            if over:
                yield replace(now, last=True)
                return
            yield now

    def _differentiate(self, loss: Tensor) -> None:
        """Raises :class:`InputUnusable` where the library's code has no gradient, as RWKV's, which writes in place."""
        try:
            loss.backward()  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            name = self.checkpoint.spec.name
            raise InputUnusable(
                f"The layers of {name} cannot be trained here: the library's code for it overwrites numbers that the "
                "gradient needs. Training the head alone works."
            ) from error

    def _goals(self, examples: Sequence[Example], labels: Sequence[str]) -> list[Tensor]:
        """Of each example the numbers of its targets; of an answer (1, 2), its first and its last token."""
        if examples[0].answer:
            tokens = spans.tokenized(self.checkpoint, examples)
            return [torch.tensor([t.span(e.answer)]) for t, e in zip(tokens, examples, strict=True) if e.answer]
        return [torch.tensor([labels.index(target) for target in example.targets]) for example in examples]

    @torch.no_grad()
    def _frozen(self, inputs: Mapping[str, Tensor]) -> Tensor:
        return self.states(inputs)


def _sizes_of(inputs: Mapping[str, Tensor]) -> list[int]:
    """How many states each text has."""
    if "reads" in inputs:
        counts: list[int] = inputs["reads"].sum(1).tolist()
        return counts
    return [1] * len(inputs["input_ids"])


def _class_loss(scores: Tensor, goals: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """The cross-entropy of the classes or tags."""
    return functional.cross_entropy(scores, torch.cat(list(goals)))


def _classes(scores: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The best class of each text or word, and the probabilities of all."""
    return scores.argmax(-1), scores.softmax(-1)


def span_loss(scores: Tensor, goals: Sequence[Tensor], sizes: Sequence[int]) -> Tensor:
    """The cross-entropy of start and end over each passage; ``scores`` (tokens of all passages, 2)."""
    parts = nn.utils.rnn.pad_sequence(list(torch.split(scores, list(sizes))), batch_first=True, padding_value=-1e9)
    return functional.cross_entropy(parts, torch.cat(list(goals)))  # (n, q, 2): the axis of classes is the tokens


def _spans(scores: Tensor, sizes: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The best span of each passage (n, 2), and the probabilities of start and end (tokens of all passages, 2)."""
    parts = [part.softmax(0) for part in torch.split(scores, list(sizes))]
    return torch.tensor([spans.best_span(part.numpy()) for part in parts]), torch.cat(parts)


_LOSSES = {"spans": span_loss}
_BEST = {"classes": _classes, "tags": _classes, "spans": _spans}
"""What is predicted by scores, and its probabilities, by the task."""


def fine_tune(checkpoint: Checkpoint, data: LabeledSet, setup: Setup, *, last_only: bool = False) -> Iterator[Epoch]:
    """The epochs of one run: see :meth:`Learner.train`; of an encoder-decoder `core.finetuning.text_to_text`."""
    if as_text(checkpoint.spec):
        return text_to_text.train(checkpoint, data, setup)
    return Learner(checkpoint, len(data.labels), setup).train(data, last_only=last_only)


def token_ids(checkpoint: Checkpoint, example: Example, form: Format) -> list[int]:
    """The tokens of a text or a pair; the one that ends texts is start, delimiter and extract.

    Raises:
        InputUnusable: the model has no such token.
    """
    tokenizer = checkpoint.tokenizer
    if form == "plain":
        ids: list[int] = tokenizer(example.text, example.second or None, verbose=False)["input_ids"]
        return ids
    if (mark := tokenizer.eos_token_id) is None:
        raise InputUnusable("This model has no token that ends a text. Choose the plain input format.")
    texts = (example.text, example.second) if example.second else (example.text,)
    parts = [tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in texts]
    return [*(token for part in parts for token in (mark, *part)), mark]


def tokens(checkpoint: Checkpoint, example: Example, form: Format = "plain") -> tuple[Token, ...]:
    """The tokens of a text or a pair."""
    return describe(checkpoint.tokenizer, token_ids(checkpoint, example, form))


def first_tokens(checkpoint: Checkpoint, example: Example) -> tuple[tuple[Token, ...], tuple[int, ...]]:
    """The tokens of a sentence, and the position of each word's first token; a word in which none begins has that of
    the word before (``."`` is one token of GPT-2)."""
    assert example.sentence
    tokens = tokenize(checkpoint, example.text)
    first = np.maximum.accumulate(align(example.sentence, tokens).argmax(1))
    return tokens, tuple(first.tolist())


def _is_matrix(module: nn.Module) -> bool:
    """Whether it multiplies by a matrix: a linear layer, or GPT-2's with the transposed matrix."""
    return isinstance(module, nn.Linear) or type(module).__name__ == "Conv1D"


class _Adapter(nn.Module):
    """A bottleneck after a layer."""

    def __init__(self, width: int, size: int, random: torch.Generator) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.randn(size, width, generator=random) / width**0.5)
        self.up = nn.Parameter(torch.zeros(width, size))

    def after(self, layer: nn.Module, inputs: object, output: Any) -> Any:
        """A forward hook: the layer's output plus the bottleneck's."""
        hidden = output[0] if isinstance(output, tuple) else output
        changed = hidden + functional.gelu(hidden @ self.down.T) @ self.up.T
        return (changed, *output[1:]) if isinstance(output, tuple) else changed


class _LowRank(nn.Module):
    """A low-rank update beside a matrix."""

    def __init__(self, module: Module, size: int, random: torch.Generator) -> None:
        super().__init__()
        shape = tuple(module.weight.shape)
        outer, inner = shape if isinstance(module, nn.Linear) else shape[::-1]
        self.down = nn.Parameter(torch.randn(size, inner, generator=random) / inner**0.5)
        self.up = nn.Parameter(torch.zeros(outer, size))

    def after(self, module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """A forward hook: the output plus B A x."""
        return output + inputs[0] @ self.down.T @ self.up.T
