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
