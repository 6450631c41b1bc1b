"""The session page: the score sheet, live and after the fact."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.openai_server import OpenAIServer, Reply
from tests.web.graphs import HOSTILE, STUCK, essay, refused
from tests.web.serving import Server

Serve = Callable[..., Server]
Look = Callable[..., Page]


def open_session(page: Page, server: Server, session: str, query: str = "") -> None:
    page.goto(f"{server.url}/sessions/{session}{query}")


def test_a_score_loop_is_followed_to_its_end_with_chart_and_best_round(
    serve: Serve, look: Look
) -> None:
    server, page = serve(essay(0.6)), look()
    open_session(page, server, server.run("essay"))
    expect(page.locator(".cell.streaming").get_by_text("writing")).to_be_visible()
    expect(page.get_by_text("Writer at work, round ")).to_be_visible()
    expect(page.get_by_text("Reached 90 in round 5 (score 92).")).to_be_visible()
    expect(
        page.get_by_role("img", name="Score by round: 5 rounds, best 92 in round 5")
    ).to_be_visible()
    expect(page.get_by_role("columnheader", name="best round 5")).to_be_visible()
    expect(page.get_by_role("columnheader", name="fell back 3")).to_be_visible()
    expect(page.locator('[data-address="Writer[4]/Critic"]')).to_contain_text("87")
    expect(page.get_by_text("round 5 of 6")).to_be_visible()


def test_a_cell_shows_its_text_the_difference_what_it_saw_and_its_usage(
    serve: Serve, look: Look
) -> None:
    server, page = serve(essay()), look()
    session = server.run("essay")
    server.settled(session, "completed")
    open_session(page, server, session)
    page.locator('[data-address="Writer[2]/Writer"]').click()
    detail = page.get_by_role("complementary", name="Detail")
    expect(detail).to_contain_text("You write, you read what you wrote")
    detail.get_by_role("tab", name="Difference").click()
    expect(detail.locator("ins").first).to_be_visible()
    expect(detail.locator("del").first).to_be_visible()
    detail.get_by_role("combobox").select_option("4")
    expect(detail.locator("del", has_text="reason")).to_be_visible()
    detail.get_by_role("tab", name="What it saw").click()
    expect(detail).to_contain_text("Why loops deserve names")
    expect(detail).to_contain_text("It says what, not why.")
    detail.get_by_role("tab", name="Usage").click()
    expect(detail).to_contain_text("410")
    page.reload()
    expect(detail.get_by_role("tab", name="Usage")).to_have_attribute("aria-selected", "true")
    expect(detail).to_contain_text("410")


def test_arrow_keys_walk_the_sheet(serve: Serve, look: Look) -> None:
    server, page = serve(essay()), look()
    session = server.run("essay")
    server.settled(session, "completed")
    open_session(page, server, session)
    page.locator('[data-address="Writer[3]/Writer"]').click()
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile(r"at=Writer%5B3%5D%2FCritic"))
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("complementary", name="Detail")).to_contain_text("Better rhythm")
    page.keyboard.press("End")
    expect(page.get_by_role("complementary", name="Detail")).to_contain_text(
        "Good enough to print."
    )


def test_a_reload_in_mid_run_shows_what_was_and_goes_on(serve: Serve, look: Look) -> None:
    server, page = serve(essay(0.5)), look()
    session = server.run("essay")
    open_session(page, server, session)
    expect(page.locator('[data-address="Writer[2]/Writer"]')).to_be_visible()
    page.reload()
    expect(page.locator('[data-address="Writer[1]/Critic"]')).to_contain_text("62")
    expect(page.get_by_text("Reached 90 in round 5 (score 92).")).to_be_visible()


def test_a_server_that_stops_and_comes_back_is_a_quiet_bar(serve: Serve, look: Look) -> None:
    server, page = serve(essay(0.5)), look()
    session = server.run("essay")
    open_session(page, server, session)
    expect(page.locator('[data-address="Writer[2]/Writer"]')).to_be_visible()
    server.end(signal.SIGKILL)
    expect(page.get_by_text("No connection to the server.")).to_be_visible()
    expect(page.locator('[data-address="Writer[1]/Critic"]')).to_be_visible()
    server.start()
    expect(page.get_by_text("No connection to the server.")).to_be_hidden()
    expect(page.get_by_text("Reached 90 in round 5 (score 92).")).to_be_visible(timeout=60_000)
    expect(page.locator('[data-address="Writer[5]/Critic"]')).to_contain_text("92")


def test_two_browsers_see_one_session(serve: Serve, look: Look) -> None:
    server, one, other = serve(essay(0.4)), look(), look()
    session = server.run("essay")
    open_session(one, server, session)
    open_session(other, server, session)
    expect(one.locator('[data-address="Writer[2]/Writer"]')).to_be_visible()
    one.get_by_role("button", name="Pause").click()
    expect(other.locator(".session-head").get_by_text("paused")).to_be_visible()
    other.get_by_role("button", name="Go on").click()
    for page in (one, other):
        expect(page.get_by_text("Reached 90 in round 5 (score 92).")).to_be_visible()


def test_a_fork_from_round_2_with_an_edited_text_goes_its_own_way(serve: Serve, look: Look) -> None:
    server, page = serve(essay()), look()
    session = server.run("essay")
    server.settled(session, "completed")
    open_session(page, server, session, "?at=Writer[2]/Writer")
    page.get_by_role("button", name="Fork from here").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What Writer says instead").fill("Quite another draft, by hand.")
    dialog.get_by_label("Most rounds").fill("3")
    dialog.get_by_role("button", name="Start the fork").click()
    expect(page.get_by_text(f"fork of {session[:8]}")).to_be_visible()
    expect(page.get_by_text("round 3 of 3")).to_be_visible()
    page.locator('[data-address="Writer[2]/Writer"]').click()
    expect(page.get_by_role("complementary", name="Detail")).to_contain_text(
        "Quite another draft, by hand."
    )
    page.locator('[data-address="Writer[1]/Writer"]').click()
    expect(page.get_by_role("complementary", name="Detail")).to_contain_text("you write again.")
    expect(page.get_by_text("Stopped after 3 rounds without reaching 90")).to_be_visible()


def test_two_rounds_are_compared_node_by_node(serve: Serve, look: Look) -> None:
    server, page = serve(essay()), look()
    session = server.run("essay")
    server.settled(session, "completed")
    open_session(page, server, session, "?at=Writer[4]")
    page.get_by_role("button", name="Compare with the round before").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("65 → 87 (+22)")
    dialog.get_by_label("Round", exact=True).fill("1")
    expect(dialog).to_contain_text("62 → 87 (+25)")
    expect(dialog.locator("del").first).to_be_visible()


def test_the_slider_shows_the_session_as_it_was(serve: Serve, look: Look) -> None:
    server, page = serve(essay()), look()
    session = server.run("essay")
    server.settled(session, "completed")
    open_session(page, server, session)
    expect(page.locator('[data-address="Writer[5]/Critic"]')).to_be_visible()
    for _ in range(3):
        page.get_by_role("button", name="One round back").click()
    expect(page.locator('[data-address="Writer[5]/Critic"]')).to_be_hidden()
    expect(page.locator(".session-head").get_by_text("running")).to_be_visible()
    expect(page.get_by_text("after event")).to_be_visible()
    expect(page.get_by_role("button", name="Pause")).to_have_count(0)
    page.reload()
    expect(page.locator('[data-address="Writer[2]/Critic"]')).to_be_visible()
    expect(page.locator('[data-address="Writer[5]/Critic"]')).to_be_hidden()
    page.get_by_role("button", name="Back to now").click()
    expect(page.locator('[data-address="Writer[5]/Critic"]')).to_be_visible()


def test_the_breaker_opens_only_with_a_reason_or_all_three_checks(serve: Serve, look: Look) -> None:
    server, page = serve(STUCK), look()
    session = server.run("stuck")
    server.settled(session, "suspended_locked")
    open_session(page, server, session)
    expect(
        page.get_by_text("Locked: it repeats itself. Writer has said the same 4 times in a row")
    ).to_be_visible()
    expect(page.locator("main.locked")).to_be_visible()
    page.get_by_role("button", name="Look and unlock").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Same words again.")).to_have_count(4)
    unlock = dialog.get_by_role("button", name="Unlock and go on")
    expect(unlock).to_be_disabled()
    dialog.get_by_label("Why it may go on").fill("   ")
    expect(unlock).to_be_disabled()
    for check in dialog.get_by_role("checkbox").all()[:2]:
        check.check()
    expect(unlock).to_be_disabled()
    dialog.get_by_role("checkbox").nth(2).check()
    expect(unlock).to_be_enabled()
    unlock.click()
    expect(page.locator("main.locked")).to_be_hidden()
    expect(page.get_by_text("Stopped after 6 rounds without reaching 95")).to_be_visible()
    expect(page.locator('[data-address="Writer[5]/Critic"]')).to_be_visible()


def test_what_models_write_is_text_and_nothing_else(serve: Serve, look: Look) -> None:
    server, page = serve(HOSTILE), look()
    session = server.run("hostile", "<script>window.hacked=1</script>")
    server.settled(session, "completed")
    for view in ("", "&view=transcript", "&view=events", "&view=canvas"):
        open_session(page, server, session, f"?at=Mallory{view}")
        expect(page.get_by_role("complementary", name="Detail")).to_contain_text("<b>bold</b>")
    page.goto(f"{server.url}/sessions")
    expect(page.get_by_text("<script>window.hacked=1</script>")).to_be_visible()
    assert page.evaluate("window.hacked") is None


def test_a_session_that_is_not_there_says_so(serve: Serve, look: Look) -> None:
    server, page = serve(), look()
    open_session(page, server, "0" * 16)
    expect(page.get_by_text("There is no such session")).to_be_visible()


def test_debug_stops_after_every_round_and_goes_on_by_one_or_freely(
    serve: Serve, look: Look
) -> None:
    server, page = serve(essay()), look()
    open_session(page, server, server.run("essay", debug=["Writer"]))
    expect(page.get_by_text("Stopped at the end of the round, as asked for.")).to_be_visible()
    expect(page.locator('[data-address="Writer[1]/Critic"]')).to_contain_text("62")
    expect(page.locator('[data-address="Writer[2]/Critic"]')).to_have_count(0)
    page.get_by_role("button", name="One more round").click()
    expect(page.locator('[data-address="Writer[2]/Critic"]')).to_contain_text("72")
    expect(page.get_by_text("Stopped at the end of the round, as asked for.")).to_be_visible()
    page.get_by_role("button", name="Edit what goes back, and fork").click()
    expect(page.get_by_role("dialog", name="Fork")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Go on without stops").click()
    expect(page.get_by_text("Reached 90 in round 5 (score 92).")).to_be_visible()


def test_a_step_that_waits_for_its_provider_says_so_for_how_long_and_why(
    serve: Serve, look: Look
) -> None:
    later = Reply(
        status=429, headers={"Retry-After": "420"}, body={"error": {"message": "slow down"}}
    )
    with OpenAIServer(later) as provider:
        server = serve(refused(provider.url), options=("--allow-private",))
        session = server.run("refused")
        provider.wait_for(1)
        page, chinese = look(), look(locale="zh-CN")
        open_session(page, server, session)
        cell = page.locator('[data-address="Writer[1]/Writer"]')
        expect(cell).to_contain_text(re.compile(r"waits \dm"))
        detail = page.get_by_role("complementary", name="Detail")
        why = re.compile(r"Waits \dm.* for its provider: deepseek takes no more calls .*slow down")
        expect(detail).to_contain_text(why)
        cell.click()
        expect(detail).to_contain_text(why)
        open_session(chinese, server, session)
        expect(chinese.locator(".note.wait")).to_contain_text(re.compile("等待服务商，还有 . 分"))
        server.call(f"/sessions/{session}/stop", {})
        expect(cell).not_to_contain_text("waits")
        expect(detail).not_to_contain_text("for its provider")
