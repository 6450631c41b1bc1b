"""Who may do what: a token opens the door, and a viewer's changes nothing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.graphs import REVIEW, STUCK
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]


def token(server: Server, role: str) -> str:
    """A new token, made on the command line."""
    command = ["tokens", "create", role, "--role", role, "--db", str(server.folder / "journal.db")]
    done = subprocess.run(
        [sys.executable, "-c", "from rondel.cli import main; main()", *command],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()[0]


def test_a_viewer_sees_everything_and_can_change_nothing(serve: Serve, look: Look) -> None:
    server, page = serve(REVIEW, STUCK, options=("--tokens",)), look()
    key = {"Authorization": f"Bearer {token(server, 'operator')}"}
    waiting = server.call("/sessions", {"graph_id": "review", "inputs": "x"}, **key)["id"]
    locked = server.call("/sessions", {"graph_id": "stuck", "inputs": "x"}, **key)["id"]
    viewer = token(server, "viewer")

    page.goto(f"{server.url}/sessions/{waiting}")
    page.get_by_label("Token").fill("rondel_wrong")
    page.get_by_role("button", name="Come in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    page.get_by_label("Token").fill(viewer)
    page.get_by_role("button", name="Come in").click()
    expect(page.locator('[data-address="Writer[1]/Writer"]')).to_be_visible()
    names = ("Pause", "Stop", "Fork", "Go on", "Fork from here")
    for name in names:
        expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    page.goto(f"{server.url}/inbox")
    expect(page.get_by_role("article", name="Reviewer asks")).to_contain_text("Our first words")
    expect(page.get_by_role("button", name="Send")).to_have_count(0)
    expect(page.get_by_role("button", name="Approve")).to_have_count(0)
    page.goto(f"{server.url}/sessions/{locked}")
    expect(page.get_by_text("Locked: it repeats itself.")).to_be_visible()
    expect(page.get_by_role("button", name="Look and unlock")).to_have_count(0)
    page.goto(f"{server.url}/graphs")
    expect(page.get_by_role("link", name="review", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="New graph")).to_have_count(0)
    expect(page.get_by_role("button", name="Run")).to_have_count(0)
    page.goto(f"{server.url}/graphs/review")
    expect(page.locator(".react-flow__node-step")).to_have_count(3)
    expect(page.get_by_role("button", name="Save")).to_have_count(0)
    refused = page.evaluate(
        """async (id) => (await fetch(`/api/v1/sessions/${id}/stop`, {method: "POST"})).status""",
        waiting,
    )
    assert refused == 403
