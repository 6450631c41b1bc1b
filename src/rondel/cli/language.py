"""The language that the command line speaks: English, or one that has a catalogue.

Sentences are written in English where they are made. Those of the command line itself go through
`words`; those that others made, errors above all, through `translated`. What programs read (JSON,
exit codes, the names of events, states and fields) never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rondel.cli.catalogue import Catalogue

OPTION = "--lang"
VARIABLES = ("RONDEL_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
LANGUAGES = ("en", "zh")


class _Spoken:
    catalogue: Catalogue | None = None


def words(template: str, /, **values: Any) -> str:
    """A sentence of the command line with its values, in the language that is spoken."""
    spoken = _Spoken.catalogue
    sentence = template if spoken is None else spoken.sentence(template)
    return sentence.format(**values) if values else sentence


def counted(count: int, one: str, many: str) -> str:
    """A number and a noun, in the singular or plural of the language."""
    return words(one if count == 1 else many, count=f"{count:,}")


def translated(text: str) -> str:
    """A finished English sentence in the language that is spoken, or as it is."""
    return text if _Spoken.catalogue is None else _Spoken.catalogue.translated(text)


def translated_lines(text: str) -> str:
    """A question, which a person or the program wrote, translated line by line."""
    return text if _Spoken.catalogue is None else _Spoken.catalogue.lines(text)


def speak(language: str) -> None:
    """Use this language from now on."""
    if language == LANGUAGES[0]:
        _Spoken.catalogue = None
        return
    from rondel.cli.catalogue import catalogue_of

    _Spoken.catalogue = catalogue_of(language)


def language_in(environ: Mapping[str, str]) -> str:
    """The language of an environment; the first variable that says one decides."""
    named = next((environ[name] for name in VARIABLES if environ.get(name)), "")
    language = named.replace("-", "_").split("_")[0].split(".")[0].lower()
    return language if language in LANGUAGES else LANGUAGES[0]


def without_option(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """The arguments without `--lang`, wherever it stands before `--`, and what it said."""
    rest: list[str] = []
    chosen: str | None = None
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            rest += [argument, *left]
        elif argument == OPTION:
            chosen = next(left, "")
        elif argument.startswith(f"{OPTION}="):
            chosen = argument.partition("=")[2]
        else:
            rest.append(argument)
    return rest, chosen
