"""What MkDocs calls while it builds the site.

`FOLDER/*.md` in the navigation stands for the pages of the folder that it does not name, so that a
new page is never left out. Links may lead out of `docs/` into the repository: a picture there is
taken along; anything else is named by its path, since the site has only the pages.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?:\.\./)+[^)\s]*)\)")
PICTURES = (".svg", ".png")


@event_priority(100)
def on_config(config: Any) -> Any:
    """Name the pages that the navigation names by a pattern."""
    named = set(_leaves(config.nav))
    config.nav = [_expanded(entry, named) for entry in config.nav]
    return config


def _leaves(entry: Any) -> list[str]:
    match entry:
        case str():
            return [entry]
        case dict():
            return _leaves(list(entry.values()))
        case _:
            return [leaf for each in entry for leaf in _leaves(each)]


def _expanded(entry: Any, named: set[str]) -> Any:
    if isinstance(entry, dict):
        return {title: _expanded(inner, named) for title, inner in entry.items()}
    if isinstance(entry, list):
        return [leaf for each in entry for leaf in _several(each, named)]
    return entry


def _several(entry: Any, named: set[str]) -> list[Any]:
    if not (isinstance(entry, str) and entry.endswith("*.md")):
        return [_expanded(entry, named)]
    found = sorted((ROOT / "docs").glob(entry))
    pages = [str(page.relative_to(ROOT / "docs")) for page in found if ".zh." not in page.name]
    return [page for page in pages if page not in named]


def on_files(files: Any, config: Any) -> Any:
    """Take pictures of the repository along that pages show."""
    for file in [each for each in files if each.src_uri.endswith(".md")]:
        for place in _outside(file.src_uri, (ROOT / "docs" / file.src_uri).read_text("utf-8")):
            if place.endswith(PICTURES) and files.get_file_from_path(place) is None:
                files.append(File.generated(config, place, abs_src_path=str(ROOT / place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point to pictures where they are now, and name what the site does not have."""
    folder = PurePosixPath(page.file.src_uri).parent

    def rewritten(found: re.Match[str]) -> str:
        picture, text, link = found.groups()
        place = _in_repository(str(folder), link)
        if place is None:
            return found[0]
        if place.endswith(PICTURES):
            return f"{picture}[{text}]({os.path.relpath(place, folder)})"
        named = place.rstrip("/")
        return f"{text}" if text.strip("`") == named else f"{text} (`{named}` in the repository)"

    return LINK.sub(rewritten, markdown)


def _outside(page: str, markdown: str) -> list[str]:
    folder = str(PurePosixPath(page).parent)
    places = (_in_repository(folder, link) for _, _, link in LINK.findall(markdown))
    return [place for place in places if place is not None]


def _in_repository(folder: str, link: str) -> str | None:
    """The path in the repository of a link that leaves `docs/`; it must lead somewhere."""
    place = os.path.normpath(f"docs/{folder}/{link.split('#')[0]}")
    if place.startswith("docs/"):
        return None
    if not (ROOT / place).exists():
        raise FileNotFoundError(f"docs/{folder}: there is no {place}")
    return place
