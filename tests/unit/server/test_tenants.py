"""Two tenants by ways that are not a route's name: memory, averages, folders, long lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rondel.errors import CallError
from rondel.server import questions
from rondel.server.options import Options
from tests.unit.server.guarded import Guarded
from tests.unit.server.running import ASKING, REVIEW, create_tokens, running

REMEMBERING = """\
graph:
  id: remembering
  nodes:
    - {id: Person, type: human, config: {description: "What?"}}
    - {id: Recall, type: memory}
  edges: [{from: Person, to: Recall}]
"""


def test_a_fork_does_not_enter_the_memory_of_another_group(guarded: Guarded, folder: Path) -> None:
    (folder / "remembering.yaml").write_text(REMEMBERING)
    anna, bert = guarded.anna, guarded.bert
    annas = anna.start("remembering", {"task": "t", "group_id": "a"})
    anna.until(annas, "waiting")
    anna.post(f"/sessions/{annas}/answer", {"text": "annas secret"})
    anna.until(annas, "completed")
    anna.post(f"/sessions/{annas}/promote", {"address": "Person", "confidence": 1})
    berts = bert.start("remembering", {"task": "t", "group_id": "b"})
    bert.until(berts, "waiting")
    for group in ("a", ["a"], None, 1):
        refused = bert.post(f"/sessions/{berts}/fork", {"set": {"inputs.group_id": group}}, 403)
        assert "not of the group" in refused["detail"]
    bert.post(f"/sessions/{berts}/fork", {"set": {"inputs.task": "other"}}, 201)
    ours = anna.start("remembering", {"task": "t", "group_id": "a"})
    anna.until(ours, "waiting")
    anna.post(f"/sessions/{ours}/answer", {"text": "what was it?"})
    assert "annas secret" in json.dumps(anna.until(ours, "completed")["data"])


@pytest.mark.parametrize("group", [[], {}, 1, "a"])
def test_a_group_that_is_no_name_of_ones_own_is_refused(guarded: Guarded, group: object) -> None:
    body = {"graph_id": "asking", "inputs": {"task": "t", "group_id": group}}
    assert "not of the group" in guarded.bert.post("/sessions", body, 403)["detail"]


def test_what_others_spent_is_not_in_an_estimate(guarded: Guarded) -> None:
    anna, bert = guarded.anna, guarded.bert
    anna.until(anna.start("review"), "completed")
    assert anna.post("/graphs/estimate", {"graph_id": "review"})["source"] == "1 past session"
    for source in ({"graph_id": "review"}, {"graph": REVIEW}):
        assert "simulated" in bert.post("/graphs/estimate", source)["source"]


def test_groups_with_similar_names_have_folders_of_their_own(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "server.db"
    groups = {"one": "a/b", "two": "a_b", "three": "a%2Fb", "four": "ä b"}
    tokens = create_tokens(place, {name: ("admin", [group]) for name, group in groups.items()})
    with running(folder, None, Options(tokens=True), tokens["one"], place) as server:
        for name in groups:
            text = ASKING.replace("asking", f"graph_of_{name}")
            server.as_(tokens[name]).post("/graphs", {"text": text}, 201)
        for name in groups:
            seen = server.as_(tokens[name]).get("/graphs")["graphs"]
            own = [graph["id"] for graph in seen if graph["id"].startswith("graph_of_")]
            assert own == [f"graph_of_{name}"]


@pytest.mark.parametrize("group", ["", " ", "a\nb", "\0"])
def test_a_group_has_a_name_that_can_be_seen(tmp_path: Path, group: str) -> None:
    with pytest.raises(CallError, match="a group is named"):
        create_tokens(tmp_path / "server.db", {"x": ("admin", [group])})


def test_many_questions_of_one_tenant_do_not_hide_those_of_another(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "PAGE", 1)
    bert, anna = guarded.bert, guarded.anna
    own = bert.start("asking")
    bert.until(own, "waiting")
    for _ in range(4):
        anna.until(anna.start("asking"), "waiting")
    assert [
        asked["session_id"] for asked in bert.get("/questions", params={"limit": 2})["questions"]
    ] == [own]
