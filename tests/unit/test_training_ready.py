"""The ready texts keep their rules, which other code than theirs checks."""

from __future__ import annotations

import itertools
import re

import pytest

from core.training import language, recipes
from core.training.ready import READY, ready

KILOBYTES = {"stories": 211, "recipes": 137, "language": 65, "openings": 44, "sums": 100}


@pytest.mark.parametrize("name", READY)
def test_a_ready_text_has_its_size_and_no_line_twice(name: str) -> None:
    lines = ready(name).splitlines()
    assert round(len(ready(name).encode()) / 1_000) == KILOBYTES[name]
    assert len(set(lines)) == len(lines)
    assert ready(name) == READY[name].text()


def numbers(words: str) -> list[int]:
    """The numbers that stand in a text in words."""
    value = {recipes.number(count): count for count in range(1, 41)}
    return [value[word] for word in re.findall(r"[a-z]+(?:-[a-z]+)?", words) if word in value]


def test_numbers_in_words() -> None:
    assert [recipes.number(count) for count in (1, 13, 20, 21, 35, 40)] == [
        "one", "thirteen", "twenty", "twenty-one", "thirty-five", "forty",
    ]  # fmt: skip


@pytest.mark.parametrize("line", ready("recipes").splitlines()[:60])
def test_a_recipe_keeps_its_amounts_tools_times_and_order(line: str) -> None:
    title, rest = re.fullmatch(r"(?:To make|For|If you would like) (a .*? for \w+), (.*)", line).groups()  # type: ignore[union-attr]
    dish, listed, people = re.fullmatch(r"a ([\w-]+) of (.*) for (\w+)", title).groups()  # type: ignore[union-attr]
    persons = numbers(people)[0]
    single = {item.plural: name for name, item in recipes.INGREDIENTS.items()}
    names = [single[plural] for plural in re.split(r", | and ", listed)]
    sentences = [f"{sentence}." for sentence in rest.removesuffix(".").split(". ")]
    for name, sentence in zip(names, sentences, strict=False):
        item = recipes.INGREDIENTS[name]
        count = persons * item.each
        assert numbers(sentence)[0] == count
        assert re.search(rf"[Tt]ake [\w-]+ {name if count == 1 else item.plural}, ", sentence)
        assert (" it " in sentence, " them " in sentence) == (count == 1, count > 1)
        assert item.then.split()[-1] in sentence
    end = sentences[len(names) :]
    assert {"soup": "hot", "stir-fry": "hot", "salad": "cold", "pie": "warm"}[dish] in end[-1]
    assert numbers(end[-1]) == [2 * persons if dish == "pie" else persons]
    times = [numbers(sentence)[-1] for sentence in end if "minute" in sentence]
    assert times == sorted(times, reverse=True)
    expected = sorted((recipes.INGREDIENTS[name].minutes for name in names), reverse=True)
    assert times == {"soup": expected, "stir-fry": [m // 2 for m in expected], "salad": [], "pie": expected[:1]}[dish]


def test_the_language_has_forty_words() -> None:
    assert len(language.WORDS) == 40
    assert set(re.findall(r"\w+", ready("language"))) == language.WORDS


def phrase(words: list[str]) -> tuple[str, int, str]:
    """Take a noun with its article and adjective from the front: its class, its number and the noun."""
    article, noun = words.pop(0), words.pop(0)
    kind, count = next(key for key, form in language.ARTICLES.items() if form == article)
    assert noun in {"living": language.LIVING, "thing": language.THINGS}[kind]
    if words and words[0][:-1].removesuffix("u") in language.ADJECTIVES:
        assert words.pop(0).endswith("um" if kind == "living" else "a")
    return kind, count, noun


def clause(words: list[str]) -> str:
    """Parse one from its words; its time."""
    if words[0] in language.PLACES:
        words.pop(0)
        assert phrase(words)[0] == "thing"
    kind, count, _ = phrase(words)
    if words[0] == "su":
        words.pop(0)
        phrase(words)
        count = 2
    what = phrase(words) if words[0] in language.ARTICLES.values() else None
    if words[0] == "no":
        words.pop(0)
    time, verb = words
    assert verb.endswith("an") == (count > 1)
    stem = verb.removesuffix("an")
    assert (what is None) == (stem == "zel")
    assert kind == "living" or stem == "zel"
    assert stem != "mub" or (what is not None and what[0] == "thing")
    return time


def test_every_sentence_of_the_language_keeps_its_rules() -> None:
    for line in ready("language").splitlines():
        assert line.startswith("ke ") == line.endswith("?")
        assert line[-1] in ".?"
        words = line.removeprefix("ke ")[:-1].split(" ")
        parts = [list(part) for joins, part in itertools.groupby(words, lambda word: word == "hu") if not joins]
        assert len({clause(part) for part in parts}) == 1
        assert len(parts) <= 2


def test_the_openings_are_written_as_moves_are() -> None:
    """Each was also played with python-chess, which the tests do without."""
    move = r"(?:[KQRBN][a-h1-8]?x?[a-h][1-8]|[a-h](?:x[a-h])?[1-8](?:=[QRBN])?|O-O(?:-O)?)[+#]?"
    for line in ready("openings").splitlines():
        name, moves = line.split(": ")
        assert re.fullmatch(r"[A-Z][\w',. -]+", name)
        assert re.fullmatch(rf"(?:\d+\.{move} (?:{move} )?)+", f"{moves} "), line
        assert [int(n) for n in re.findall(r"(\d+)\.", moves)] == list(range(1, moves.count(".") + 1))
        assert len(moves.split()) >= 8
