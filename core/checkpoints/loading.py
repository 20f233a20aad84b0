"""Loads a checkpoint: evaluation mode, float32, on the CPU, from local files alone.

Only safetensors are read, and no code of a checkpoint runs. A model that lacks weights of its architecture is refused,
since transformers would initialize them at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import get_ident
from typing import Any

from safetensors import SafetensorError

from core.checkpoints import hub_cache, package
from core.checkpoints.bundled import apply, base_state, files_of, state_of, targets
from core.checkpoints.families import FAMILIES, Kind
from core.checkpoints.folder import (
    WEIGHTS,
    Inspected,
    State,
    count_elements,
    inspect,
    inspect_cached,
    signature,
    state_of_files,
)
from core.checkpoints.registry import BESIDE, FOLDERS, GENERATOR, UPDATES, bundled_root
from core.checkpoints.spec import Checkpoint, CheckpointSpec
from core.checkpoints.tokenizer_file import (
    is_failure,
    refuse_failing_tokenizer,
    refuse_many_added_tokens,
    refuse_slow_tokenizer,
)
from core.errors import CheckpointRefused, CheckpointUnavailable, InputTooLong
from core.lazy import Tensor, torch, transformers
from core.run.model import Model
from core.run.prepare import prepare
from core.settings import raised_with, settings
from core.turns import turns

_UNUSED = (".pooler.", "position_ids")
"""Components of a base model that no language-model head reads: they may be missing, or unexpected."""

_COMPUTED = {"masked_bias", "causal_mask", "version", "inv_freq", "token_type_ids"}
"""What older versions of transformers stored of a module, though it follows from the configuration."""

MAX_MODULES = 20_000
"""A layer has about 20 modules, and one is built in a tenth of a millisecond."""

_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_BUILT: dict[str, Any] = {"attn_implementation": "eager", "dtype": "float32"}
"""Else a model has the dtype that its configuration names, or torch's default, which any thread may change."""


def read_checkpoint(spec: CheckpointSpec) -> Checkpoint:
    """Load ``spec``; :func:`core.checkpoints.load` caches the result.

    Raises :class:`CheckpointUnavailable` where something must first be installed, trained or downloaded, and
    :class:`CheckpointRefused` where the files cannot or must not be loaded.
    """
    require_ready(spec)
    if spec.source in ("bundled", "package"):
        with _blank():
            model, tokenizer = _read_bundled(spec)
    else:
        folder = _inspected(spec).folder
        limit = hub_cache.cache_root() if spec.source == "hub" else _host_directory(spec)
        inspected = inspect(folder, limit, spec.kind)
        refuse_slow_tokenizer(folder / "tokenizer.json")
        refuse_many_added_tokens(folder)
        tokenizer = _tokenizer(folder)
        refuse_failing_tokenizer(spec.name, lambda text: tokenizer(text)["input_ids"], tokenizer.decode)
        model, tokenizer = _read_folder(inspected, tokenizer)
        prepare(model, spec.family.sides)
        _return_the_usual(model)
    _refuse_infinite(spec.name, model)
    model.eval()
    model.requires_grad_(False)
    in_steps(model)
    return Checkpoint(model, tokenizer, spec)


def in_steps(model: transformers.PreTrainedModel) -> None:
    """Make each forward pass of a model, or of a model within it, a step of `core.turns`."""
    for module in model.modules():
        if isinstance(module, transformers.PreTrainedModel):
            module.register_forward_pre_hook(_step, with_kwargs=True)


