"""Recipes made by a grammar and a seed: each choice but the dish, its ingredients and the number of people follows.

- The amounts are those for the number of people, as are the bowls, plates and slices at the end, and one thing is *it*.
- Each ingredient is prepared in its own way with its own tools: carrots are sliced with a knife, beets are grated.
- Each has its own time in a pot. A pan takes half as long. What takes longest goes in first.
- A soup is made in a pot, served hot and with parsley; a salad in a bowl, cold and with chives, and only of what can be
  eaten raw; a stir-fry in a pan, hot and with sesame; a pie in the oven, warm and with sugar, of fruit.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

LINES = 340


@dataclass(frozen=True, slots=True)
class Ingredient:
    plural: str
    each: int
    """For one person."""
    first: str
    """How it is cleaned; ``{}`` is *it* or *them*."""
    then: str
    """How it is cut."""
    minutes: int
    """In a pot, or in the oven."""


VEGETABLES = {
    "carrot": Ingredient("carrots", 1, "peel {} with a peeler", "slice {} with a knife", 12),
    "potato": Ingredient("potatoes", 2, "peel {} with a peeler", "dice {} with a knife", 20),
    "onion": Ingredient("onions", 1, "skin {} by hand", "chop {} with a knife", 10),
    "leek": Ingredient("leeks", 1, "rinse {} under the tap", "slice {} with a knife", 8),
    "tomato": Ingredient("tomatoes", 2, "rinse {} under the tap", "quarter {} with a knife", 6),
    "mushroom": Ingredient("mushrooms", 3, "clean {} with a brush", "halve {} with a knife", 4),
    "beet": Ingredient("beets", 1, "peel {} with a peeler", "grate {} with a grater", 18),
    "pepper": Ingredient("peppers", 1, "rinse {} under the tap", "cut {} into strips with scissors", 14),
    "clove of garlic": Ingredient("cloves of garlic", 1, "skin {} by hand", "crush {} with a press", 2),
    "cucumber": Ingredient("cucumbers", 1, "peel {} with a peeler", "grate {} with a grater", 0),
    "radish": Ingredient("radishes", 3, "clean {} with a brush", "slice {} with a knife", 0),
}
FRUITS = {
    "apple": Ingredient("apples", 2, "peel {} with a peeler", "core {} with a corer", 40),
    "pear": Ingredient("pears", 2, "peel {} with a peeler", "halve {} with a knife", 35),
    "plum": Ingredient("plums", 3, "rinse {} under the tap", "stone {} with a spoon", 30),
    "peach": Ingredient("peaches", 1, "rinse {} under the tap", "quarter {} with a knife", 25),
}
RAW = ("carrot", "tomato", "mushroom", "beet", "pepper", "cucumber", "radish")
INGREDIENTS = VEGETABLES | FRUITS
DISHES = {
    "soup": tuple(name for name in VEGETABLES if VEGETABLES[name].minutes),
    "stir-fry": tuple(name for name in VEGETABLES if VEGETABLES[name].minutes),
    "salad": RAW,
    "pie": tuple(FRUITS),
}
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)


def recipes() -> str:
    """340 different recipes, one a line."""
    drawn, lines = random.Random(0), dict[str, None]()
    while len(lines) < LINES:
        lines[recipe(drawn)] = None
    return "\n".join(lines)


def recipe(drawn: random.Random) -> str:
    dish = drawn.choice(tuple(DISHES))
    names = drawn.sample(DISHES[dish], drawn.choice((2, 2, 3)))
    people = drawn.randint(1, 6)
    what = f"a {dish} of {_joined([INGREDIENTS[name].plural for name in names])} for {number(people)}"
    begun = drawn.choice((f"To make {what}", f"For {what}", f"If you would like {what}"))
    prepared = ". ".join(_prepared(name, people, drawn) for name in names)
    return f"{begun}, {prepared[0].lower()}{prepared[1:]}. {_finished(dish, names, people)}"


def _prepared(name: str, people: int, drawn: random.Random) -> str:
    ingredient, count = INGREDIENTS[name], people * INGREDIENTS[name].each
    them = "it" if count == 1 else "them"
    first, then = ingredient.first.format(them), ingredient.then.format(them)
    joint = drawn.choice((" and", ", then"))
    return f"Take {number(count)} {name if count == 1 else ingredient.plural}, {first}{joint} {then}"


def _finished(dish: str, names: list[str], people: int) -> str:
    cups, spoons = (f"{number(people)} {what}{'s' * (people > 1)}" for what in ("cup", "spoon"))
    plates, bowls = (f"{number(people)} {what}{'s' * (people > 1)}" for what in ("plate", "bowl"))
    slices = f"{number(2 * people)} slices"
    if dish == "salad":
        mixed = _joined([_the(name, people) for name in names])
        return f"Mix {mixed} in a bowl with {spoons} of vinegar. Serve the salad cold on {plates}, with chives."
    ordered = sorted(names, key=lambda name: -INGREDIENTS[name].minutes)
    if dish == "pie":
        fruits = _joined([_the(name, people) for name in names])
        longest = number(INGREDIENTS[ordered[0]].minutes)
        return (
            f"Roll out {cups} of dough with a rolling pin and lay {fruits} on it. Bake the pie in the oven for "
            f"{longest} minutes. Serve it warm in {slices}, with sugar."
        )
    times = [INGREDIENTS[name].minutes // (1 if dish == "soup" else 2) for name in ordered]
    cooked = ". ".join(
        f"{begin} {_the(name, people)} and {'boil' if dish == 'soup' else 'fry'} for {number(minutes)} "
        f"minute{'s' * (minutes > 1)}"
        for begin, name, minutes in zip(("Put in", "Then add", "Finally add"), ordered, times, strict=False)
    )
    if dish == "soup":
        return f"Heat {cups} of water in a pot. {cooked}. Serve the soup hot in {bowls}, with parsley."
    return f"Heat {spoons} of oil in a pan. {cooked}. Serve the stir-fry hot on {plates}, with sesame."


def _the(name: str, people: int) -> str:
    return f"the {name if people * INGREDIENTS[name].each == 1 else INGREDIENTS[name].plural}"


def _joined(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def number(count: int) -> str:
    """A whole number of up to 40 in words."""
    words = _NUMBERS.split()
    if count < len(words):
        return words[count]
    tens, rest = divmod(count, 10)
    return f"{('twenty', 'thirty', 'forty')[tens - 2]}{f'-{words[rest]}' if rest else ''}"
