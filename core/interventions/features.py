r"""Features: what one layer leaves, as a sum of a few of many learned directions.

A sparse autoencoder reads the state x of a token and writes it again. With :math:`\mu` the mean state,

.. math:: a = \mathrm{ReLU}(W^e (x - \mu) + b), \qquad z_i = a_i \,[a_i > \theta], \qquad \hat x = \sum_i z_i d_i + c

each feature i has a direction :math:`d_i` of length 1, and :math:`\theta` is one threshold for all (BatchTopK: Bussmann
et al. 2024, arXiv 2412.06410; sparse autoencoders of language models: Bricken et al. 2023, Transformer Circuits;
Cunningham et al. 2023, arXiv 2309.08600). To switch a feature off, what it writes is taken from the state of every
token, and what the autoencoder does not explain stays:

.. math:: x \leftarrow x - z_i d_i

The control takes as much along a random direction: :math:`x \leftarrow x - z_i r` with :math:`\lVert r \rVert = 1`.

A file for each model, as ``python -m lab features`` writes it, and a table of the same name with what was measured.

Legend: F features, w hidden size, n tokens, T texts of a feature, C tokens of each.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache

from pydantic import BaseModel

from core.arrays import Floats
from core.attention.ablation.ablate import Change, kl_bits
from core.attention.ablation.question import ask, names
from core.checkpoints.spec import Checkpoint
from core.errors import InputUnusable, OutOfRange
from core.language.inputs import Inputs
from core.language.makers import inputs
from core.language.types import labels
from core.lazy import Tensor, torch
from core.run.run import Site, run
from core.settings import ASSETS

FOLDER = ASSETS / "features"
CONTROLS = 16
"""Random directions of the control."""
SHOWN, ENOUGH, OFTEN = 16, 13, 24
"""How a feature was judged: see `Judged`."""


class Judged(BaseModel, frozen=True, extra="forbid"):
    """A feature drawn at random, and what a reader made of it."""

    feature: int
    name: str
    """Empty where the reader found none."""
    right: int
    """Of `SHOWN` texts that the reader had not seen, those of which the name told whether the feature is active."""
    token: str = ""
    """The one token that it detects, if it does no more."""

    @property
    def named(self) -> bool:
        """Whether its name predicts where it is active: chance has as many right in 1 of 94 features."""
        return self.right >= ENOUGH


class Measured(BaseModel, frozen=True, extra="forbid"):
    """An autoencoder on held-out texts."""

    layer: int
    """From 0, whose output it reads."""
    features: int
    trained: int
    """Tokens that it was trained on."""
    tokens: int
    """Held-out tokens."""
    explained: float
    """The share of the variance of the states."""
    alive: int
    """Features that are active at least once."""
    active: float
    """Mean number of active features of a token."""
    clean: float
    """The loss of the model, in nats per token; with the reconstruction in place of the states; with their mean."""
    reconstructed: float
    mean: float
    judged: tuple[Judged, ...] = ()
    """Of features drawn at random among those that are active at `OFTEN` held-out tokens."""


@dataclass(frozen=True, slots=True, eq=False)
class Autoencoder:
    encoder: Tensor
    """(F, w)"""
    bias: Tensor
    """(F,)"""
    center: Tensor
    """(w,) the mean state."""
    threshold: float
    decoder: Tensor
    """(F, w), each of length 1."""
    offset: Tensor
    """(w,)"""

    def activations(self, states: Tensor) -> Tensor:
        """(..., F) of states (..., w)."""
        values = torch.relu((states.float() - self.center) @ self.encoder.T + self.bias)
        return values * (values > self.threshold)

    def reconstruct(self, activations: Tensor) -> Tensor:
        """(..., w) of activations (..., F)."""
        return activations @ self.decoder + self.offset


@dataclass(frozen=True, slots=True)
class Text:
    """A held-out text where a feature is strongly active."""

    before: str
    token: str
    after: str
    activation: float


@dataclass(frozen=True, slots=True)
class Features:
    """The features of a text that are active most strongly at one of its tokens, the strongest first."""

    tokens: tuple[str, ...]
    features: tuple[int, ...]
    activations: Floats
    """(features, n)"""
    explained: float
    """The share of the variance of this text's states around the mean state."""


@dataclass(frozen=True, slots=True)
class Switched:
    """The next token after a text, with everything, without a feature, and without as much of random directions."""

    changes: tuple[Change, ...]
    """Of the most probable tokens before and after."""
    control: tuple[float, ...]
    """The probabilities of the same tokens, the mean over the random directions."""
    bits: float
    """KL(before ‖ after)."""
    control_bits: tuple[float, ...]
    """The same for each random direction."""


@lru_cache(maxsize=1)
def stored() -> frozenset[str]:
    """The models with an autoencoder."""
    return frozenset(path.stem for path in FOLDER.glob("*.safetensors"))


