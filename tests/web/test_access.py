"""Who may do what: a token opens the door, and a viewer's changes nothing."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.web.graphs import REVIEW, STUCK
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]


def test_a_viewer_sees_everything_and_can_change_nothing(serve: Serve, look: Look) -> None:
    tokens: dict[str, str] = {}

    def make(server: Server) -> None:
        tokens.update({role: server.token(role) for role in ("operator", "viewer")})

    server, page = serve(REVIEW, STUCK, options=("--tokens",), before=make), look()
    key = {"Authorization": f"Bearer {tokens['operator']}"}
    waiting = server.call("/sessions", {"graph_id": "review", "inputs": "x"}, **key)["id"]
    locked = server.call("/sessions", {"graph_id": "stuck", "inputs": "x"}, **key)["id"]

    page.goto(f"{server.url}/sessions/{waiting}")
    page.get_by_label("Token").fill("rondel_wrong")
    page.get_by_role("button", name="Come in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known")
    page.get_by_label("Token").fill(tokens["viewer"])
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
