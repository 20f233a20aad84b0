r"""What the first block reads, taken apart: the sum of embeddings, and what follows it.

.. math:: X_t = E[w_t] + P[t] + G[s_t], \qquad h^{(0)}_t = \mathrm{norm}(X_t)

for BERT (Devlin et al. 2018): a vector for the entry of the vocabulary, one for the position, one for the text of a
pair. Others leave some out: RoBERTa has one text, GPT-2 no norm here, T5 no places; XLM adds a vector for the language.

Legend: n tokens, w width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from core.attention.architectures.recording import Recorder, private_twin
from core.attention.architectures.vectors import attention_layers
from core.attention.inside.blueprint import blueprint_of
from core.attention.inside.states import by_layer
from core.attention.inside.steps import Scene, Step, exists, norm, step
from core.checkpoints.spec import Checkpoint

if TYPE_CHECKING:
    from torch import Tensor

SUMMANDS = {
    "token": (r"E[w_t]", "A vector for each entry of the vocabulary."),
    "position": (r"P[t]", "A vector for each position."),
    "segment": (r"G[s_t]", "A vector for the first and one for the second text."),
    "language": (r"L[\ell_t]", "A vector for the language."),
}


def embedding_of(checkpoint: Checkpoint, inputs: Mapping[str, Any]) -> tuple[Step, ...]:
    """The steps of :func:`embedding` for one row of inputs, named as the forward pass takes them.

    Of an encoder-decoder the encoder reads.

    Raises:
        NoAttentionMatrix: the architecture is not known here.
    """
    import torch

    attn = next(iter(attention_layers(checkpoint).values()))[0]
    plan = blueprint_of(attn)
    recorder = Recorder(private_twin(checkpoint))
    scene = Scene(recorder, plan, attn, 0)
    paths = [attn.path(name) for _, name in (*plan.embed, *plan.after)]
    recorder.record(*(path for path in paths if exists(recorder.model, path)))
    recorder.length = int(inputs["input_ids"].shape[1])
    by_layer(checkpoint, recorder.model, inputs, "encoder")
    with torch.inference_mode():
        return tuple(embedding(scene, recorder.length))


def embedding(scene: Scene, length: int) -> Iterator[Step]:
    """What the embedding of ``length`` tokens is the sum of, the sum, and what follows it."""
    import torch

    plan, attn = scene.plan, scene.attn
    parts: list[Step] = []
    for name, path in ((name, attn.path(path)) for name, path in plan.embed):
        formula, note = SUMMANDS[name]
        values = _summand(scene, path, length)
        if values is None:
            continue
        if name == "token" and _scaled(scene, path):
            formula = rf"\sqrt w\, {formula}"
            values = values * values.shape[-1] ** 0.5 if plan.scale else values
        parts.append(step("embedding", name, formula, values.expand(length, -1), note=note, path=path))
    yield from parts
    if len(parts) > 1:
        total = sum(
            (torch.from_numpy(part.values.copy()) for part in parts[1:]), torch.from_numpy(parts[0].values.copy())
        )
        yield step("embedding", "sum", "X = " + " + ".join(part.formula for part in parts), total)
    for name, path in ((name, attn.path(path)) for name, path in plan.after):
        if exists(scene.recorder.model, path):
            if name == "norm":
                yield norm(scene, "embedding", path)
            else:
                yield step("embedding", name, "X W", scene.out(path), note="To the width of the blocks.", path=path)


def _summand(scene: Scene, path: str, length: int) -> Tensor | None:
    """(n or 1, w) one part of an embedding; None where the model has it not, or did not use it."""
    if exists(scene.recorder.model, path):
        return scene.out(path) if scene.recorder.calls(path) else None
    trunk, _, name = path.rpartition(".")
    buffer: Tensor | None = getattr(scene.module(trunk), name, None)  # CTRL's sinusoids
    return None if buffer is None else buffer[:length]


def _scaled(scene: Scene, path: str) -> bool:
    """Whether vectors of tokens are multiplied by the root of the width, by the model or by their own module."""
    setting = scene.plan.scale
    if setting:
        return setting == "always" or bool(getattr(scene.attn.stack.config, setting))
    return float(getattr(scene.module(path), "embed_scale", 1.0) or 1.0) != 1.0
