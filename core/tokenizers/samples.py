"""Texts to begin with, written for this project."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).parent / "data"
"""Formulas and sentences as data."""

SAMPLES: dict[str, str] = {
    "words of all kinds": "The blacksmith’s unbelievable story: 3 naïve owls learned tokenization.",
    "French": "Où sont les œufs que Zoé a achetés hier à l’épicerie ?",
    "German": "Der Donaudampfschiffskapitän übersetzt heute ein Märchen.",
    "Greek": "Η γάτα κοιμάται πάνω στο τραπέζι.",
    "Russian": "Старый рыбак рассказал детям длинную сказку.",
    "Arabic": "القطة تنام على الكرسي قرب النافذة.",
    "Hindi": "बिल्ली खिड़की के पास सो रही है।",
    "Chinese": "猫在窗边的椅子上睡觉。",
    "Japanese": "猫は窓のそばの椅子で眠っています。",
    "emoji joined of several": "The family 👩‍👩‍👧 waved 👋🏽 and left 🚀.",
    "code": "def area(r):\n    return 3.14159 * r**2  # πr²",
    "numbers": "1234567 + 89 = 1234656; 3.14159; 2,000; 1e-5; 07:45",
    "blanks and signs": "two  blanks,\ta tab,\n\na new line — and [MASK] </s>",
}
DEFAULT = next(iter(SAMPLES.values()))

TALE = """\
There was once a lighthouse keeper who lived alone above the sea. Every evening he lit the lamp, and every morning \
he put it out. The lighthouse was old, older than the harbour, and the keeper was older than anyone in the village \
below. The fishermen called him the lightest sleeper of the coast, because he woke whenever the wind turned.

One winter night the wind blew stronger than ever before. The waves rose higher and higher, and the highest of them \
reached the lowest window of the tower. The keeper climbed the stairs, lower stairs and higher stairs, and found \
that the lamp had gone out. He lit it again. The wind put it out again. Three times he lit it, and three times it \
was put out.

Then the keeper remembered the small lantern that his mother had given him. Its light was weaker than the light of \
the lamp, but its glass was thicker and no wind could put it out. He hung the lantern in the highest window and sat \
beside it and waited. The longest hour of the night was the last one.

In the morning the fishermen came up the stairs with bread and fish. They had been out on the sea in the darkest \
hours, they said, and had seen a small light, a very small light, lower than a star and higher than a wave. They had \
rowed towards it. It had been the only light on the coast, and so it had been the brightest.

From then on the keeper lit both every evening: the lamp for the ships that were far, and the lantern for those that \
were near. And whenever someone asked him which of the two was the better light, he said that the better light was \
the one that was still burning in the morning.
"""
"""What a small tokeniser learns from, until somebody pastes a text."""
TALE_TEST = "The youngest astronomer wandered farther and slept longer."