def _step(_module: object, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Let others go first, and refuse more tokens than one pass may have: (batch, tokens, ...) in each input."""
    turns.step()
    read = (*inputs[:1], *(named.get(name) for name in ("input_ids", "inputs_embeds", "decoder_input_ids")))
    longest = max((tensor.shape[1] for tensor in read if getattr(tensor, "ndim", 0) > 1), default=0)
    if longest > (most := settings().max_tokens):
        raise InputTooLong(
            f"This text has {longest:,} tokens; a model reads at most {most:,} in one pass here. A shorter text works. "
            f"{raised_with('max_tokens')}"
        )


def _return_the_usual(model: transformers.PreTrainedModel) -> None:
    """Undo what a host's configuration says of outputs: the app names what it wants of each pass.

    Without ``return_dict`` outputs have no names; ``tie_last_hidden_states`` leaves the last state without its norm.
    """
    usual = {"return_dict": True, "output_attentions": False, "output_hidden_states": False}
    for module in model.modules():
        if isinstance(module, transformers.PreTrainedModel):
            for name, value in (usual | {"tie_last_hidden_states": None}).items():
                setattr(module.config, name, value)


def require_ready(spec: CheckpointSpec) -> None:
    """Raise :class:`CheckpointUnavailable`, with what to do, where ``spec`` is not ready."""
    if not spec.ready and spec.source == "hub":
        raise CheckpointUnavailable(
            f"{spec.name} has not been downloaded. Download it on its page, or run "
            f"“python -m core fetch {spec.slug}” where there is a network."
        )
    if not spec.ready:
        package.verified_weights()  # raises, as it is not installed


def estimated_bytes(spec: CheckpointSpec) -> int:
    """Bytes of the weights in float32, from the headers of their files."""
    if spec.source in ("bundled", "package"):
        files, base = files_of(_bundled_folder(spec), spec.card)
        return 4 * sum(count_elements(file) for file in (*files, *base))
    return 4 * _inspected(spec).elements


def _bundled_folder(spec: CheckpointSpec) -> Path:
    """The folder with the weights of a bundled checkpoint, or of a part of one."""
    part = spec.slug.partition(":")[2]
    return Path(spec.location) / (part if part in FOLDERS else "")


def _updates(spec: CheckpointSpec) -> Path:
    """The file of what a checkpoint's part learned beyond the checkpoint, if it is such a part."""
    slug, _, part = spec.slug.partition(":")
    return bundled_root() / slug / (part or "-") / "difference.safetensors"


def weight_files(spec: CheckpointSpec) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """A checkpoint's own weight files, and those of the checkpoint that it is a difference to."""
    if spec.source in ("bundled", "package"):
        files, base = files_of(_bundled_folder(spec), spec.card)
        updates = _updates(spec)
        return ((updates,), (*files, *base)) if updates.is_file() else (files, base)
    return _inspected(spec).weights, ()


def fingerprint(spec: CheckpointSpec) -> State:
    """The state of the files of a checkpoint and its base: the cache key of the model and of its results.

    Raises :class:`AtlasError` or ``OSError`` where one is missing.
    """
    if spec.source == "visitor":
        return ((spec.location, 0, 0),)
    if spec.source == "directory":  # its configuration or its tokenizer may be replaced alone
        return signature(Path(spec.location))
    files, base = weight_files(spec)
    return (*state_of_files(files), *state_of_files(base))


def _inspected(spec: CheckpointSpec) -> Inspected:
    """The inspected folder of a checkpoint in the host's directory or the Hub's cache."""
    if spec.source == "hub":
        fetched = hub_cache.fetched(spec.location, spec.kind)
        if fetched is None:
            raise CheckpointUnavailable(f"The download of {spec.name} is no longer there. Download it again.")
        return fetched
    return inspect_cached(Path(spec.location), _host_directory(spec))


def _host_directory(spec: CheckpointSpec) -> Path:
    # The registry lists either the children of the host's directory or the directory itself.
    return settings().checkpoint_dir or Path(spec.location)


SHARED = tuple(f"electra.embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type"))
"""The embeddings that ELECTRA's generator shares with its discriminator."""


def _filled(model: transformers.PreTrainedModel, missing: Iterable[str], name: str) -> transformers.PreTrainedModel:
    """The model with tied weights; refused where keys are ``missing`` that are not tied."""
    model.tie_weights()
    tied = set(getattr(model, "all_tied_weights_keys", None) or getattr(model, "_tied_weights_keys", None) or ())
    _complete(name, [key for key in missing if key not in tied])
    return model


def _read_folder(
    inspected: Inspected,
    tokenizer: transformers.PreTrainedTokenizerBase | None = None,
    model_class: type[transformers.PreTrainedModel] | None = None,
) -> tuple[Model, transformers.PreTrainedTokenizerBase]:
    """A whole model in a ``save_pretrained`` folder; ``model_class`` where it is not the class of its kind."""
    name = inspected.folder.name
    tokenizer = tokenizer or _tokenizer(inspected.folder)
    # Otherwise BigBird-Pegasus switches the shared model to full attention, for good, on the first short text.
    full = {"attention_type": "original_full"} if inspected.config.get("model_type") == "bigbird_pegasus" else {}
    try:
        with _quietly(), _bounded(name):
            model, report = (model_class or _auto(inspected.kind)).from_pretrained(
                inspected.folder,
                use_safetensors=True,
                output_loading_info=True,
                disable_mmap=True,
                **_BUILT,
                **full,
                **_LOCAL,
            )
    except SafetensorError:
        raise CheckpointRefused(f"The weights of “{name}” are corrupt. Copy or download them again.") from None
    except (MemoryError, CheckpointRefused):
        raise
    except Exception as error:  # a host's files can make the library raise anything
        raise CheckpointRefused(_cannot(inspected.folder, "model", error)) from error
    _complete(name, report["missing_keys"])
    _refuse_unused(name, model, report["unexpected_keys"])
    if mismatched := report.get("mismatched_keys"):
        raise CheckpointRefused(
            f"The weights of “{name}” do not have the shapes that config.json states ({len(mismatched)} differ)."
        )
    rows = getattr(_embeddings(model), "shape", None)
    if rows is not None and len(tokenizer) > rows[0]:
        raise CheckpointRefused(
            f"The tokenizer of “{name}” has {len(tokenizer):,} tokens and the model only {rows[0]:,}: "
            "they do not belong together."
        )
    return model, tokenizer


