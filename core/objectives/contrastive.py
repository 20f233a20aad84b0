r"""Contrastive losses on points of the unit circle, with their gradients.

**Image and text** (CLIP: Radford et al., 2021, arXiv 2103.00020, section 2.3). A batch holds n pairs; with unit vectors
:math:`u_i` of the images and :math:`v_j` of the texts, the scores are :math:`S_{ij} = u_i \cdot v_j / \tau` and

.. math:: L = -\frac{1}{2n} \sum_{i=1}^{n} \Big( \log \frac{e^{S_{ii}}}{\sum_j e^{S_{ij}}}
          + \log \frac{e^{S_{ii}}}{\sum_j e^{S_{ji}}} \Big)

**Supervised** (Khosla et al., 2020, arXiv 2004.11362; on sentences: Gunel et al., 2021, arXiv 2011.01403). Every point
has a class; those of its class should be near, all others far:

.. math:: L = \sum_{i} \frac{-1}{N_{y_i} - 1} \sum_{j \ne i,\, y_j = y_i}
          \log \frac{e^{S_{ij}}}{\sum_{k \ne i} e^{S_{ik}}}, \qquad S_{ij} = x_i \cdot x_j / \tau

with :math:`N_{y_i}` points in the class of i. A point that is alone in its class has no partner, and adds nothing.

A point at angle :math:`\theta` is :math:`(\cos\theta, \sin\theta)`; moving it along the circle changes the loss by
:math:`\partial L / \partial \theta = \nabla_x L \cdot (-\sin\theta, \cos\theta)`. Pure numpy, nothing random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TEMPERATURE = 0.07
"""Where CLIP's learned temperature starts."""
SHARPEST = 0.01
"""CLIP keeps its scale at 100 or below, the temperature at this or above."""


@dataclass(frozen=True, slots=True, eq=False)
class Loss:
    """A loss and its components, in nats."""

    value: float
    similarity: Floats  # (rows, columns) cosines
    probability: Floats  # (rows, columns) softmax of each row's scores; a point never competes with itself
    terms: Floats  # what each row adds to the value
    gradients: tuple[Floats, ...]
    """For each set of points: the derivative of the loss by the angle, in radians, counterclockwise."""


def log_softmax(scores: Floats, temperature: float = 1.0) -> Floats:
    """(..., V) log-probabilities of scores at a temperature."""
    shifted = (scores - scores.max(axis=-1, keepdims=True)) / temperature
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True)), dtype=np.float64)


def on_circle(degrees: Sequence[float] | Floats) -> Floats:
    """(n, 2) unit vectors at these angles."""
    angles = np.deg2rad(np.asarray(degrees, dtype=np.float64))
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def image_text(images: Sequence[float], texts: Sequence[float], temperature: float = TEMPERATURE) -> Loss:
    """CLIP's loss; pair i is image i with text i. Angles in degrees, equally many of both; ``terms`` sum to it."""
    image_vectors, text_vectors = on_circle(images), on_circle(texts)
    count = len(image_vectors)
    similarity = image_vectors @ text_vectors.T
    by_image, by_text = log_softmax(similarity, temperature), log_softmax(similarity.T, temperature).T
    terms = -np.diag(by_image + by_text) / (2 * count)
    error = (np.exp(by_image) + np.exp(by_text) - 2 * np.eye(count)) / (2 * count * temperature)
    gradients = _tangential(image_vectors, error @ text_vectors), _tangential(text_vectors, error.T @ image_vectors)
    return Loss(float(terms.sum()), similarity, np.exp(by_image), terms, gradients)


def supervised(points: Sequence[float], classes: Sequence[int], temperature: float = TEMPERATURE) -> Loss:
    """The supervised loss, summed over the points as in both papers. Angles in degrees, a class for each."""
    where, of = on_circle(points), np.asarray(classes)
    similarity = where @ where.T
    itself = np.eye(len(where), dtype=np.bool_)
    partner = (of[:, None] == of[None, :]) & ~itself
    partners = partner.sum(axis=1, keepdims=True)
    share = partner / np.maximum(partners, 1)
    logs = log_softmax(np.where(itself, -np.inf, similarity), temperature)
    terms = -(share * np.where(partner, logs, 0.0)).sum(axis=1)
    probability = np.exp(logs)
    error = np.where(partners > 0, probability - share, 0.0) / temperature
    return Loss(float(terms.sum()), similarity, probability, terms, (_tangential(where, (error + error.T) @ where),))


def descend(degrees: Sequence[float], gradients: Floats, step: float = 10.0) -> list[float]:
    """The angles after one gradient step; the point with the largest gradient moves by ``step`` degrees at most."""
    moves = -np.rad2deg(gradients)
    most = float(np.abs(moves).max(initial=0.0))
    return [float(angle + move * min(1.0, step / max(most, step))) for angle, move in zip(degrees, moves, strict=True)]


def _tangential(points: Floats, gradient: Floats) -> Floats:
    """(n,) the part of the gradient along the circle."""
    return np.asarray(gradient[:, 1] * points[:, 0] - gradient[:, 0] * points[:, 1], dtype=np.float64)
