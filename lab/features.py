r"""``python -m lab features``: a sparse autoencoder of what one layer of a decoder leaves, and what it is good for.

`core.interventions.features` defines it. It learns from the states of windows of the decoder's training text, each of
which starts with a line as the text of a visitor does. With N states in a batch, the activations that are kept are the
:math:`k N` largest of the batch (BatchTopK: Bussmann et al. 2024, arXiv 2412.06410), and :math:`\theta` is the running
mean of the smallest that is kept. The loss is the squared error of the reconstruction; features that were not active
for `DEAD` tokens reconstruct what is left of it, so that they come back (Gao et al. 2024, arXiv 2406.04093):

.. math:: L = \lVert x - \hat x \rVert^2 + \tfrac1{32} \lVert (x - \hat x) - \hat e \rVert^2

While it learns, states have mean 0, and a dimension the mean variance 1. The directions keep length 1.

Measured on the held-out books: the loss of the model with the reconstruction in place of the states, against the loss
with all of it and with the mean state, and each feature's top texts.

Legend: N states, F features, w hidden size, n tokens of a window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core import checkpoints
from core.checkpoints.spec import Checkpoint
from core.errors import AtlasError
from core.interventions.features import FOLDER, Autoencoder, Measured
from core.lazy import Tensor, torch
from core.run.run import Edit, Site, run
from lab import recipe as recipes
from lab.files import write_file
from lab.objectives.causal import book_lines, pieces
from lab.tokens import encoded

LENGTH = 128
"""Tokens of a window."""
WINDOWS = 16_384
LAYER = 1
"""From 0: of the story decoder's four, the second."""
FEATURES, ACTIVE = 2048, 16
BATCH, STEPS = 2048, 1200
RATE, WARM, COOL = 1e-3, 200, 0.25
"""The rate grows over the first `WARM` steps, and falls over the last share of `COOL`."""
DEAD, REVIVED = 400_000, 64
TEXTS, BEFORE, AFTER = 8, 14, 5
"""Stored texts of a feature, and the tokens of each before and after the one where it is active."""
AT_ONCE = 32
"""Windows of a pass."""
MEASURED = 12
"""The loss is measured in one held-out window of so many."""

Ids = NDArray[np.uint16]


def windows(recipe: recipes.Recipe, corpus: Path, checkpoint: Checkpoint, *, held_out: bool) -> Ids:
    """(W, n) disjoint windows of one side of the corpus; each starts where a line does.

    Raises:
        AtlasError: the side has no such window.
    """
    tokenizer: Any = checkpoint.tokenizer
    rows = encoded(tokenizer.backend_tokenizer, pieces(book_lines(recipe, corpus, held_out=held_out)))
    ids = np.fromiter((token for row in rows for token in row), dtype=np.uint16)
    breaks = np.array(["Ċ" in piece for piece in tokenizer.convert_ids_to_tokens(range(len(tokenizer)))])
    breaks[tokenizer.eos_token_id] = True
    starts, end = [], 0
    for start in (np.flatnonzero(breaks[ids]) + 1).tolist():
        if end <= start < len(ids) - LENGTH:
            starts.append(start)
            end = start + LENGTH
    if not starts:
        raise AtlasError(f"The corpus {corpus} is too small: no window of {LENGTH} tokens starts with a line.")
    return np.stack([ids[start : start + LENGTH] for start in starts])


def read_states(checkpoint: Checkpoint, ids: Ids, *, fast: bool = False) -> NDArray[np.float16]:
    """(W, n, w) what the layer leaves; ``fast`` multiplies in bfloat16."""
    site = Site("decoder", LAYER, "resid_post")
    parts = []
    for at in range(0, len(ids), AT_ONCE):
        rows = torch.from_numpy(ids[at : at + AT_ONCE].astype(np.int64))
        with torch.autocast("cpu", torch.bfloat16, enabled=fast):
            parts.append(run(checkpoint.model, {"input_ids": rows}, keep={site})[site].half().numpy())
    return np.concatenate(parts)


