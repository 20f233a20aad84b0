"""Sentences written for this page: texts to begin with, and what stands in for another text of the corpus."""

from __future__ import annotations

KING = "The king gave his daughter a golden ring, and she thanked him with all her heart."
STORY = (
    "The king had three daughters, and the youngest was so beautiful that the sun itself wondered. "
    "One day she lost her golden ring in the deep well behind the castle."
)
PAIR = "The king had three daughters. The youngest of them was so kind that even the birds loved her."
NAMES = (
    "In 1812 the Brothers Grimm wrote down the story of Snow White. Long before that, her stepmother asked a looking "
    "glass in Germany who was the fairest."
)
LONG_WORDS = (
    "The kindhearted shoemaker unexpectedly discovered a neighbour's forgotten treasure underneath the floorboards of "
    "his workshop."
)

OTHERS = (
    "Oxygen is a gas that most animals need to live.",
    "The city lies on a broad river and has a large harbour.",
    "He sold his horse and bought a small boat.",
    "In winter the lake is frozen for three months.",
    "My sister drinks a cup of tea every morning.",
    "The train was late, so they waited on the platform.",
)
"""Each from a text of its own."""
