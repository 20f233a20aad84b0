"""Every task of the engine on a bundled model: its arguments and its result are the same after their messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

import pytest

from core.checkpoints.spec import Checkpoint
from core.efficiency import buckets
from core.engine import checkpoint
from core.engine.tasks import TASKS
from core.interventions.patching import Cell
from core.language import translate
from core.language.fill_mask import prepare
from core.language.types import Decoding
from core.objectives.example import Cell as ObjectiveCell
from core.objectives.example import Example
from tests.unit.test_engine import same

SENTENCE = "The king gave his daughter a golden ring."
MASKED = "The king gave his [MASK] a golden ring."
PAIR = ("The dogs [MASK] happy.", "The dog [MASK] happy.")
SAMPLE = Decoding(strategy="sample", max_new_tokens=12, seed=5)
BEAM = Decoding(strategy="beam", beams=3, max_new_tokens=6)


def _task(model: Checkpoint) -> str:
    from core.language.tasks import tasks

    return tasks(model)[0].slug


def _example(model: Checkpoint) -> Example:
    tokens = model.tokenizer.convert_ids_to_tokens(prepare(model, MASKED).ids)
    return Example((), tuple(ObjectiveCell(token, "son" if token == "[MASK]" else None) for token in tokens))


def _pivot(model: Checkpoint) -> tuple[str, str]:
    from core.language.tasks import tasks

    ways = (translate.pivot_tasks(model, task.slug) for task in tasks(model))
    return next(way for way in ways if way)


CASES: dict[str, tuple[str, Callable[[Checkpoint], tuple[Any, ...]]]] = {
    "attention.ablation.ablate.rank_heads": ("minilm", lambda _: (MASKED,)),
    "attention.ablation.ablate.ablate_heads": ("atlas-gpt-2", lambda _: (SENTENCE,)),
    "attention.ablation.ablate.rank_layers": ("minilm", lambda _: (MASKED,)),
    "interventions.attribution.attribute": ("atlas-gpt-2", lambda _: (SENTENCE,)),
    "interventions.breaking.break_part": ("atlas-byt5", lambda _: ("The cat sat.", "norm")),  # which overflows
    "interventions.breaking.part_losses": ("atlas-electra", lambda _: ()),
    "interventions.features.read_features": ("atlas-gpt-2", lambda _: (SENTENCE,)),
    "interventions.features.switch_off": ("atlas-gpt-2", lambda _: (SENTENCE, 7, 2)),
    "interventions.features.top_texts": ("atlas-gpt-2", lambda _: (7,)),
    "interventions.patching.patch_cell": ("minilm", lambda _: (*PAIR, "resid", "encoder", Cell(3, 2))),
    "interventions.patching.patch_grid": ("minilm", lambda _: PAIR),
    "interventions.sinks.sinks": ("minilm", lambda _: (SENTENCE,)),
    "interventions.steering.steer": ("atlas-gpt-2", lambda _: (SENTENCE, "It is joy.", "It is sorrow.", 1, 2.0)),
    "interventions.steering.sweep": ("atlas-gpt-2", lambda _: (SENTENCE, "It is joy.", "It is sorrow.", 1)),
    "attention.disentangled.predict_without_components": ("atlas-deberta", lambda _: (MASKED,)),
    "attention.disentangled.score_components": ("atlas-deberta", lambda _: (SENTENCE,)),
    "attention.capture.capture": ("minilm", lambda _: (SENTENCE, "She thanked him.")),
    "attention.masked_word.read_masked_word": ("minilm", lambda _: (MASKED,)),
    "attention.inside.block.block": ("minilm", lambda _: (SENTENCE, 2)),
    "attention.inside.lens.lens": ("atlas-albert", lambda _: (MASKED,)),
    "attention.inside.lens.trajectory": ("atlas-gpt-2", lambda _: (SENTENCE,)),
    "attention.inside.overview.overview": ("atlas-gpt-2", lambda _: (SENTENCE,)),
    "attention.word_maps.generate_answer": ("atlas-t5", lambda model: (SENTENCE, _task(model))),
    "attention.word_maps.maps_over_words": ("atlas-t5", lambda model: (SENTENCE, _task(model), "Der König.")),
    "attention.word_maps.word_attention": ("minilm", lambda _: (SENTENCE,)),
    "efficiency.buckets.compute_buckets": (
        "atlas-reformer",
        lambda model: (buckets.prepare(model, 9 * SENTENCE), 1, 0, 2, 1),
    ),
    "language.adapters.classify": ("atlas-adapter-bert", lambda model: (SENTENCE, _adapter(model))),
    "language.bilingual.predict": (
        "atlas-xlm",
        lambda _: ("The cat sleeps.", "Le chat dort.", (2,)),
    ),
    "language.codes.classify": ("atlas-ctrl", lambda _: (SENTENCE,)),
    "language.decoding.search.tree": ("atlas-gpt-2", lambda _: (SENTENCE, BEAM)),
    "language.fill_mask.fill_mask": ("minilm", lambda _: (MASKED, 7, (2,))),
    "language.generate.steps_along": ("atlas-gpt-2", lambda _: (SENTENCE, (11, 12, 13))),
    "language.generate.generate": ("atlas-llama", lambda _: (SENTENCE, SAMPLE)),
    "language.generate.steps_in_batch": (
        "atlas-gpt-2",
        lambda _: (SENTENCE, [SAMPLE, Decoding()]),
    ),
    "language.losses.losses": ("atlas-bert", lambda model: (_example(model), "masks")),
    "language.permuted.follow": ("atlas-xlnet", lambda _: (SENTENCE, (2, 3))),
    "language.segments.compare": ("atlas-transformer-xl", lambda _: (9 * SENTENCE,)),
    "language.side_by_side.answer": ("minilm", lambda _: (SENTENCE, (2,))),
    "language.translate.align": (
        "atlas-t5",
        lambda model: (SENTENCE, _task(model), (11, 12, 13)),
    ),
    "language.translate.rewrite": ("atlas-t5", lambda model: (SENTENCE, _task(model), SAMPLE)),
    "language.translate.translate_along": (
        "atlas-m2m-100",
        lambda model: ("Der König schläft.", _pivot(model)),
    ),
    "vectors.input_embeddings.input_embeddings": ("minilm", lambda _: (SENTENCE, "She thanked him.")),
    "vectors.positions.distance_terms": ("atlas-t5", lambda _: (SENTENCE,)),
    "vectors.positions.rotary_vectors": ("atlas-llama", lambda _: (SENTENCE,)),
    "vectors.positions.score_terms": ("atlas-transformer-xl", lambda _: (SENTENCE,)),
    "vectors.reading.read_states": ("minilm", lambda _: (SENTENCE,)),
}


def _adapter(model: Checkpoint) -> str:
    from core.language.adapters import tasks

    return tasks(model)[0].slug


def test_every_task_has_a_case() -> None:
    assert {f"core.{task}" for task in CASES} == {*TASKS}


@pytest.mark.filterwarnings("error:Pydantic serializer")
@pytest.mark.parametrize("name", CASES)
def test_a_task_and_its_result_are_the_same_after_their_messages(name: str) -> None:
    slug, prepared = CASES[name]
    model, task = checkpoint(slug), TASKS[f"core.{name}"]
    _, *arguments = signature(task.compute).bind(model, *prepared(model)).arguments.items()
    call = task.call(slug=slug, part=None, **dict(arguments))
    received = task.call.model_validate_json(call.model_dump_json())
    assert received.model_dump_json() == call.model_dump_json()
    result = task.compute(model, **{field: getattr(received, field) for field, _ in arguments})
    for outcome in result if isinstance(result, Iterator) else [result]:
        message = task.reply(outcome=outcome).model_dump_json()
        same(task.reply.model_validate_json(message).outcome, outcome)
