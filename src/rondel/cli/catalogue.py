"""The sentences of one language, found by the English ones that stand for them.

A language is a folder of JSON objects, one for each package that makes sentences: English
templates, with the names of their values in braces, and what they are in the language. A sentence
that somebody made already is taken apart again by the template that it fits, and its values, which
may be sentences too, are put into the other one. One that fits none may be two, with `; ` between.
Where brackets can stay whole, neither a value nor the `; ` breaks one open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

PLACE = re.compile(r"\{([a-z_]\w*)(?:![rs])?(?::[^{}\s]*)?\}")
AND = "; "
DEEPEST = 5
"""How many sentences may be inside one another."""
OWN = 20
"""A line with less fixed text than this may be a person's, and is not translated."""
JOINS = frozenset(("of", "or", "and", "andand"))
"""Templates with no more fixed text than this fit too much: their values must be names."""
NAMES = re.compile(r"[^\s,:;()]+(?: [^\s,:;()]+){0,3}(?:, [^\s,:;()]+(?: [^\s,:;()]+){0,3})*")
BRACKETS = {")": "(", "）": "（"}


class _Pattern(NamedTuple):
    anchor: str
    """Its longest fixed text; a sentence without it does not fit."""
    fixed: int
    template: str
    sentence: str
    joins: bool

    def allows(self, values: Sequence[str], depth: int, whole: bool) -> bool:
        """Whether these can be its values."""
        if self.joins:
            return depth > 0 and all(map(NAMES.fullmatch, values))
        return not whole or all(map(_is_whole, values))


class Catalogue:
    """Sentences in another language; an unknown sentence stays as it is."""

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
        if depth == DEEPEST:
            return text
        found = self._fitted(text, depth) or self._as_two(text, depth)
        return found or self._fitted(text, depth, whole=False) or text

    def lines(self, text: str) -> str:
        """Lines that a person or the program wrote; only those of the program are translated."""
        return "\n".join(map(self._line, text.split("\n")))

    def _line(self, text: str) -> str:
        return self._fitted(text, 0, OWN) or self._fitted(text, 0, OWN, whole=False) or text

    def _fitted(self, text: str, depth: int, least: int = 0, whole: bool = True) -> str | None:
        """The sentence of the template that says most and fits, with brackets whole or not."""
        for pattern in self._patterns:
            if pattern.fixed < least:
                return None
            found = pattern.anchor in text and _expression(pattern.template).fullmatch(text)
            if found and pattern.allows(found.groups(), depth, whole):
                values = {
                    name: self._value(value, depth + 1) for name, value in found.groupdict().items()
                }
                return PLACE.sub(lambda place: values[place[1]], pattern.sentence)  # noqa: B023
        return None

    def _as_two(self, text: str, depth: int) -> str | None:
        end = text.find(AND)
        while end >= 0 and not _is_whole(text[:end]):
            end = text.find(AND, end + 1)
        if end < 0:
            return None
        first, second = text[:end], text[end + len(AND) :]
        told = self.translated(first, depth + 1), self.translated(second, depth + 1)
        return None if told == (first, second) else self.sentence(AND).join(told)

    def _value(self, text: str, depth: int) -> str:
        return self.translated(text, depth) if any(c.isalpha() for c in text) else text

    @cached_property
    def _patterns(self) -> list[_Pattern]:
        """All patterns, those with the most fixed text first, because they are the most
        specific."""
        made = [_pattern(*pair) for pair in self._sentences.items() if PLACE.search(pair[0])]
        useful = [each for each in made if each.anchor.strip(" :;,.()'")]
        return sorted(useful, key=lambda each: each.fixed, reverse=True)


def catalogue_of(language: str) -> Catalogue:
    """The catalogue that is shipped for a language."""
    sentences: dict[str, str] = {}
    for file in (files("rondel.cli") / "languages" / language).iterdir():
        if file.name.endswith(".json"):
            sentences |= json.loads(file.read_text("utf-8"))
    return Catalogue(sentences)


def _pattern(template: str, sentence: str) -> _Pattern:
    fixed = PLACE.split(template)[::2]
    joins = "".join(fixed).replace(" ", "") in JOINS
    return _Pattern(max(fixed, key=len), sum(map(len, fixed)), template, sentence, joins)


@cache
def _expression(template: str) -> re.Pattern[str]:
    """A regular expression for the template, with a group for each value."""
    pieces = PLACE.split(template)
    expression, seen = re.escape(pieces[0]), set[str]()
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        expression += f"(?P={name})" if name in seen else f"(?P<{name}>.*?)"
        expression += re.escape(text)
        seen.add(name)
    return re.compile(expression, re.DOTALL)


def _is_whole(text: str) -> bool:
    """Whether each bracket in it is opened and closed in it."""
    opened: list[str] = []
    for sign in text:
        if sign in BRACKETS.values():
            opened.append(sign)
        elif sign in BRACKETS and (not opened or opened.pop() != BRACKETS[sign]):
            return False
    return not opened
