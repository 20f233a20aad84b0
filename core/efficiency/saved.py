"""What each efficient system saves, counted: scores, reach, parameters, layers, prediction targets, memory per device.

Everything follows from the catalogue's configurations and the stored trees; nothing is measured.

    fewer scores      scores of one head in one layer:  n²  against  Σ over queries of the keys that it attends to
    longer memory     reach of a prediction through l layers:  l M + s  tokens,  M memory and s segment length
    fewer parameters  all layers share one set of weights, the operations unchanged
                      adapters, T tasks:  T N  against  N + T a,  a parameters in the adapters
    smaller models    layers, parameters and operations of the student as shares of its teacher's
    fewer examples    positions of a text with a loss:  0.15 n  against  n
    more machines     bytes of one device in training by tensor-parallel degree (:mod:`core.efficiency.fit`)
"""

from __future__ import annotations

from dataclasses import dataclass

from core import anatomy, catalogue
from core.catalogue.schema import System
from core.costs import Shape, forward, shape_of
from core.costs.shape import usual_length
from core.efficiency.fit import DeviceMemory, Plan, device_memory
from core.objectives.masked import RATE
from core.patterns.layout import Sparsity, cost
from core.sparse import windowed


def score_count(system: System, tokens: int, block: int = Sparsity().block_size) -> int | None:
    """Scores of one head over ``tokens`` tokens, the mean of the layers; None without a published shape.

    ``block``: tokens in a block of BigBird, as published or another number.
    """
    if not system.sizes:
        return None
    size = system.default_size
    shape = shape_of(system.slug, size.name)
    if size.config == "BigBirdConfig":  # its two global blocks have long rows, which the shape's span leaves out
        return cost(tokens, Sparsity(block)).sparse
    if size.config == "LongformerConfig":
        return windowed.cost(tokens, int(size.overrides["attention_window"]) // 2, (0,)).sparse
    if shape is None:  # a hybrid, of whose layers one in a period has attention
        period = size.overrides.get("attn_layer_period")
        return tokens**2 // int(period) if period else None
    if not shape.main.heads:
        return 0
    return round(tokens * sum(shape.main.keys(tokens)) / shape.main.layers)


def reach(shape: Shape, layers: int) -> int:
    """Tokens that a prediction can depend on through ``layers`` layers, with segments as long as the memory."""
    return (layers + 1) * shape.main.memory


@dataclass(frozen=True, slots=True)
class Shared:
    """The parameters and operations of a system with shared layers and factorized embeddings."""

    uses: int
    """How often each stored layer is applied."""
    parameters: int
    operations: float
    """Of a forward pass over ``tokens`` tokens."""
    tokens: int


def shared_layers(system: System) -> Shared | None:
    """The numbers of a system whose layers share their parameters; None for any other."""
    root, shape = anatomy.tree(system.slug), shape_of(system.slug)
    if shape is None or all(node.cls != "AlbertLayerGroup" for _, node, _ in root.walk()):
        return None
    tokens = usual_length(shape)
    return Shared(
        uses=round(shape.uses),
        parameters=root.parameters,
        operations=forward(shape, root, tokens).total,
        tokens=tokens,
    )


def adapter_parameters(system: System) -> int:
    """Parameters in the adapters of one task; 0 for a system without adapters."""
    return sum(
        node.parameters * copies for _, node, copies in anatomy.tree(system.slug).walk() if node.cls == "Adapter"
    )


@dataclass(frozen=True, slots=True)
class Network:
    """What a network takes."""

    name: str
    layers: int
    parameters: int
    operations: float
    """Of a forward pass over ``tokens`` tokens."""
    tokens: int


def network(system: System, tokens: int | None = None) -> Network:
    """The default size of a system; over its usual number of tokens, or another one."""
    root, shape = anatomy.tree(system.slug), shape_of(system.slug)
    assert shape is not None
    count = tokens or usual_length(shape)
    name = f"{system.name} {system.default_size.name}"
    return Network(name, shape.main.layers, root.parameters, forward(shape, root, count).total, count)


def teacher(system: System) -> Network:
    """The parent of a system, over as many tokens."""
    return network(catalogue.get(system.parent or ""), network(system).tokens)


def masked_targets(tokens: int) -> int:
    """Positions of a text that have a loss under masked language modeling; replaced-token detection has one at each."""
    return round(RATE * tokens)


def degrees(system: System) -> dict[int, DeviceMemory]:
    """Bytes on each device in training by tensor-parallel degree, up to eight: one text, mixed precision, Adam."""
    shape = shape_of(system.slug)
    assert shape is not None
    parameters, length = anatomy.tree(system.slug).parameters, usual_length(shape)
    fitting = (t for t in (1, 2, 4, 8) if shape.main.heads % t == 0)
    return {t: device_memory(parameters, shape, Plan(tensor=t, length=length)) for t in fitting}
