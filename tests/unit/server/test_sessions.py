"""Sessions over HTTP: started, found again, looked at, and controlled."""

from __future__ import annotations

import json

from rondel.sessions.registry import default_registry
from tests.unit.server.running import REVIEW, STREAMING, Running

PAYING = """
graph:
  id: paying
  nodes:
    - id: Clerk
      type: agent
      config:
        provider: scripted
        tools: [wire_money]
        approve: [wire_money]
        answers: [{calls: [{name: wire_money, arguments: {amount: 5}}]}, Done.]
"""


def test_a_session_runs_and_tells_all_there_is_to_it(server: Running) -> None:
    id = server.start("review", labels={"team": "blue"})
    found = server.until(id, "completed")
    assert found["output"] == "good"
    assert found["labels"] == {"team": "blue"}
    [loop] = found["loops"]
    assert loop["round"] == 3
    assert loop["end"]["exit_reason"] in ("exit_edge", "score_threshold_reached")
    assert found["usage"]["model_calls"] == 6
    assert found["limits"]["steps"] == {"spent": 7, "limit": 10000}
    assert found["graph"]["loops"][0]["nodes"] == ["Writer", "Critic"]
    rounds = server.get(f"/sessions/{id}/rounds")["rounds"]
    assert [round["score"] for round in rounds] == [50, 70, 95]
    steps = server.get(f"/sessions/{id}/steps")
    assert steps["total"] == 7
    assert steps["steps"][0]["outputs"][0]["content"] == "one"
    before = server.get(f"/sessions/{id}/state", params={"at": "Writer[2]/Critic"})
    assert before["status"] == "running"
    assert before["loops"][0]["round"] == 2
    lines = server.get(f"/sessions/{id}/export").text.splitlines()
    assert json.loads(lines[0])["session_id"] == id


def test_one_idempotency_key_is_one_session(server: Running) -> None:
    first = server.start("asking", idempotency_key="k1")
    assert server.start("asking", idempotency_key="k1") == first
    other = {"graph_id": "asking", "inputs": "a task"}
    assert server.post("/sessions", other, 202, headers={"Idempotency-Key": "k1"})["id"] == first
    refused = server.post("/sessions", {**other, "inputs": "b", "idempotency_key": "k1"}, 409)
    assert "stood for another request" in refused["detail"]
    assert len(server.get("/sessions")["sessions"]) == 1


def test_sessions_are_found_by_state_graph_label_and_words_a_page_at_a_time(
    server: Running,
) -> None:
    ids = [server.start("asking", f"task {n}", labels={"n": str(n % 2)}) for n in range(7)]
    server.until(ids[-1], "waiting")
    odd = server.get("/sessions", params={"label": "n:1"})["sessions"]
    assert [session["id"] for session in odd] == [ids[5], ids[3], ids[1]]
    [found] = server.get("/sessions", params={"q": "TASK 3"})["sessions"]
    assert found["id"] == ids[3]
    for params in ({}, {"label": "n"}):
        seen: list[str] = []
        cursor = None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = server.get("/sessions", params={"limit": 3, **params, **more})
            seen += [session["id"] for session in page["sessions"]]
            cursor = page["next"]
            if cursor is None:
                break
        assert seen == ids[::-1]
    assert server.get("/sessions", params={"graph_id": "review"})["sessions"] == []
    assert server.get("/sessions", 422, params={"status": "asleep"})


def test_a_question_is_asked_answered_and_gone(server: Running) -> None:
    id = server.start("asking")
    assert server.until(id, "waiting")["questions"][0]["description"] == "Is it good?"
    [question] = server.get("/questions")["questions"]
    assert (question["session_id"], question["node_id"]) == (id, "Person")
    assert question["messages"][0]["content"] == "a draft"
    assert question["actions"] == ["yes", "no"]
    refused = server.post(f"/sessions/{id}/answer", {"text": "x", "node": "Nobody"}, 400)
    assert refused["detail"] == f"session {id} has no node 'Nobody'"
    server.post(f"/sessions/{id}/answer", {"text": "yes"})
    assert server.until(id, "completed")["output"] == "yes"
    again = server.post(f"/sessions/{id}/answer", {"text": "yes"}, 409)
    assert again["detail"] == f"session {id} is completed: no open question to answer"
    assert server.get("/questions")["questions"] == []


def test_a_session_is_paused_resumed_forked_and_stopped(server: Running) -> None:
    id = server.start("asking")
    server.until(id, "waiting")
    assert server.post(f"/sessions/{id}/pause")["status"] == "paused"
    assert server.post(f"/sessions/{id}/pause")["status"] == "paused"
    assert server.post(f"/sessions/{id}/resume", {})["status"] in ("running", "waiting")
    server.post(f"/sessions/{id}/signal", {"name": "hurry", "data": 1})
    fork = server.post(f"/sessions/{id}/fork", {"at": "Person"}, 201)
    assert fork["parent"] == id
    server.post(f"/sessions/{fork['id']}/answer", {"text": "no"})
    assert server.until(fork["id"], "completed")["output"] == "no"
    assert server.get(f"/sessions/{fork['id']}")["parent"] == id
    assert server.post(f"/sessions/{id}/stop")["status"] == "cancelled"
    assert "cannot be paused any more" in server.post(f"/sessions/{id}/pause", None, 409)["detail"]


def test_a_draft_runs_on_simulated_models_and_both_or_no_graph_is_refused(server: Running) -> None:
    body = {"graph": STREAMING, "inputs": "gardens", "provider": "simulated"}
    id = server.post("/sessions", body, 202)["id"]
    assert "gardens" in server.until(id, "completed")["output"]
    for wrong in ({}, {"graph": REVIEW, "graph_id": "review"}):
        assert "name the graph" in server.post("/sessions", wrong, 400)["detail"]
    assert server.post("/sessions", {"graph": "graph: {}"}, 422)["errors"]
    assert server.post("/sessions", {"graph_id": "review", "speed": 1}, 422)["errors"]


def test_leave_for_a_tool_is_a_question_like_any_other(server: Running) -> None:
    paid: list[int] = []

    def wire_money(amount: int) -> str:
        """Wire so much."""
        paid.append(amount)
        return "wired"

    default_registry().function("wire_money", wire_money)
    id = server.post("/sessions", {"graph": PAYING, "inputs": "pay"}, 202)["id"]
    server.until(id, "waiting")
    [question] = server.get("/questions")["questions"]
    asked = "May the tool 'wire_money' be used with these values?\n  amount: 5"
    assert question["description"] == asked
    assert (question["actions"], paid) == (["approve", "deny"], [])
    server.post(f"/sessions/{id}/answer", {"text": "approve"})
    assert server.until(id, "completed")["output"] == "Done."
    assert paid == [5]
    [told] = [event for event in server.events(id) if event["event"] == "tool_approval"]
    assert told["data"] == {"tool": "wire_money", "decision": "approve", "reason": ""}
