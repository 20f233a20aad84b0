"""What LSTMs and Mamba keep for the way back, against what torch's own machinery is asked to keep."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from core.anatomy.build import describe
from core.anatomy.own import ProjectedLSTM
from core.costs.special import activation_bytes_per_token, activation_bytes_per_word, state_bytes_per_token


class Kept:
    """The tensors that a forward pass keeps, each once, without parameters."""

    def __init__(self, *parameters: nn.Module) -> None:
        self._own = {value.data_ptr() for module in parameters for value in module.parameters()}
        self.parts: dict[tuple[int, int], Tensor] = {}

    def __enter__(self) -> Kept:
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, lambda kept: kept)
        self._hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._hooks.__exit__(*error)

    def _pack(self, value: Tensor) -> Tensor:
        if value.data_ptr() not in self._own:
            self.parts[value.data_ptr(), value.numel()] = value
        return value

    @property
    def numbers(self) -> int:
        """How many they hold."""
        return sum(value.numel() for value in self.parts.values())


def test_an_lstm_keeps_two_inputs_and_seven_times_its_units_of_a_word() -> None:
    d, c = 6, 10
    lstm = ProjectedLSTM(d, c)
    x, h, cell = (torch.randn(1, size, requires_grad=True) for size in (d, d, c))
    with Kept(lstm) as kept:
        gates = lstm.from_input(x) + lstm.from_state(h)
        i, f, g, o = (
            bend(part)
            for bend, part in zip(
                (torch.sigmoid, torch.sigmoid, torch.tanh, torch.sigmoid),
                gates.chunk(4, dim=-1),
                strict=True,
            )
        )
        after = f * cell + i * g
        lstm.projection(o * torch.tanh(after))
    assert kept.numbers == 2 * d + 7 * c  # of the two cells, the one before is kept here
    assert activation_bytes_per_word(describe(lstm)) == 2 * (2 * d + 7 * c)


class Scan(torch.autograd.Function):
    """The scan as Mamba's kernel does it: it keeps what it reads, and no state."""

    @staticmethod
    def forward(ctx: Any, u: Tensor, step: Tensor, b: Tensor, c: Tensor) -> Tensor:
        ctx.save_for_backward(u, step, b, c)
        state, out = torch.zeros(u.shape[-1], b.shape[-1]), []
        for t in range(len(u)):
            state = torch.exp(-step[t])[:, None] * state + (step[t] * u[t])[:, None] * b[t]
            out.append(state @ c[t])
        return torch.stack(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise NotImplementedError


def test_mamba_keeps_nine_times_its_inner_width_of_a_token() -> None:
    from transformers import MambaConfig
    from transformers.models.mamba.modeling_mamba import MambaMixer

    d, e, n, r, tokens = 5, 10, 3, 4, 7
    config = MambaConfig(hidden_size=d, expand=2, state_size=n, time_step_rank=r)
    mixer = MambaMixer(config, layer_idx=0)
    normed = torch.randn(tokens, d, requires_grad=True)
    with Kept(mixer) as kept:
        x, z = (part.contiguous() for part in mixer.in_proj(normed).chunk(2, dim=-1))
        convolved = functional.conv1d(x.T[None], mixer.conv1d.weight, mixer.conv1d.bias, padding=3, groups=e)
        convolved = convolved[0, :, :tokens].T.contiguous()
        u = functional.silu(convolved)
        step, b, c = (part.contiguous() for part in mixer.x_proj(u).split([r, n, n], dim=-1))
        y = Scan.apply(u, functional.softplus(mixer.dt_proj(step)), b, c)  # type: ignore[no-untyped-call]
        mixer.out_proj(y * functional.silu(z))
    norm = tokens * d  # what came into the norm, which is no part of the mixer
    root = describe(mixer)
    assert 2 * (kept.numbers + norm) == tokens * activation_bytes_per_token(root)
    assert state_bytes_per_token(root) == 2 * n * e
