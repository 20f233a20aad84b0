"""Settings shared by calculators: the network, its training, the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import anatomy, catalogue
from core.anatomy.node import ModuleNode
from core.catalogue.schema import System
from core.costs import Shape, shape_of
from core.costs.configuration import HEADS, POSITIONS, STYLES
from core.costs.known import Device, devices
from core.costs.memory import OPTIMIZERS, PRECISIONS, RECOMPUTE
from core.costs.remarks import no_stack
from core.costs.shape import usual_length
from core.efficiency.fit import STAGES, Plan
from core.errors import OutOfRange
from core.ui.formulas import cited
from core.ui.glossary import unbuilt
from core.ui.links import PageState
from core.ui.param import Choice, Control, Integer, Real, Toggle, settings_menu

SIDES = {"encoder": "encoder", "decoder": "decoder", "encoder-decoder": "encoder and decoder"}
BOXES: dict[str, Control[Any]] = {
    "kind": Choice(name="kind", label="Architecture", options=SIDES),
    "layers": Integer(name="layers", label="Layers", low=1, high=1000),
    "width": Integer(name="width", label="Hidden size", low=1, high=200_000),
    "ffn": Integer(name="ffn", label="Feed-forward", low=1, high=2_000_000),
    "vocabulary": Integer(name="vocabulary", label="Vocabulary", low=1, high=10**7),
    "heads": Integer(name="heads", label="Heads", low=1, high=2000),
    "kv_heads": Integer(name="kv", label="KV heads", low=1, high=2000),
    "positions": Integer(name="positions", label="Positions", low=0, high=10**8),
    "decoder_layers": Integer(name="below", label="Decoder layers", low=1, high=1000),
    "gated": Toggle(name="gated", label="Gated feed-forward"),
    "tied": Toggle(name="tied", label="Tied embeddings"),
    "shared": Toggle(name="shared", label="Shared layers"),
    "embedding": Integer(name="words", label="Embedding size (0: the hidden size)", low=0, high=200_000),
    "head_dim": Integer(name="dim", label="Head dimension (0: hidden size / heads)", low=0, high=10**5),
    "segments": Integer(name="segments", label="Segments", low=0, high=1000),
    "adapter": Integer(name="adapter", label="Adapters, bottleneck size (0: none)", low=0, high=200_000),
    "scheme": Choice(name="scheme", label="Position encoding", options=POSITIONS),
    "head": Choice(name="head", label="Output head", options=HEADS),
    "style": Choice(name="style", label="Biases and norms", options={key: style.name for key, style in STYLES.items()}),
    "axial": Integer(name="axial", label="Axial: rows of the first table", low=0, high=10**8),
    "hashed": Integer(name="hashed", label="Layers with shared queries and keys (LSH)", low=0, high=10_000),
    "experts": Integer(name="experts", label="Experts per layer (0: none)", low=0, high=10_000),
    "active": Integer(name="active", label="Experts per token (top-k)", low=1, high=10_000),
    "common": Integer(name="common", label="Shared experts", low=0, high=10_000),
    "inner": Integer(name="inner", label="Expert size", low=0, high=2_000_000),
    "dense": Integer(name="dense", label="Dense layers before experts", low=0, high=10_000),
    "latent": Integer(name="latent", label="KV latent (0: none)", low=0, high=200_000),
    "query_latent": Integer(name="queries", label="Query latent (0: none)", low=0, high=200_000),
    "rope_dim": Integer(name="turned", label="Rotated part of a query (RoPE)", low=0, high=200_000),
    "value": Integer(name="value", label="Value dimension (0: that of a head)", low=0, high=200_000),
}
"""Every box of a network, by the field of :class:`core.costs.configuration.Configuration` that it sets."""

LENGTH = Integer(name="length", label="Sequence length", low=1, high=10**7)
_OF_A_NETWORK = (*(box.name for box in BOXES.values()), LENGTH.name)
SYSTEM = Choice(name="system", label="System", default="gpt-2", options={}, resets=("size", *_OF_A_NETWORK))
SIZE = Choice(name="size", label="Size", options={}, resets=_OF_A_NETWORK)
BATCH = Integer(name="batch", label="Batch size", low=1, high=10**5, default=1)
RECOMPUTATION = Choice(name="recompute", label="Activation recomputation", options=RECOMPUTE)

REPLICAS = Integer(name="data", label="Data-parallel replicas", low=1, high=10**6)
TENSOR = Integer(name="tensor", label="Tensor-parallel degree", low=1, high=1024)
_PIPELINE = Integer(name="pipeline", label="Pipeline stages", low=1, high=1024)
_SEQUENCE = Toggle(name="sequence", label="Sequence parallelism")
_STAGE = Choice(name="stage", label="ZeRO stage", options={str(stage): text for stage, text in STAGES.items()})
_OPTIMIZER = Choice(
    name="optimiser",  # codespell:ignore
    label="Optimizer",
    options={key: optimizer.name for key, optimizer in OPTIMIZERS.items()},
)
_PRECISION = Choice(
    name="precision", label="Precision", options={key: precision.name for key, precision in PRECISIONS.items()}
)
PLAN = (BATCH, REPLICAS, _PIPELINE, LENGTH, TENSOR, _SEQUENCE, _STAGE, _OPTIMIZER, _PRECISION, RECOMPUTATION)

OWN = "own"
"""The device whose numbers the visitor types."""
DEVICE = Choice(name="device", label="Device", default="a100-80", options={})
MEMORY = Real(name="memory", label="Memory, GB", default=80.0, low=0.1, high=1e5, style="box", format="%g")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A published size, and what its costs are computed from."""

    system: System
    size: str
    root: ModuleNode
    shape: Shape

    @property
    def name(self) -> str:
        """System and size, for display."""
        return f"{self.system.name} {self.size}"

    @property
    def length(self) -> Integer:
        """The sequence length, by default the size's usual one."""
        return LENGTH.with_(default=usual_length(self.shape))

    @property
    def tag(self) -> str:
        """Of controls whose defaults depend on the size."""
        return f"{self.system.slug}.{self.size}"