def learn(
    states: NDArray[np.float16], features: int = FEATURES, active: int = ACTIVE, steps: int = STEPS
) -> Autoencoder:
    """An autoencoder of states (N, w)."""
    random = np.random.default_rng(0)
    width = states.shape[1]
    drawn = random.choice(len(states), min(50_000, len(states)), replace=False)
    some = torch.from_numpy(states[np.sort(drawn)]).float()
    center = some.mean(0)
    scale = float((some - center).pow(2).mean().sqrt())
    directions = torch.randn(features, width, generator=torch.Generator().manual_seed(0))
    directions /= directions.norm(dim=-1, keepdim=True)
    encoder, decoder = (0.3 * directions).requires_grad_(), directions.clone().requires_grad_()
    bias, offset = torch.zeros(features, requires_grad=True), torch.zeros(width, requires_grad=True)
    adam = torch.optim.Adam([decoder, encoder, bias, offset], lr=RATE)
    idle, threshold = torch.zeros(features), 0.0
    order, at = random.permutation(len(states)), 0
    for step in range(steps):
        if at + BATCH > len(order):
            order, at = random.permutation(len(states)), 0
        batch = torch.from_numpy(states[np.sort(order[at : at + BATCH])]).float()
        at += BATCH
        batch = (batch - center) / scale
        adam.param_groups[0]["lr"] = RATE * min(1, (step + 1) / WARM, (steps - step) / (COOL * steps))
        with torch.autocast("cpu", torch.bfloat16):
            values = torch.relu(batch @ encoder.T + bias).float()
            kept = values * (values >= _smallest(values.detach(), active * len(values)))
            rest = batch - (kept @ decoder).float() - offset
        loss = rest.pow(2).mean()
        with torch.no_grad():
            fired = kept > 0
            idle = torch.where(fired.any(0), 0.0, idle + len(batch))
            least = float(kept[fired].min())
            threshold = 0.99 * threshold + 0.01 * least if step else least
        if (dead := idle > DEAD).any():
            asleep = values[:, dead]
            best = asleep.topk(min(REVIVED, asleep.shape[1]))
            with torch.autocast("cpu", torch.bfloat16):
                guess = torch.zeros_like(asleep).scatter(-1, best.indices, best.values) @ decoder[dead]
            loss = loss + (rest.detach() - guess.float()).pow(2).mean() / 32
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            assert decoder.grad is not None
            decoder.grad -= (decoder.grad * decoder).sum(-1, keepdim=True) * decoder
            adam.step()
            decoder /= decoder.norm(dim=-1, keepdim=True)
    with torch.no_grad():
        return Autoencoder(
            encoder.detach(), scale * bias, center, scale * threshold, decoder.detach(), scale * offset + center
        )


