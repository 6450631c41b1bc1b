"""A picture of every example, as the pages show its run: `RONDEL_PICTURES=keep` puts them there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.e2e.command import ROOT, environment, rondel
from tests.web.serving import Server

EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*_*"))
SIZE = {"width": 1100, "height": 560}
LARGEST = 150_000

Serve = Callable[..., Server]
Look = Callable[..., Page]


@dataclass(frozen=True)
class Shot:
    """Where a page shows what an example is about, and what is there once it does."""

    page: str
    there: str
    press: str = ""
    run: int = 0
    height: int = SIZE["height"]


SHEET = Shot("sessions/{id}", ".cell")
TRANSCRIPT = Shot("sessions/{id}?view=transcript", ".turn")
CANVAS = Shot("sessions/{id}?view=canvas", ".react-flow__node-step")
SHOTS = {
    "02_human_review": Shot("inbox/{id}", ".question", run=2),
    "04_nested_loops": Shot("sessions/{id}?open=Outline[2]/Draft", ".nested", height=620),
    "06_fan_out_join": CANVAS,
    "07_debate": TRANSCRIPT,
    "08_vote": CANVAS,
    "10_council_debate": CANVAS,
    "13_generate_test_fix": Shot("sessions/{id}?at=Coder[2]/Coder&tab=diff", ".detail ins"),
    "15_breaker": Shot("sessions/{id}", ".side-by-side figure", press=".standing .button"),
    "16_fork_best": Shot("sessions/{id}?compare=Poet~2~3", "dialog ins"),
    "17_adaptive_debate": TRANSCRIPT,
}
"""Where the score sheet is not what says most."""


def test_every_example_is_seen_in_its_page(serve: Serve, look: Look, tmp_path: Path) -> None:
    ids: dict[str, str] = {}

    def run_all(server: Server) -> None:
        ids.update({example.name: ran(example, server.folder) for example in EXAMPLES})

    server = serve(before=run_all)
    page = look(viewport=SIZE)
    for example in EXAMPLES:
        folder = example if os.environ.get("RONDEL_PICTURES") == "keep" else tmp_path
        picture = taken(page, server.url, example, ids[example.name], folder)
        assert len(picture) < LARGEST, example.name


def taken(page: Page, url: str, example: Path, id: str, folder: Path) -> bytes:
    """The picture of an example whose session the server has."""
    shot = SHOTS.get(example.name, SHEET)
    page.set_viewport_size({"width": SIZE["width"], "height": shot.height})
    page.goto(f"{url}/{shot.page.format(id=id)}")
    if shot.press:
        page.locator(shot.press).click()
    expect(page.locator(shot.there).first).to_be_visible()
    page.mouse.move(0, 0)
    page.wait_for_timeout(350)  # what glides has come to rest
    return page.screenshot(path=folder / "picture.png")


def ran(example: Path, folder: Path) -> str:
    """Run an example as its README says; the session's id."""
    expected = json.loads((example / "expected.json").read_text("utf-8"))
    run = SHOTS.get(example.name, SHEET).run
    given = expected["runs"][run] if expected["runs"] else {"args": ["-i", "more loops"]}
    file = example / expected.get("file", "graph.yaml")
    there = environment(PYTHONPATH=plug_in(example, folder), RONDEL_DB=str(folder / "journal.db"))
    options = {"stdin": given.get("stdin", ""), "env": there}
    return str(rondel("run", str(file), *given["args"], "--json", **options).result["session_id"])


def plug_in(example: Path, folder: Path) -> str:
    """Where the package of an example is installed, if it is one."""
    if not (example / "pyproject.toml").exists():
        return ""
    install = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    target = ["--target", str(folder / "plug_in"), str(example)]
    subprocess.run([sys.executable, "-m", "pip", *install, *target], check=True)
    return str(folder / "plug_in")
