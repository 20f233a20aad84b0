r"""A `Run`: what one forward pass recorded, and how a pass is made.

Sites have TransformerLens's names. R rows, H heads, Q queries, K keys, d head dimension, w hidden size, n tokens:

==============  ====================================================================================================
q, k, v         (R, H, n, d) as they enter the score: rotated, unscaled, repeated where heads share a key; ``q_pre``
                and ``k_pre`` (R, n, w) before the rotation, in models with RoPE; ``q_global`` (R, H, g, d),
                ``k_global`` and ``v_global`` (R, H, n, d) of Longformer's g global tokens
terms           (R, H, Q, K) each, the summands of the score, scaled: one site ``terms.NAME`` for every summand
scores          (R, H, Q, K) their sum, without the mask
mask            (R or 1, H or 1, Q, K) True where a query may attend to a key
pattern         (R, H, Q, K) the weights
z               (R, n, H, d) the heads' outputs
attn_out        (R, n, w) projected; of a cross-attention with the kind ``cross``
mlp_pre         (R, n, f) before the activation; ``mlp_gate`` the projection that gates it; ``mlp_post`` after it
mlp_out         (R, n, w)
resid_pre       (R, n, w) what a layer reads; ``resid_mid`` what its feed-forward part reads; ``resid_post`` what it
                leaves. Of a Reformer's two streams attention reads the second, and ``resid_mid`` is the first
ln1, ln2        (R, n, w) the norms of a layer; ``ln_cross`` that of a cross-attention
embed           (R, n, w) of tokens, in layer 0 as all that follows: ``pos_embed``, ``type_embed``, ``lang_embed``, the
                norm and the projection of their sum (``ln_embed``, ``embed_proj``), the norm after the last layer
                (``ln_final``), the input of the head (``final``); ``head``, in place of layers, those of its
                projections and norms
attn_adapter_*  (R, n, m) ``down`` and ``mid``, before and after the activation, (R, n, w) ``up`` and the norm of the
                task; ``mlp_adapter_*`` those of the feed-forward part
==============  ====================================================================================================
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from core.lazy import Tensor, torch
from core.run.model import Model, Output, Tensors, call

Kind = Literal["encoder", "decoder", "cross", "query"]
"""A stack of layers, or the cross-attention of a decoder, or the query stream of XLNet.

With a query stream, the content stream is ``decoder``; embeddings and the head's input keep the kind of the stack.
"""


class Site(NamedTuple):
    """A tensor of a pass; the layer is counted from 0."""

    kind: Kind
    layer: int
    name: str


Edit = Callable[[Tensor], Tensor]
"""From the tensor of a site, all rows of the batch, to the tensor that the rest of the pass sees.

A mean over the rows of one text is that text: a mean ablation takes one over positions, or over a run of other texts.
"""


class Product(NamedTuple):
    """How a layer's first term is made of its queries and keys."""

    factor: float
    cap: float | None = None
    """That of the soft cap."""
    shared: bool = False
    """Whether several heads have one key."""
    sinks: bool = False
    """Whether a sink takes a share of the weights."""


