"""The editor: a graph built with the mouse, its text, its certificate, its run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.web.graphs import CHATDEV, essay
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]
COUNCIL = Path(__file__).parents[1] / "fixtures" / "council" / "debate.json"


def node(page: Page, id: str) -> Locator:
    return page.locator(".react-flow__node-step", has=page.get_by_text(id, exact=True))


def add(page: Page, kind: str, id: str) -> None:
    """Add a node by its palette button, and give it a name."""
    page.get_by_role("navigation", name="Nodes").get_by_role(
        "button", name=kind, exact=True
    ).click()
    name = page.get_by_label("Id", exact=True)
    name.fill(id)
    name.press("Enter")
    expect(node(page, id)).to_be_visible()


def connect(page: Page, source: str, target: str) -> None:
    """Drag from the right side of a node to the left side of another."""
    page.get_by_role("button", name="Fit View").click()
    page.wait_for_timeout(250)  # the canvas glides to its place
    start = node(page, source).locator(".react-flow__handle-right").bounding_box()
    end = node(page, target).locator(".react-flow__handle-left").bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] - 8, end["y"], steps=8)
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=4)
    page.mouse.up()
    expect(page.get_by_role("heading", name=f"{source} → {target}")).to_be_visible()


def by_words(page: Page, kind: str, word: str) -> None:
    page.get_by_label("Condition").select_option("keyword")
    page.get_by_label(kind).fill(word)


def answer(page: Page, text: str) -> None:
    question = page.get_by_role("article", name="Reviewer asks")
    question.get_by_label("Your answer").fill(text)
    question.get_by_role("button", name="Send").click()


def test_the_review_loop_is_built_from_nothing_with_the_mouse_and_run(
    serve: Serve, look: Look
) -> None:
    server, page = serve(), look()
    page.goto(f"{server.url}/graphs")
    page.get_by_role("button", name="New graph").click()
    page.get_by_role("button", name="Empty").click()
    page.get_by_label("Id", exact=True).fill("review_loop")
    add(page, "agent", "Writer")
    page.get_by_label("role", exact=True).fill("根据用户反馈改进文章")
    page.get_by_label("starts here").check()
    add(page, "human", "Reviewer")
    page.get_by_label("description", exact=True).first.fill("输入 ACCEPT 接受或提供修改意见。")
    add(page, "loop_counter", "Loop Guard")
    page.get_by_label("max_iterations").fill("3")
    add(page, "passthrough", "Final Output")
    page.get_by_label("result").check()
    connect(page, "Writer", "Reviewer")
    connect(page, "Reviewer", "Final Output")
    by_words(page, "Any of", "ACCEPT")
    for target in ("Writer", "Loop Guard"):
        connect(page, "Reviewer", target)
        by_words(page, "None of", "ACCEPT")
    connect(page, "Loop Guard", "Writer")
    connect(page, "Loop Guard", "Final Output")
    expect(page.locator('[data-loop="Writer"]')).to_be_visible()
    expect(page.locator(".strip")).to_contain_text(re.compile(r"At most \d+ rounds"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile(r"/graphs/review_loop"))

    stored = server.call("/graphs/review_loop")
    assert stored["check"]["valid"]
    edges = [(edge["from"], edge["to"]) for edge in stored["check"]["structure"]["edges"]]
    assert edges == [
        ("Writer", "Reviewer"),
        ("Reviewer", "Final Output"),
        ("Reviewer", "Writer"),
        ("Reviewer", "Loop Guard"),
        ("Loop Guard", "Writer"),
        ("Loop Guard", "Final Output"),
    ]

    page.get_by_label("Task for the run").fill("为什么循环值得拥有名字")
    page.get_by_role("button", name="Run the draft").click()
    run = page.get_by_role("complementary", name="Run")
    answer(page, "Shorter, please.")
    expect(run.get_by_role("columnheader").get_by_text("2", exact=True)).to_be_visible()
    answer(page, "And friendlier.")
    expect(run.get_by_role("columnheader").get_by_text("3", exact=True)).to_be_visible()
    answer(page, "ACCEPT")
    expect(run.get_by_text("Left by its exit in round 3.")).to_be_visible()
    expect(run.locator('[data-address="Final Output"]')).to_contain_text("done")


def test_a_node_is_dragged_from_the_palette_to_where_it_shall_be(serve: Serve, look: Look) -> None:
    server, page = serve(essay()), look()
    page.goto(f"{server.url}/graphs/essay")
    expect(node(page, "Writer")).to_be_visible()
    canvas = page.locator(".react-flow__pane")
    page.get_by_role("navigation", name="Nodes").get_by_role("button", name="vote").drag_to(
        canvas, target_position={"x": 300, "y": 120}
    )
    box = node(page, "Vote").bounding_box()
    frame = canvas.bounding_box()
    assert box is not None
    assert frame is not None
    assert abs(box["x"] - frame["x"] - 300) < 30
    expect(page.locator(".strip")).to_contain_text("error")


def test_the_slider_changes_text_and_certificate_and_undo_takes_it_back(
    serve: Serve, look: Look
) -> None:
    server, page = serve(essay()), look()
    page.goto(f"{server.url}/graphs/essay")
    strip = page.locator(".strip")
    expect(strip).to_contain_text("6 rounds, 13 steps, 12 model calls")
    page.locator('[data-loop="Writer"]').click()
    page.get_by_role("slider", name="Most rounds").press("ArrowRight")
    page.get_by_role("slider", name="Most rounds").press("ArrowRight")
    expect(page.locator('[data-loop="Writer"]')).to_contain_text("≤ 8 · ≥ 90")
    expect(strip).to_contain_text("8 rounds, 17 steps, 16 model calls")
    page.get_by_role("tab", name="YAML").click()
    expect(page.locator(".cm-content")).to_contain_text("max_rounds: 8")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    saved = (server.graphs / "essay.yaml").read_text("utf-8")
    assert saved == essay().replace("max_rounds: 6", "max_rounds: 8")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".cm-content")).to_contain_text("max_rounds: 6")
    page.get_by_role("button", name="Redo").click()
    expect(strip).to_contain_text("8 rounds")


def test_text_and_canvas_are_one_document_with_errors_at_their_lines(
    serve: Serve, look: Look
) -> None:
    server, page = serve(essay()), look()
    page.goto(f"{server.url}/graphs/essay?view=yaml")
    expect(page.locator(".cm-content")).to_contain_text("id: essay")
    page.locator(".cm-content").click()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type("    - {from: Critic, to: Nobody}  # new\n")
    strip = page.locator(".strip")
    expect(strip).to_contain_text("Nobody")
    expect(page.locator(".cm-lint-marker-error").first).to_be_visible()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.insert_text(essay().replace("id: Critic", "id: Judge").replace("Critic", "Judge"))
    page.get_by_role("tab", name="Canvas").click()
    expect(node(page, "Judge")).to_be_visible()


def test_a_change_by_somebody_else_is_not_overwritten_by_accident(serve: Serve, look: Look) -> None:
    server, page = serve(essay()), look()
    page.goto(f"{server.url}/graphs/essay")
    page.get_by_label("Description").fill("Mine.")
    server.put(essay().replace("max_rounds: 6", "max_rounds: 7"))
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Somebody else saved this graph meanwhile.")).to_be_visible()
    assert "max_rounds: 7" in (server.graphs / "essay.yaml").read_text("utf-8")
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    assert "description: Mine." in (server.graphs / "essay.yaml").read_text("utf-8")


def drop(page: Page, file: Path) -> None:
    """Let a file of the disk fall on the canvas, as the browser's own drag and drop does it."""
    box = page.locator(".editor-main").bounding_box()
    assert box is not None
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    browser = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        browser.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})


