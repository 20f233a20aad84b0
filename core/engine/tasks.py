"""The functions that an engine computes, and their messages: JSON of the types that they declare, by pydantic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from inspect import signature
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, create_model

from core import errors
from core.attention.ablation.ablate import ablate_heads, rank_heads, rank_layers
from core.attention.capture import capture
from core.attention.disentangled import predict_without_components, score_components
from core.attention.inside.block import block
from core.attention.inside.lens import lens, trajectory
from core.attention.inside.overview import overview
from core.attention.masked_word import read_masked_word
from core.attention.word_maps import generate_answer, maps_over_words, word_attention
from core.checkpoints.spec import Part
from core.efficiency.buckets import compute_buckets
from core.interventions.attribution import attribute
from core.interventions.breaking import break_part, part_losses
from core.interventions.features import read_features, switch_off, top_texts
from core.interventions.patching import patch_cell, patch_grid
from core.interventions.sinks import sinks
from core.interventions.steering import steer, sweep
from core.language import adapters, bilingual, codes
from core.language.decoding.search import tree
from core.language.fill_mask import fill_mask
from core.language.generate import generate, steps_along, steps_in_batch
from core.language.losses import losses
from core.language.permuted import follow
from core.language.segments import compare
from core.language.side_by_side import answer
from core.language.translate import align, rewrite, translate_along
from core.vectors.input_embeddings import input_embeddings
from core.vectors.positions import distance_terms, rotary_vectors, score_terms
from core.vectors.reading import read_states

ERRORS = {name: error for name, error in vars(errors).items() if isinstance(error, type)}


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", ser_json_inf_nan="constants")


class Call(Message):
    """A request: the checkpoint or the part of it that computes, and in each task's own class the arguments."""

    slug: str
    part: Part | None


class Failure(Message):
    """What a visitor is told instead of a result: the name of one of `ERRORS` and its sentence."""

    error: str
    sentence: str


class Reply(Message):
    """A result or a step of one, in each task's own class of the declared type, or a `Failure`."""

    outcome: Any


class Task:
    """A function of a checkpoint and plain values, with the classes of its messages."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        self.compute, self.name = compute, name_of(compute)

    @cached_property
    def call(self) -> type[Call]:
        _, *parameters = signature(self.compute, eval_str=True).parameters.values()
        fields: dict[str, Any] = {
            parameter.name: (parameter.annotation, ... if parameter.default is parameter.empty else parameter.default)
            for parameter in parameters
        }
        return create_model(self.name, __base__=Call, **fields)

    @cached_property
    def reply(self) -> type[Reply]:
        result = signature(self.compute, eval_str=True).return_annotation
        step = get_args(result)[0] if get_origin(result) is Iterator else result
        return create_model(self.name, __base__=Reply, outcome=step | Failure)


def name_of(compute: Callable[..., object]) -> str:
    return f"{compute.__module__}.{compute.__qualname__}"


TASKS = {
    name_of(compute): Task(compute)
    for topic in (
        (capture, read_masked_word, word_attention, generate_answer, maps_over_words),
        (ablate_heads, rank_heads, rank_layers, score_components, predict_without_components),
        (patch_grid, patch_cell, attribute, break_part, part_losses, sinks, steer, sweep),
        (read_features, top_texts, switch_off),
        (overview, block, lens, trajectory),
        (fill_mask, bilingual.predict, follow, losses, answer, compare, adapters.classify, codes.classify),
        (generate, steps_along, steps_in_batch, tree, align, rewrite, translate_along),
        (input_embeddings, distance_terms, rotary_vectors, score_terms, read_states, compute_buckets),
    )
    for compute in topic
}
"""Each task by its name; requests for others are refused."""
