"""What the Atlas uses of a model of transformers, whose own types mypy does not read, and how it calls one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, Self

from core.errors import InputUnusable
from core.lazy import Tensor

if TYPE_CHECKING:
    from torch import device, nn


class Config(Protocol):
    """A configuration; every architecture has further fields of its own, and names for the same sizes."""

    model_type: str
    is_encoder_decoder: bool

    def get_text_config(self, decoder: bool = ..., encoder: bool = ...) -> Config: ...

    def __getattr__(self, name: str) -> Any: ...


class Output(Protocol):
    """What a forward pass returns; what a pass lacks is None or no attribute."""

    last_hidden_state: Tensor
    """(R, n, w)."""
    logits: Tensor
    """(R, n, V)."""
    loss: Tensor
    """(): of the labels given."""
    hidden_states: tuple[Tensor, ...]
    """(R, n, w) each: the input of the first layer, and the output of every layer."""
    encoder_hidden_states: tuple[Tensor, ...]
    decoder_hidden_states: tuple[Tensor, ...]
    attentions: tuple[Tensor, ...]
    """(R, H, n, n) a layer."""
    cross_attentions: tuple[Tensor | None, ...] | None
    """(R, H, Q, K) a layer of a decoder."""
    past_key_values: Cache
    mems: list[Tensor] | None
    """(n, R, w) a layer: the memory of Transformer-XL and XLNet."""

    def __getitem__(self, key: int | str) -> Tensor: ...
    def __contains__(self, key: object) -> bool: ...


class CachedLayer(Protocol):
    keys: Tensor
    """(R, H, n, d), as the values."""
    values: Tensor


class Cache(Protocol):
    """The keys and values of the tokens that a decoder has read."""

    layers: list[CachedLayer]

    def update(self, key_states: Tensor, value_states: Tensor, layer_idx: int) -> tuple[Tensor, Tensor]: ...
    def reorder_cache(self, beam_idx: Tensor) -> None: ...


class Module(Protocol):
    """A module of an architecture, with its submodules under the names that the architecture gives them."""

    training: bool

    def __call__(self, *args: object, **kwargs: object) -> Any: ...

    def __getattr__(self, name: str) -> Any: ...


class Model(Protocol):
    """A model, or a part of it that is one, such as its encoder; its own submodules have the architecture's names.

    For mypy it cannot be called: :func:`call` does that.
    """

    config: Config
    generation_config: Any
    base_model_prefix: str

    def __init__(self, config: Config) -> None: ...

    @property
    def base_model(self) -> Model: ...
    @property
    def device(self) -> device: ...

    def forward(self, *args: object, **kwargs: object) -> Output: ...
    def generate(self, *args: object, **kwargs: object) -> Tensor: ...
    def get_encoder(self) -> Model: ...
    def get_input_embeddings(self) -> Any: ...
    def get_output_embeddings(self) -> Any: ...
    def get_submodule(self, target: str) -> Any: ...
    def set_attn_implementation(self, attn_implementation: str) -> None: ...
    def eval(self) -> Self: ...
    def requires_grad_(self, requires_grad: bool = ...) -> Self: ...
    def modules(self) -> Iterator[nn.Module]: ...
    def named_modules(self) -> Iterator[tuple[str, nn.Module]]: ...
    def named_children(self) -> Iterator[tuple[str, nn.Module]]: ...
    def parameters(self) -> Iterator[nn.Parameter]: ...
    def named_parameters(self) -> Iterator[tuple[str, nn.Parameter]]: ...
    def state_dict(self) -> dict[str, Tensor]: ...
    def __getattr__(self, name: str) -> Any: ...


Tensors = Mapping[str, Any]
"""The arguments of a forward pass by name: tensors, and settings of the pass."""

FAILURES = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, AssertionError)
"""What the library's code raises where it cannot run a host's model on a text."""


@contextmanager
def explained(model: Model) -> Iterator[None]:
    """Within the block, failures of the library's code are a sentence.

    Raises:
        InputUnusable: instead of one of `FAILURES`.
    """
    try:
        yield
    except FAILURES as error:
        raise InputUnusable(
            f"The library's code for models of the type “{str(model.config.model_type)[:40]}” fails on this text "
            f"({type(error).__name__}). A text of another length may work; other models do."
        ) from error


def call(model: Model, **inputs: object) -> Output:
    """The output of a forward pass over ``inputs``; every pass of the Atlas is made here.

    Raises:
        InputUnusable: as :func:`explained`.
    """
    with explained(model):
        output: Output = model(**inputs)  # type: ignore[operator]  # here alone
        return output
