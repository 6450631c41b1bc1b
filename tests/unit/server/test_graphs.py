"""Stored graphs over HTTP: files as their authors wrote them."""

from __future__ import annotations

from pathlib import Path

from tests.unit.server.running import REVIEW, Running

HELLO = (
    "# mine\ngraph:\n  id: hello\n  nodes:\n    - {id: a, type: literal, config: {content: hi}}\n"
)


def test_a_stored_graph_is_the_file_with_its_comments_and_what_a_check_finds(
    server: Running, folder: Path
) -> None:
    listed = server.get("/graphs")["graphs"]
    assert [graph["id"] for graph in listed] == ["asking", "review", "streaming"]
    found = server.get("/graphs/review")
    assert found["text"] == REVIEW
    assert found["check"]["valid"]
    [loop] = found["check"]["loops"]
    assert (loop["head"], loop["max_rounds"], loop["target"]) == ("Writer", 5, 90)
    assert loop["contract"] == {"max_rounds": 5, "exit_on_score": 90}
    nodes = [node["id"] for node in found["check"]["structure"]["nodes"]]
    assert nodes == ["Writer", "Critic", "Final"]


def test_a_graph_is_created_changed_and_removed_and_nobody_overwrites_anothers_change(
    server: Running, folder: Path
) -> None:
    made = server.client.post("/api/v1/graphs", json={"text": HELLO})
    assert made.status_code == 201
    assert (folder / "hello.yaml").read_text() == HELLO
    tag = made.headers["etag"]
    assert server.post("/graphs", {"text": HELLO}, 409)["detail"].startswith("there is a graph")

    (folder / "hello.yaml").write_text(HELLO.replace("hi", "edited outside"))
    changed = {"text": HELLO.replace("hi", "mine")}
    refused = server.call("PUT", "/graphs/hello", 412, json=changed, headers={"If-Match": tag})
    assert "changed meanwhile" in refused["detail"]
    now = server.client.get("/api/v1/graphs/hello")
    assert "edited outside" in now.json()["text"]
    fresh = {"If-Match": now.headers["etag"]}
    put = server.call("PUT", "/graphs/hello", 200, json=changed, headers=fresh)
    assert put["text"] == changed["text"] == (folder / "hello.yaml").read_text()
    unchanged = {"If-None-Match": f'"{put["etag"]}"'}
    assert server.client.get("/api/v1/graphs/hello", headers=unchanged).status_code == 304

    server.call("DELETE", "/graphs/hello", 412, headers={"If-Match": tag})
    server.call("DELETE", "/graphs/hello", 204)
    assert not (folder / "hello.yaml").exists()
    assert "did you mean" in server.get("/graphs/reviev", 404)["detail"]


def test_a_wrong_graph_is_refused_with_every_error_and_its_line(server: Running) -> None:
    wrong = (
        "graph:\n  id: x\n  nodes:\n    - {id: a, type: agnet}\n  edges:\n    - {from: a, to: b}\n"
    )
    refused = server.post("/graphs", {"text": wrong}, 422)
    assert [error["line"] for error in refused["errors"]] == [4, 6]
    assert "did you mean 'agent'" in refused["errors"][0]["hint"]
    found = server.post("/graphs/check", {"graph": wrong})
    assert not found["valid"]
    assert len(found["errors"]) == 2


def test_a_draft_is_checked_estimated_and_simulated_without_being_stored(server: Running) -> None:
    assert server.post("/graphs/check", {"graph": REVIEW})["worst_case"]["model_calls"] == 10
    assert server.post("/graphs/estimate", {"graph": REVIEW})["expected"]["model_calls"] >= 2
    found = server.post("/graphs/simulate", {"graph_id": "review", "n": 20})
    assert found["runs"] == 20
    assert server.post("/graphs/simulate", {"graph": REVIEW, "n": 10**9}, 422)
    assert server.get("/schema")["$schema"]
    assert "review" in [template["name"] for template in server.get("/templates")["templates"]]


def test_two_files_with_one_id_are_two_graphs(server: Running, folder: Path) -> None:
    (folder / "other").mkdir()
    (folder / "other" / "graph.yaml").write_text(REVIEW)
    listed = {graph["id"]: graph["name"] for graph in server.get("/graphs")["graphs"]}
    assert listed["review"] == "other/graph.yaml"
    assert listed["review.yaml"] == "review.yaml"
    (folder / "zebra").mkdir()
    (folder / "zebra" / "graph.yaml").write_text(REVIEW)
    assert server.get("/graphs/zebra")["name"] == "zebra/graph.yaml"


def test_the_versions_of_a_graph_are_the_copies_that_its_sessions_keep(
    server: Running, folder: Path
) -> None:
    file = folder / "hello.yaml"
    file.write_text(HELLO)
    first = [server.start("hello"), server.start("hello")]
    file.write_text(HELLO.replace("# mine", "# another comment is no other version"))
    first.append(server.start("hello"))
    file.write_text(HELLO.replace("hi", "hi again"))
    second = server.start("hello")
    for id in (*first, second):
        server.until(id, "completed")
    file.write_text(HELLO.replace("hi", "a third time"))

    found = server.get("/graphs/hello/versions")
    assert found["complete"]
    newest, middle, oldest = found["versions"]
    assert (newest["current"], newest["sessions"], newest["last_used"]) == (True, 0, None)
    assert "a third time" in newest["text"]
    assert (middle["current"], middle["sessions"]) == (False, 1)
    assert (oldest["sessions"], oldest["statuses"]) == (3, {"completed": 3})
    assert oldest["first_used"] < oldest["last_used"] < middle["first_used"]
    of_oldest = server.get(f"/sessions?graph_id=hello&version={oldest['version']}")["sessions"]
    assert {row["id"] for row in of_oldest} == set(first)

    file.unlink()
    assert [one["current"] for one in server.get("/graphs/hello/versions")["versions"]] == [
        False,
        False,
    ]
    assert "no graph" in server.get("/graphs/nothing/versions", 404)["detail"]
