"""`rondel doctor` says what is there and what is not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.command import Ran


def test_all_that_is_needed_is_there(call: Callable[..., Ran], tmp_path: Path) -> None:
    ran = call("doctor", "--db", tmp_path / "s.db", "--graphs", tmp_path)
    assert ran.code == 0
    assert "ok      database" in ran.out
    found = call("doctor", "--json", "--db", tmp_path / "s.db").document
    assert {"python", "rondel", "database", "graphs", "pages", "keys"} <= {f["name"] for f in found}


def test_what_is_not_a_database_is_told(call: Callable[..., Ran], tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("not a database, not at all, whatever it is called" * 100)
    ran = call("doctor", "--db", tmp_path / "s.db")
    assert ran.code == 1
    assert "MISSING database" in ran.out


def test_the_password_of_a_database_is_not_told(call: Callable[..., Ran]) -> None:
    ran = call("doctor", "--db", "postgresql://me:geheim@127.0.0.1:1/x")
    assert "MISSING database          postgresql://me:***@127.0.0.1:1/x" in ran.out
    assert "geheim" not in ran.out + ran.err


def test_every_providers_key_and_what_clouds_need_is_told(
    call: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-planted")
    ran = call("doctor", "--json", "--db", tmp_path / "s.db")
    found = {each["name"]: each for each in ran.document}
    assert "DEEPSEEK_API_KEY" in found["keys"]["note"]
    assert found["bedrock"]["ok"]
    assert found["vertex"]["ok"]
    assert "sk-planted" not in ran.out
