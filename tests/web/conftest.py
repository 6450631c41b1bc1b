"""A real browser over a real server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.web.chromium import NO_BROWSER, chromium
from tests.web.serving import Server

PAGES = Path(__file__).parents[2] / "src" / "rondel" / "server" / "pages" / "index.html"
WIDE = {"width": 1360, "height": 820}


def missing(what: str) -> None:
    """What cannot be tested here is left out, but never by `make test`."""
    if os.environ.get("RONDEL_PAGES"):
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests of this process."""
    if not PAGES.exists():
        missing("The pages are not built: make web.")
    program = chromium()
    if program is None:
        missing(NO_BROWSER)
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers, and ends them."""
    servers: list[Server] = []

    def start(
        *graphs: str, options: tuple[str, ...] = (), before: Callable[[Server], None] | None = None
    ) -> Server:
        server = Server(tmp_path / f"server{len(servers)}", *options)
        if before is not None:
            before(server)
        for graph in graphs:
            server.put(graph)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.end()


@pytest.fixture
def look(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens windows, each with its own kept choices; an error in one of them fails the test."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def open_page(**options: object) -> Page:
        context = browser.new_context(**{"viewport": WIDE, "locale": "en-US", **options})  # type: ignore[arg-type]
        context.set_default_timeout(20_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: _note(message, errors))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not errors


def _note(message: object, errors: list[str]) -> None:
    text = getattr(message, "text", "")
    if getattr(message, "type", "") == "error" and "Content Security Policy" in text:
        errors.append(text)
