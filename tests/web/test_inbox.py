"""The inbox, on a phone and in Chinese; who may answer, and who may only look."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.graphs import PAYING, REVIEW
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]
BANK = '''
from pathlib import Path


def wire_money(amount: int, to: str) -> str:
    """Wire so much to somebody."""
    with Path("paid.txt").open("a") as book:
        book.write(f"{amount} to {to}\\n")
    return "wired"
'''
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_person_with_a_phone_asks_for_changes_and_approves(serve: Serve, look: Look) -> None:
    server, page = serve(REVIEW), look(**PHONE)
    session = server.run("review")
    page.goto(f"{server.url}/inbox")
    card = page.get_by_role("article", name="Reviewer asks")
    expect(card).to_contain_text("Is this ready?")
    expect(card).to_contain_text("Our first words to you.")
    expect(card).to_contain_text(re.compile(r"1h 59m left|2h left"))
    assert fits(page)
    card.get_by_label("Your answer").fill("Say it better.")
    page.reload()
    expect(card.get_by_label("Your answer")).to_have_value("Say it better.")
    card.get_by_role("button", name="Revise").tap()
    expect(card).to_contain_text("round 2")
    expect(card.locator("ins", has_text="second and better")).to_be_visible()
    card.get_by_role("button", name="Show the whole text").tap()
    expect(card).to_contain_text("Our second and better words to you.")
    card.get_by_role("button", name="Approve").tap()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert server.settled(session, "completed")["output"] is not None
    page.goto(f"{server.url}/sessions/{session}")
    expect(page.get_by_text("Left by its exit in round 2.")).to_be_visible()
    assert fits(page)
    page.locator('[data-address="Writer[2]/Writer"]').tap()
    expect(page.get_by_role("complementary", name="Detail")).to_be_in_viewport()


def test_the_bar_has_one_line_on_the_narrowest_phone(serve: Serve, look: Look) -> None:
    server, page = serve(REVIEW), look(**PHONE | {"viewport": {"width": 360, "height": 640}})
    server.run("review")
    page.goto(server.url)
    inbox = page.get_by_role("link", name="Inbox")
    expect(inbox).to_contain_text("1")
    heights = page.locator(".top nav a").evaluate_all("links => links.map(e => e.offsetHeight)")
    assert max(heights) < 40
    assert fits(page)


def test_the_same_in_chinese(serve: Serve, look: Look) -> None:
    server, page = serve(REVIEW), look(locale="zh-CN", **PHONE)
    session = server.run("review")
    page.goto(f"{server.url}/inbox")
    card = page.get_by_role("article", name="Reviewer 提问")
    expect(card).to_contain_text("第 1 轮")
    card.get_by_role("button", name="批准").tap()
    expect(page.get_by_text("没有等待您的问题")).to_be_visible()
    page.goto(f"{server.url}/sessions/{session}")
    expect(page.get_by_text("第 1 轮走出口边离开。")).to_be_visible()
    page.get_by_role("button", name="English").tap()
    expect(page.get_by_text("Left by its exit in round 1.")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Left by its exit in round 1.")).to_be_visible()


def test_a_question_comes_to_an_open_inbox_and_leaves_it_when_somebody_else_answers(
    serve: Serve, look: Look
) -> None:
    server, page = serve(REVIEW), look()
    page.goto(f"{server.url}/inbox")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    session = server.run("review")
    expect(page.get_by_role("article", name="Reviewer asks")).to_be_visible()
    server.call(f"/sessions/{session}/answer", {"text": "approve"})
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def test_a_link_lands_on_one_question(serve: Serve, look: Look) -> None:
    server, page = serve(REVIEW), look()
    first, second = server.run("review"), server.run("review")
    for session in (first, second):
        server.settled(session, "waiting")
    page.goto(f"{server.url}/inbox/{second}")
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("link", name="All questions (2)").click()
    expect(page.get_by_role("article")).to_have_count(2)


def test_lists_without_anything_teach_and_start_an_example(serve: Serve, look: Look) -> None:
    server, page = serve(), look()
    page.goto(f"{server.url}/graphs")
    expect(page.get_by_text("No graph yet")).to_be_visible()
    page.goto(server.url)
    page.get_by_role("button", name="Start an example").click()
    expect(page).to_have_url(re.compile(r"/sessions/[0-9a-f]+"))
    expect(page.get_by_role("tab", name="Score sheet")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/sessions/[0-9a-f]+"))


def test_sessions_are_found_by_state_and_by_words(serve: Serve, look: Look) -> None:
    server, page = serve(REVIEW), look()
    answered, waiting = server.run("review", "about apples"), server.run("review", "about pears")
    server.settled(answered, "waiting")
    server.call(f"/sessions/{answered}/answer", {"text": "approve"})
    server.settled(answered, "completed")
    page.goto(f"{server.url}/sessions")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("State").select_option("waiting")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("about pears")
    page.get_by_label("State").select_option("")
    page.keyboard.press("Escape")
    page.get_by_label("Search in inputs and ids").fill("apples")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("completed")
    assert waiting


@pytest.mark.parametrize(
    ("button", "reason", "paid"),
    [("Approve", "", ["5 to Ann"]), ("Deny", "Not on a Friday", [])],
)
def test_leave_for_a_tool_is_asked_with_what_it_would_be_given(
    serve: Serve, look: Look, tmp_path: Path, button: str, reason: str, paid: list[str]
) -> None:
    tools = tmp_path / "tools" / "function_calling"
    tools.mkdir(parents=True)
    (tools / "bank.py").write_text(BANK, "utf-8")
    server, page = serve(PAYING, options=("--functions", str(tools.parent))), look(**PHONE)
    session, book = server.run("paying"), server.folder / "paid.txt"
    page.goto(f"{server.url}/inbox")
    card = page.get_by_role("article", name="Clerk asks")
    expect(card).to_contain_text("May the tool 'wire_money' be used with these values?")
    expect(
        card.get_by_text(re.compile(r'^\s+amount: 5\n\s+to: "Ann"$', re.MULTILINE))
    ).to_be_visible()
    expect(card.get_by_role("button", name="Deny")).to_be_visible()
    assert fits(page)
    assert not book.exists()
    card.get_by_label("Your answer").fill(reason)
    card.get_by_role("button", name=button).tap()
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()
    assert server.settled(session, "completed")["output"] == "It is settled."
    assert (book.read_text().splitlines() if book.exists() else []) == paid
    page.goto(f"{server.url}/sessions/{session}?at=Clerk&tab=events")
    detail = page.get_by_role("complementary", name="Detail")
    expect(detail).to_contain_text(f'"decision": "{button.lower()}"')
    expect(detail).to_contain_text(f'"reason": "{reason}"')