@lru_cache(maxsize=4)
def measured(slug: str) -> Measured:
    return Measured.model_validate(tomllib.loads((FOLDER / f"{slug}.toml").read_text(encoding="utf-8")))


@lru_cache(maxsize=2)
def autoencoder(slug: str) -> Autoencoder:
    tensors = _tensors(slug)
    parts = ("encoder", "bias", "center", "decoder", "offset")
    return Autoencoder(**{part: tensors[part].float() for part in parts}, threshold=float(tensors["threshold"]))


@lru_cache(maxsize=2)
def _tensors(slug: str) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    return load_file(FOLDER / f"{slug}.safetensors")


def top_texts(checkpoint: Checkpoint, feature: int) -> tuple[Text, ...]:
    """Held-out texts where a feature is most strongly active, each of another passage; none for one that never is.

    Raises:
        OutOfRange: no such feature.
        InputUnusable: a model without an autoencoder.
    """
    _check(checkpoint, feature)
    tensors, decode = _tensors(checkpoint.spec.slug), checkpoint.tokenizer.decode
    texts = []
    for ids, at, activation in zip(
        *(tensors[name][feature].tolist() for name in ("texts", "at", "strength")), strict=True
    ):
        if activation:
            read = [i for i in ids if i >= 0]
            parts = (read[:at], [read[at]], read[at + 1 :])
            before, token, after = (decode(part, skip_special_tokens=True) for part in parts)
            texts.append(Text(before, token, after, activation))
    return tuple(texts)


def read_features(checkpoint: Checkpoint, text: str, most: int = 12) -> Features:
    """The features of a text, at most ``most``.

    Raises:
        InputUnusable: a model without an autoencoder.
        InputEmpty, InputTooLong: as `core.language.makers.inputs`.
    """
    question, site = _question(checkpoint, text)
    learned = autoencoder(checkpoint.spec.slug)
    states = run(checkpoint.model, question.tensors, keep={site})[site][0].float()
    activations = learned.activations(states)
    best = activations.amax(0).topk(most)
    found = best.indices[best.values > 0]
    rest = states - learned.reconstruct(activations)
    around = states - learned.center
    return Features(
        labels(question.tokens),
        tuple(found.tolist()),
        activations[:, found].T.numpy(),
        1 - float((rest**2).sum() / (around**2).sum()),
    )


def switch_off(checkpoint: Checkpoint, text: str, feature: int, position: int, k: int = 6) -> Switched:
    """The token after the one at ``position``, with and without a feature at all tokens.

    Raises:
        OutOfRange: no such feature or token.
        InputUnusable, InputEmpty, InputTooLong: as :func:`read_features`.
    """
    _check(checkpoint, feature)
    question, site = _question(checkpoint, text)
    if not 0 <= position < len(question.tokens):
        raise OutOfRange(f"This text has {len(question.tokens)} tokens, not {position + 1}.")
    question = replace(question, positions=(position,))
    learned = autoencoder(checkpoint.spec.slug)
    random = torch.randn(CONTROLS, len(learned.center), generator=torch.Generator().manual_seed(feature))
    directions = torch.cat(
        (torch.zeros_like(random[:1]), learned.decoder[[feature]], random / random.norm(dim=-1, keepdim=True))
    )

    def take(states: Tensor) -> Tensor:
        active = learned.activations(states[:1])[..., [feature]]  # (1, n, 1): all rows are one text up to here
        return states - (active * directions[:, None]).to(states)

    before, after, *control = ask(question, len(directions), edits={site: take}).logs
    ids = {*before.topk(k).indices.tolist(), *after.topk(k).indices.tolist()}
    ordered = sorted(ids, key=lambda i: (-max(float(before[i]), float(after[i])), i))
    changes = (
        Change(name, i, math.exp(before[i]), math.exp(after[i]))
        for name, i in zip(names(question, ordered), ordered, strict=True)
    )
    others = torch.stack(control)
    return Switched(
        tuple(changes),
        tuple(others[:, ordered].exp().mean(0).tolist()),
        float(kl_bits(before, after)),
        tuple(float(kl_bits(before, other)) for other in others),
    )


def _question(checkpoint: Checkpoint, text: str) -> tuple[Inputs, Site]:
    """The text as the model reads it, and the site of the states."""
    return inputs(checkpoint, text, step=0), Site("decoder", measured(_slug(checkpoint)).layer, "resid_post")


def _check(checkpoint: Checkpoint, feature: int) -> None:
    count = len(autoencoder(_slug(checkpoint)).bias)
    if not 0 <= feature < count:
        raise OutOfRange(f"There is no feature {feature:,}: they count from 0 to {count - 1:,}.")


def _slug(checkpoint: Checkpoint) -> str:
    if checkpoint.spec.slug not in stored():
        raise InputUnusable(f"No features are stored for {checkpoint.spec.name}. Choose another model.")
    return checkpoint.spec.slug