def choose_system(state: PageState) -> tuple[str, str]:
    """Draw menus for a system and its size, side by side; settings of another size are dropped."""
    unbuilt()
    systems = sorted((s for s in catalogue.systems() if s.sizes), key=lambda s: s.name.lower())
    with st.container(horizontal=True):  # where the column is narrow, one below the other
        slug = SYSTEM.with_(options={s.slug: f"{s.name} ({s.year})" for s in systems}).draw(state)
        system = catalogue.get(slug)
        sizes = {size.name: size.name for size in system.sizes}
        return slug, SIZE.with_(options=sizes, default=system.default_size.name).draw(state, tag=slug)


def choose(state: PageState) -> Chosen:
    """Draw menus for a size whose costs can be computed.

    Raises :class:`core.errors.OutOfRange` for a network that is not a single stack of attention layers.
    """
    slug, size = choose_system(state)
    shape = shape_of(slug, size)
    if shape is None or not shape.main.heads:
        raise OutOfRange(no_stack(slug, size))
    return Chosen(catalogue.get(slug), size, anatomy.tree(slug, size), shape)


def choose_plan(
    state: PageState, chosen: Chosen, menu: DeltaGenerator, *more: Control[Any], tag: str
) -> tuple[Plan, dict[str, Any]]:
    """Draw the controls of a training run, most as settings in ``menu`` beside ``more``; return all settings too."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        batch = BATCH.with_(label="Micro-batch size").draw(state)
        stage = _STAGE.draw(state)
    fields: dict[str, Control[Any]] = {
        "length": chosen.length,
        "data": REPLICAS,
        "tensor": TENSOR,
        "pipeline": _PIPELINE,
        "sequence": _SEQUENCE,
        "optimizer": _OPTIMIZER,
        "precision": _PRECISION,
        "recompute": RECOMPUTATION,
    }
    with menu:
        values = settings_menu(state, *more, *fields.values(), tag=tag)
    plan = {field: values[control.name] for field, control in fields.items()}
    return Plan(batch=batch, stage=int(stage), **plan), values


def choose_device(state: PageState) -> tuple[str, Device | None]:
    """Draw the menu of devices; return the name, and the device's data if known."""
    devices_by_slug = devices()
    names = {slug: f"{device.name} · {device.memory:g} GB" for slug, device in devices_by_slug.items()}
    slug = DEVICE.with_(options=names | {OWN: "Other device"}).draw(state)
    device = devices_by_slug.get(slug)
    return ("other device" if device is None else device.name), device


def device_sources() -> str:
    """The sources of the devices' figures, as Markdown."""
    return " ".join(dict.fromkeys(cited(source) for device in devices().values() for source in device.sources))