@dataclass(eq=False)
class Run:
    """One pass: its tensors by site, and the output of the model."""

    keep: frozenset[str | Site] = frozenset()
    edits: Mapping[Site, Edit] = field(default_factory=dict)
    tensors: dict[Site, Tensor] = field(default_factory=dict)
    products: dict[tuple[Kind, int], Product] = field(default_factory=dict)
    """By kind and layer."""
    unplaced: list[tuple[Any, Tensor]] = field(default_factory=list)
    """Modules that attended and are no layer's, each with its weights."""
    allowed: dict[tuple[int, int, int], tuple[Tensor | None, Tensor]] = field(default_factory=dict)
    """Masks of the pass, which layers share, by identity and size, as True where a query may attend to a key."""
    stream: Kind | None = None
    """While one of XLNet's two streams passes their common modules: its kind, in place of that of the stack."""
    output: Output = field(init=False, repr=False)
    names: frozenset[str] = field(init=False)
    """First parts of the names of what is kept or edited: other sites need no look."""
    _calls: dict[tuple[int, str], int] = field(default_factory=dict)
    _edited: set[Site] = field(default_factory=set)

    def __post_init__(self) -> None:
        sites = (*self.keep, *self.edits)
        self.names = frozenset((s if isinstance(s, str) else s.name).partition(".")[0] for s in sites)

    def __getitem__(self, site: tuple[Kind, int, str]) -> Tensor:
        return self.tensors[Site(*site)]

    def layers(self, kind: Kind, name: str) -> list[Tensor]:
        """The tensors of one name, layer by layer."""
        sites = sorted(site for site in self.tensors if site.name == name and site.kind == kind)
        return [self.tensors[site] for site in sites]

    def terms(self, kind: Kind, layer: int) -> dict[str, Tensor]:
        """The summands of the score of a layer, by name."""
        return {
            site.name.removeprefix("terms."): tensor
            for site, tensor in self.tensors.items()
            if site[:2] == (kind, layer) and site.name.startswith("terms.")
        }

    def keeps(self, site: Site) -> bool:
        """Whether a site is recorded: by itself or by its name, of which the first part is enough."""
        first = site.name.partition(".")[0]
        if first not in self.names:
            return False
        return not self.keep.isdisjoint((first, site, site.name, (site.kind, site.layer, first)))

    def wants(self, site: Site) -> bool:
        """Whether a site is recorded or edited."""
        return self.keeps(site) or site in self.edits

    def at(self, site: Site, tensor: Tensor) -> Tensor:
        """The tensor that the pass goes on with at a site; recorded as it is after an edit."""
        if site in self.edits:
            tensor = self.edits[site](tensor)
            self._edited.add(site)
        if self.keeps(site):
            self.tensors[site] = tensor
        return tensor

    def check(self) -> None:
        """Raise ``LookupError`` for an edit whose site the pass did not have: it would pass for one without effect."""
        if missed := self.edits.keys() - self._edited:
            raise LookupError(f"This pass has no {min(missed)}.")

    def layer_of(self, module: object, name: str, layers: tuple[int, ...]) -> int:
        """The layer of this call of a module: layers that share one (ALBERT) call it in turn."""
        if len(layers) == 1:
            return layers[0]
        key = id(module), name
        number = self._calls.get(key, 0)
        self._calls[key] = number + 1
        return layers[number % len(layers)]


@lru_cache(maxsize=256)
def _caches(model_class: type[Model]) -> tuple[str, ...]:
    """The arguments of its forward pass that ask for a cache."""
    signature = inspect.signature(model_class.forward).parameters
    return tuple(name for name in ("use_cache", "use_mems") if name in signature)


CURRENT: ContextVar[Run | None] = ContextVar("run", default=None)
"""The run of this thread's pass, if any."""


@contextmanager
def recording(
    keep: Collection[str | Site] = (), edits: Mapping[Site, Edit] | None = None, *, gradients: bool = False
) -> Iterator[Run]:
    """Within the block, passes of this thread are recorded and edited; :func:`run` is one pass.

    Args:
        keep: names of sites, of all layers, or single sites.
        edits: by site.
        gradients: whether what the pass computes has them.
    """
    recorded = Run(frozenset(keep), edits or {})
    token = CURRENT.set(recorded)
    try:
        with torch.enable_grad() if gradients else torch.inference_mode():
            yield recorded
    finally:
        CURRENT.reset(token)


def run(
    model: Model,
    inputs: Tensors,
    *,
    keep: Collection[str | Site] = (),
    edits: Mapping[Site, Edit] | None = None,
    gradients: bool = False,
) -> Run:
    """One pass over ``inputs``, the arguments of the forward pass by name; further arguments as :func:`recording`.

    Args:
        model: of a loaded checkpoint, or a part of it, such as its encoder.

    Raises:
        LookupError: the pass does not have the site of an edit.
    """
    with recording(keep, edits, gradients=gradients) as recorded:
        recorded.output = call(model, **dict.fromkeys(_caches(type(model)), False) | dict(inputs))
    recorded.check()
    return recorded