def test_a_file_of_council_is_dropped_translated_and_run(serve: Serve, look: Look) -> None:
    server, page = serve(), look()
    page.goto(f"{server.url}/graphs/new")
    expect(page.locator(".react-flow__pane")).to_be_visible()
    drop(page, COUNCIL)
    expect(page.get_by_text("Imported debate.json from Council.")).to_be_visible()
    expect(page.locator(".react-flow__node-step")).to_have_count(6)
    expect(page.locator(".strip")).to_contain_text("At most")
    page.get_by_label("Task for the run").fill("Four days are enough")
    page.get_by_role("button", name="Run the draft").click()
    run = page.get_by_role("complementary", name="Run")
    expect(run.locator(".page-head").get_by_text("completed")).to_be_visible()


def test_a_file_of_chatdev_is_dropped_translated_and_saved(
    serve: Serve, look: Look, tmp_path: Path
) -> None:
    server, page = serve(), look()
    file = tmp_path / "demo_loop.yaml"
    file.write_text(CHATDEV, "utf-8")
    page.goto(f"{server.url}/graphs/new")
    expect(page.locator(".react-flow__pane")).to_be_visible()
    drop(page, file)
    expect(page.get_by_text("Imported demo_loop.yaml from ChatDev.")).to_be_visible()
    expect(page.locator(".react-flow__node-step")).to_have_count(4)
    expect(page.locator('[data-loop="Writer"]')).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".react-flow__node-step")).to_have_count(0)
    page.get_by_role("button", name="Redo").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("saved", exact=True)).to_be_visible()
    assert server.call("/graphs/demo_loop")["check"]["valid"]


def test_a_graph_is_dropped_as_it_is_and_what_is_none_is_refused(
    serve: Serve, look: Look, tmp_path: Path
) -> None:
    server, page = serve(), look()
    own, other = tmp_path / "own.yaml", tmp_path / "letter.txt"
    own.write_text("# kept\n" + essay(), "utf-8")
    other.write_text("Dear reader", "utf-8")
    page.goto(f"{server.url}/graphs/new")
    expect(page.locator(".react-flow__pane")).to_be_visible()
    drop(page, other)
    expect(page.get_by_role("alert")).to_contain_text("letter.txt is no graph file")
    drop(page, own)
    expect(page.get_by_text("Loaded own.yaml.")).to_be_visible()
    expect(page.locator(".react-flow__node-step")).to_have_count(3)
    page.get_by_role("tab", name="YAML").click()
    expect(page.locator(".cm-content")).to_contain_text("# kept")