@contextmanager
def _blank() -> Iterator[None]:
    """New weights are zeros, in this thread: to draw them at random takes longer than to read what replaces them."""
    from torch.overrides import TorchFunctionMode

    class Zeros(TorchFunctionMode):
        def __torch_function__(
            self,
            function: Callable[..., object],
            types: object,
            args: tuple[Any, ...] = (),
            kwargs: dict[str, Any] | None = None,
        ) -> object:
            if not getattr(function, "__name__", "").endswith(("normal_", "uniform_")):
                return function(*args, **(kwargs or {}))
            with torch.no_grad():
                return (args[0] if args else (kwargs or {})["tensor"]).zero_()

    with Zeros():
        yield


@contextmanager
def _quietly() -> Iterator[None]:
    """Without transformers' report: a folder may have unexpected heads, and missing weights are refused here."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def _bounded(name: str) -> Iterator[None]:
    """Refuse an architecture of more than ``MAX_MODULES`` while it is built, however its configuration says so.

    And one whose tables, such as those of positions, do not fit into the memory of models: no file holds them.
    """
    from torch.nn.modules import module as torch_module

    here, count, size, most = get_ident(), 0, 0, settings().model_bytes

    def counted(*_: object) -> None:
        nonlocal count
        count += get_ident() == here
        if count > MAX_MODULES:
            raise CheckpointRefused(
                f"The configuration of “{name}” makes a model of more than {MAX_MODULES:,} parts, and the Atlas "
                "builds no such model. Correct its config.json."
            )

    def weighed(_module: object, _name: str, table: Tensor | None) -> None:
        nonlocal size
        size += table.nbytes if table is not None and get_ident() == here else 0
        if size > most:
            raise CheckpointRefused(
                f"The configuration of “{name}” makes tables of more than the {most / 1e6:,.0f} MB that this "
                "installation allows for models. Correct its config.json, or raise ATLAS_MEMORY_MB."
            )

    hooks = (
        torch_module.register_module_module_registration_hook(counted),
        torch_module.register_module_buffer_registration_hook(weighed),
    )
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _embeddings(model: transformers.PreTrainedModel) -> Tensor | None:
    """The matrix of token embeddings; None where an architecture has no single one."""
    try:
        return getattr(model.get_input_embeddings(), "weight", None)
    except NotImplementedError:
        return None


def _read_bundled(spec: CheckpointSpec) -> tuple[Model, transformers.PreTrainedTokenizerBase]:
    """Model and tokenizer of ``assets/checkpoints``: a whole model, one of its parts, or a difference to a base."""
    from safetensors.torch import load_file

    part = spec.slug.partition(":")[2]
    part_folder = _bundled_folder(spec)
    folder = part_folder.parent if part in FOLDERS else part_folder
    if part == GENERATOR:  # shares the discriminator's embeddings
        for file in (part_folder / WEIGHTS, folder / WEIGHTS):
            count_elements(file)
        state = load_file(part_folder / WEIGHTS) | {n: v for n, v in load_file(folder / WEIGHTS).items() if n in SHARED}
        model = _auto("masked-lm").from_config(_config(part_folder), trust_remote_code=False, **_BUILT)
        return _filled(model, model.load_state_dict(state, strict=False).missing_keys, spec.name), _tokenizer(folder)
    if part in BESIDE:  # shares the tokenizer of the model beside it
        count_elements(part_folder / WEIGHTS)
        return _read_folder(replace(inspect(folder, folder), folder=part_folder), _tokenizer(folder))
    if part == "pairs" or part in UPDATES:
        model_class = _class_of(spec, part)
        inspected, updates = inspect(folder, folder), _updates(spec)
        if not updates.is_file():
            return _read_folder(inspected, model_class=model_class)
        count_elements(updates)
        model = model_class._from_config(_config(folder), **_BUILT)
        state = apply(load_file(folder / WEIGHTS), load_file(updates))
        return _filled(model, model.load_state_dict(state, strict=False).missing_keys, spec.name), _tokenizer(folder)
    if (folder / WEIGHTS).is_file():
        return _read_folder(inspect(folder, folder))
    if spec.offers("classifies texts"):
        from core.checkpoints.adapters import read_adapters

        base = {name.removeprefix("bert."): value for name, value in base_state(package.NAME).items()}
        adapted: Any = read_adapters(folder, _config(folder), base)  # of a Model it has what its demo uses
        return adapted, _tokenizer(package.verified_weights().parent)
    config, state = _config(folder), state_of(folder, spec.card)
    model = _auto(spec.kind).from_config(config, trust_remote_code=False, **_BUILT)
    report = model.load_state_dict(state, strict=False)
    stray = sorted(set(report.unexpected_keys) & targets(folder / "difference.safetensors"))
    if stray:
        raise CheckpointRefused(
            f"The difference of {spec.name} changes {stray[0]}, which its architecture does not have."
        )
    return _filled(model, report.missing_keys, spec.name), _tokenizer(folder)


def _class_of(spec: CheckpointSpec, part: str) -> Any:
    """The class of a part that is a checkpoint with updates or with another head."""
    if part == "spans":
        from core.checkpoints.heads import BoundaryBert

        return BoundaryBert
    if part == "orders":
        from core.checkpoints.heads import OrdersBert

        return OrdersBert
    if part == "pairs":
        order = spec.offers("sentence order")
        return transformers.AlbertForPreTraining if order else transformers.BertForNextSentencePrediction
    return transformers.BertForMaskedLM


def _auto(kind: Kind) -> Any:
    """The auto class of transformers for a kind of model."""
    return getattr(transformers, str(FAMILIES[kind].auto))


def _config(folder: Path) -> transformers.PretrainedConfig:
    return transformers.AutoConfig.from_pretrained(folder, **_LOCAL)


def _tokenizer(folder: Path) -> transformers.PreTrainedTokenizerBase:
    try:
        return transformers.AutoTokenizer.from_pretrained(folder, **_LOCAL)
    except BaseException as error:  # the tokenizers library raises bare Exception for a corrupt file, or panics
        if not is_failure(error):
            raise
        raise CheckpointRefused(_cannot(folder, "tokenizer", error)) from error


def _refuse_infinite(name: str, model: transformers.PreTrainedModel) -> None:
    """Raise :class:`CheckpointRefused` where a weight is NaN or infinite, or the sum of a tensor overflows.

    The sum is the fastest test: it is finite only where all its terms are.
    """
    for key, weight in model.named_parameters():
        if not weight.detach().sum().isfinite():
            raise CheckpointRefused(
                f"The weights of “{name}” are not all finite numbers, or overflow when summed (the first: {key}), "
                "so the model cannot compute anything. Save or copy it again."
            )


def _complete(name: str, missing: list[str] | set[str]) -> None:
    """Raise :class:`CheckpointRefused` where weights are missing that predictions depend on."""
    lacking = sorted(key for key in missing if not any(part in key for part in _UNUSED))
    if lacking:
        raise CheckpointRefused(
            f"The weights of “{name}” lack {len(lacking)} tensors of its architecture (the first: {lacking[0]}), "
            "which would have to be initialized at random. Save the whole model, head included."
        )


def _refuse_unused(name: str, model: transformers.PreTrainedModel, unexpected: Iterable[str]) -> None:
    """Raise :class:`CheckpointRefused` where the file has weights that the built model should read and does not.

    Those are of the base model, such as of layers that the configuration does not count, or of a module of its head.
    Another head is not, and neither is what a module computes by itself, such as a mask or a table of positions.
    """
    modules = {**dict(model.base_model.named_modules()), **dict(model.named_modules())}
    base = {model.base_model_prefix, *dict(model.base_model.named_children())}  # a file may name it or not

    def should_be_read(key: str) -> bool:
        parent, _, last = key.rpartition(".")
        computed = last in _COMPUTED or last in getattr(modules.get(parent), "_buffers", {})
        of_model = key.partition(".")[0] in base or parent in modules
        return of_model and not computed and not any(part in key for part in _UNUSED)

    if lost := sorted(filter(should_be_read, unexpected)):
        raise CheckpointRefused(
            f"The weights of “{name}” have {len(lost)} {'tensor' if len(lost) == 1 else 'tensors'} that the model of "
            f"its config.json does not use (the first: {lost[0]}), so that another model would run than was saved. "
            "Correct config.json, such as its number of layers, or save the model again with save_pretrained."
        )


def _cannot(folder: Path, part: str, error: BaseException) -> str:
    """The sentence for an error of a library: its first line, shortened, without paths of this machine."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].replace(str(folder), folder.name)
    return f"The {part} of “{folder.name}” cannot be loaded by the installed transformers library: {reason[:200]}"