def _smallest(values: Tensor, kept: int) -> Tensor:
    """About the smallest of the ``kept`` largest values, from every 13th of them."""
    some = values.flatten()[::13]
    return some.kthvalue(max(1, len(some) - kept // 13)).values


@dataclass(frozen=True, slots=True)
class Loss:
    """The model's loss over held-out windows, in nats per token."""

    clean: float
    reconstructed: float
    mean: float


def loss(checkpoint: Checkpoint, learned: Autoencoder, ids: Ids) -> Loss:
    """With everything, with the reconstruction in place of what the layer leaves, and with the mean state."""

    def reconstruct(states: Tensor) -> Tensor:
        return learned.reconstruct(learned.activations(states)).to(states)

    edits: Sequence[Edit | None] = (None, reconstruct, lambda states: learned.center.to(states).expand_as(states))
    site, sums = Site("decoder", LAYER, "resid_post"), [0.0] * len(edits)
    for at in range(0, len(ids), AT_ONCE):
        rows = torch.from_numpy(ids[at : at + AT_ONCE].astype(np.int64))
        for number, edit in enumerate(edits):
            logits = run(checkpoint.model, {"input_ids": rows}, edits={site: edit} if edit else {}).output.logits
            logs = logits[:, :-1].float().log_softmax(-1)
            sums[number] -= float(logs.gather(-1, rows[:, 1:, None]).sum())
    return Loss(*(total / ids[:, 1:].size for total in sums))


def explained(learned: Autoencoder, states: NDArray[np.float16]) -> tuple[float, Tensor, float]:
    """Of states (N, w): the share of variance, (F,) at how many each feature is active, and how many are on average."""
    mean = torch.from_numpy(states.astype(np.float32).mean(0))
    left = around = 0.0
    counts = torch.zeros(len(learned.bias))
    for batch in _batches(states):
        activations = learned.activations(batch)
        left += float((batch - learned.reconstruct(activations)).pow(2).sum())
        around += float((batch - mean).pow(2).sum())
        counts += (activations > 0).float().sum(0)
    return 1 - left / around, counts, float(counts.sum()) / len(states)


def _batches(states: NDArray[np.float16]) -> Iterator[Tensor]:
    for at in range(0, len(states), 4 * BATCH):
        yield torch.from_numpy(states[at : at + 4 * BATCH]).float()


def top_texts(learned: Autoencoder, states: NDArray[np.float16], ids: Ids) -> dict[str, Tensor]:
    """For each feature the `TEXTS` windows in which it is most active, around the token where it is.

    Args:
        states: (W, n, w) of the windows ``ids``.

    Returns:
        ``texts`` (F, T, tokens), -1 where there is none, ``at`` (F, T) the position of the token, and ``strength``
        (F, T), 0 where the feature is not active.
    """
    width = states.shape[-1]
    batches = _batches(states.reshape(-1, width))
    best = torch.cat([learned.activations(batch.view(-1, LENGTH, width)).amax(1) for batch in batches])
    strength, chosen = best.topk(TEXTS, 0)  # (T, F)
    texts = torch.full((len(learned.bias), TEXTS, BEFORE + 1 + AFTER), -1, dtype=torch.int16)
    where = torch.zeros(len(learned.bias), TEXTS, dtype=torch.int16)
    for feature in range(len(learned.bias)):
        for number, row in enumerate(chosen[:, feature].tolist()):
            values = (torch.from_numpy(states[row]).float() - learned.center) @ learned.encoder[feature]
            at = int(values.argmax())
            shown = ids[row, max(0, at - BEFORE) : at + AFTER + 1]
            texts[feature, number, : len(shown)] = torch.from_numpy(shown.astype(np.int16))
            where[feature, number] = min(at, BEFORE)
    return {"texts": texts, "at": where, "strength": strength.T.half().contiguous()}


def cli_features(slug: str, corpus: Path, output: Path | None = None) -> None:
    """Train the autoencoder of a decoder on its own training text, measure and write it; prints what was measured.

    What a reader called its features stays behind: it was said of others.

    Raises:
        AtlasError: a model without a recipe for whole books, a corpus that is missing or too small, a folder that is
            not writable.
    """
    checkpoint, recipe = checkpoints.load(slug), recipes.load(slug)
    order = np.random.default_rng(0)
    ids = order.permutation(windows(recipe, corpus, checkpoint, held_out=False))[:WINDOWS]
    read = read_states(checkpoint, ids, fast=True)
    learned = stored_precision(learn(read.reshape(-1, read.shape[-1])))
    held = windows(recipe, corpus, checkpoint, held_out=True)
    states = read_states(checkpoint, held)
    share, counts, active = explained(learned, states.reshape(-1, states.shape[-1]))
    losses = loss(checkpoint, learned, held[::MEASURED])
    found = Measured(
        layer=LAYER,
        features=len(learned.bias),
        trained=ids.size,
        tokens=held.size,
        explained=round(share, 4),
        alive=int((counts > 0).sum()),
        active=round(active, 2),
        clean=round(losses.clean, 4),
        reconstructed=round(losses.reconstructed, 4),
        mean=round(losses.mean, 4),
    )
    _write(output or FOLDER, slug, learned, top_texts(learned, states, held), found)
    print(found)


def stored_precision(learned: Autoencoder) -> Autoencoder:
    """The autoencoder as it is stored: its matrices in float16."""
    return replace(learned, encoder=learned.encoder.half().float(), decoder=learned.decoder.half().float())


def _write(folder: Path, slug: str, learned: Autoencoder, texts: dict[str, Tensor], found: Measured) -> None:
    from safetensors.torch import save

    parts = {"encoder": learned.encoder.half(), "decoder": learned.decoder.half()}
    parts |= {"bias": learned.bias, "center": learned.center, "offset": learned.offset}
    parts["threshold"] = torch.tensor([learned.threshold])
    write_file(
        folder / f"{slug}.safetensors", save({name: part.contiguous() for name, part in (parts | texts).items()})
    )
    lines = (f"{name} = {value}\n" for name, value in found.model_dump(exclude={"judged"}).items())
    write_file(folder / f"{slug}.toml", "".join(lines))
