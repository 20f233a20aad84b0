"""The contrastive and distillation losses beside torch's: values by cross_entropy and kl_div, slopes by autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from core.objectives import contrastive, distillation

IMAGES, TEXTS = [10.0, 95.0, 200.0, 300.0], [25.0, 80.0, 260.0, 310.0]


def circle(angles: torch.Tensor) -> torch.Tensor:
    return torch.stack([angles.cos(), angles.sin()], dim=-1)


@pytest.mark.parametrize("temperature", [0.07, 0.5, 1.0])
def test_image_and_text_as_torch_has_it(temperature: float) -> None:
    left, right = (torch.deg2rad(torch.tensor(a, dtype=torch.float64)).requires_grad_() for a in (IMAGES, TEXTS))
    scores = circle(left) @ circle(right).T / temperature
    labels = torch.arange(4)
    loss = (functional.cross_entropy(scores, labels) + functional.cross_entropy(scores.T, labels)) / 2
    loss.backward()
    found = contrastive.image_text(IMAGES, TEXTS, temperature)
    assert found.value == pytest.approx(loss.item(), abs=1e-12)
    assert found.probability == pytest.approx(scores.softmax(1).detach().numpy(), abs=1e-12)
    for slope, angles in zip(found.slopes, (left, right), strict=True):
        assert slope == pytest.approx(angles.grad.numpy(), abs=1e-10)


@pytest.mark.parametrize("temperature", [0.07, 0.3])
def test_supervised_as_torch_has_it(temperature: float) -> None:
    points, classes = [*IMAGES, *TEXTS], [0, 0, 1, 1, 0, 2, 1, 0]
    angles = torch.deg2rad(torch.tensor(points, dtype=torch.float64)).requires_grad_()
    scores = circle(angles) @ circle(angles).T / temperature
    loss = torch.zeros((), dtype=torch.float64)
    for i, of in enumerate(classes):
        others = [k for k in range(8) if k != i]
        partners = [j for j in others if classes[j] == of]
        row = scores[i, others][None]
        for j in partners:
            loss = loss + functional.cross_entropy(row, torch.tensor([others.index(j)])) / len(partners)
    loss.backward()
    found = contrastive.supervised(points, classes, temperature)
    assert found.value == pytest.approx(loss.item(), abs=1e-10)
    assert found.slopes[0] == pytest.approx(angles.grad.numpy(), abs=1e-9)
    assert found.terms[5] == 0.0  # alone in its class


def test_the_three_losses_of_distillation_as_torch_has_them() -> None:
    torch.manual_seed(0)
    teacher, student = torch.randn(2, 3, 11, dtype=torch.float64)
    truth = torch.tensor([4, 0, 10])
    states = torch.randn(2, 5, 7, dtype=torch.float64)
    found = distillation.losses(
        teacher.numpy(), student.numpy(), truth.numpy(), (states[0].numpy(), states[1].numpy()), 2.0
    )
    soft = functional.kl_div(
        (student / 2).log_softmax(-1), (teacher / 2).log_softmax(-1), reduction="batchmean", log_target=True
    )
    assert found.soft.mean() == pytest.approx(4 * soft.item())
    assert found.hard.mean() == pytest.approx(functional.cross_entropy(student, truth).item())
    likeness = functional.cosine_similarity(states[0], states[1], dim=-1).mean().item()
    assert found.states.mean() == pytest.approx(1 - likeness)
    assert found.total == pytest.approx(20 * soft.item() + 2 * found.hard.mean() + 1 - likeness)
    assert np.allclose(np.exp(contrastive.log_softmax(teacher.numpy(), 2.0)), (teacher / 2).softmax(-1).numpy())
