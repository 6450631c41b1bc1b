"""The reference of the routes: every one has a call, and the calls do what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from build_docs import routes
from rondel.server.options import Options
from tests.unit.server.running import create_tokens, running


def test_every_route_and_each_of_its_fields_is_described_and_has_a_call() -> None:
    called = {routes.route_of(call["call"]) for call in routes.calls() if call.get("shown", True)}
    for method, path, operation in routes.operations():
        assert (method, path) in called, f"{method} {path} has no call in {routes.EXAMPLES.name}"
        for row in (*routes._parameters(operation), *routes._body(operation)):
            assert not row.endswith("|  |"), f"{method} {path}: {row} says nothing"


def test_the_calls_of_the_page_are_answered_as_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    for name, text in routes.GRAPHS.items():
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    place = tmp_path / "server.db"
    token = create_tokens(place, {"root": ("admin", None)})["root"]
    names = {"TOKEN": token}
    with running(folder, tmp_path / "s.db", Options(tokens=True), token, place) as server:
        for call in routes.calls():
            method, target = named(call["call"], names).split(" ", 1)
            if call.get("stream"):
                with server.client.stream(method, target) as reply:
                    assert reply.status_code == 200
                continue
            sent = {"json": named(call["send"], names)} if "send" in call else {}
            reply = server.client.request(method, target, **sent)
            assert reply.status_code == call.get("status", 200), f"{call['call']}: {reply.text}"
            assert call.get("has", "") in reply.text, f"{call['call']}: {reply.text[:500]}"
            if "answer" in call:
                wanted = named(call["answer"], names)
                assert contains(reply.json(), wanted), f"{call['call']}: {reply.text[:1500]}"
            for name, key in call.get("keep", {}).items():
                names[name] = reply.json()[key]
            if "until" in call:
                server.until(reply.json()["id"], call["until"])


def named(value: Any, names: dict[str, str]) -> Any:
    """What a call says, with the ids that its names stand for."""
    text = json.dumps(value, ensure_ascii=False)
    for name, id in names.items():
        text = re.sub(rf"(?<![A-Z_]){name}(?![A-Z_])", id, text)
    return json.loads(text)


def contains(found: Any, wanted: Any) -> bool:
    """Whether an answer has all that the page shows of it."""
    if wanted == "…":
        return found is not None
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and contains(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(found, list) and all(
            len(found) > place and contains(found[place], value)
            for place, value in enumerate(wanted)
        )
    return bool(found == wanted)
