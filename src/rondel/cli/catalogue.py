"""The sentences of one language, found by the English ones that stand for them.

A file is a JSON object: English templates, with the names of their values in braces, and what they
are in the language. A sentence that somebody made already is taken apart again by the template
that it fits, and its values, which may be sentences too, are put into the other one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from typing import NamedTuple

PLACE = re.compile(r"\{(\w+)(?:![rs])?(?::[^{}]*)?\}")
DEEPEST = 5
"""How many sentences may be inside one another."""


class _Pattern(NamedTuple):
    anchor: str
    """Its longest piece of fixed text: what does not contain it does not fit."""
    fixed: int
    expression: re.Pattern[str]
    sentence: str


class Catalogue:
    """What sentences are in another language; what it does not know stays as it is."""

    def __init__(self, sentences: Mapping[str, str]) -> None:
        self._sentences = sentences

    def sentence(self, template: str) -> str:
        """The sentence for a template, with places for the same values."""
        return self._sentences.get(template, template)

    def translated(self, text: str, depth: int = 0) -> str:
        """A finished sentence in the language."""
        known = self._sentences.get(text)
        if known is not None:
            return known
        for pattern in self._patterns if depth < DEEPEST else ():
            found = pattern.anchor in text and pattern.expression.fullmatch(text)
            if found:
                values = {
                    name: self._value(value, depth + 1) for name, value in found.groupdict().items()
                }
                return PLACE.sub(lambda place: values[place[1]], pattern.sentence)  # noqa: B023
        return text

    def _value(self, text: str, depth: int) -> str:
        return self.translated(text, depth) if any(c.isalpha() for c in text) else text

    @cached_property
    def _patterns(self) -> list[_Pattern]:
        """Those with the most fixed text come first: they say the most."""
        made = [_pattern(*pair) for pair in self._sentences.items() if PLACE.search(pair[0])]
        return sorted((each for each in made if each.anchor.strip(" :;,.()'")), key=_weight)


def catalogue_of(language: str) -> Catalogue:
    """The catalogue that is shipped for a language."""
    text = (files("rondel.cli") / "languages" / f"{language}.json").read_text("utf-8")
    return Catalogue(json.loads(text))


def names_in(template: str) -> set[str]:
    """The values that a sentence has places for."""
    return set(PLACE.findall(template))


def _pattern(template: str, sentence: str) -> _Pattern:
    pieces = PLACE.split(template)
    fixed, names = pieces[::2], pieces[1::2]
    expression, seen = "", set()
    for number, text in enumerate(fixed):
        expression += re.escape(text)
        if number < len(names):
            name = names[number]
            expression += f"(?P={name})" if name in seen else f"(?P<{name}>.*?)"
            seen.add(name)
    longest = max(fixed, key=len)
    return _Pattern(longest, sum(map(len, fixed)), re.compile(expression, re.DOTALL), sentence)


def _weight(pattern: _Pattern) -> int:
    return -pattern.fixed
