"""No test touches the user's sessions, runs old code, or fails because a machine is slow."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from rondel.journal.clock import Clock
from tests import plain, postgres, temporal
from tests.clock import Clock as Hand
from tests.unit.sessions.playing import limited

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_configure(config: pytest.Config) -> None:
    """Whoever edits a compiled source and does not compile it would test what it was before."""
    old = [] if hasattr(config, "workerinput") else plain.outdated()
    if old:
        pytest.exit(f"{old[0]} is newer than its compiled form: run make install", returncode=1)


@pytest.fixture(autouse=True)
def _own_database(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder: Path = tmp_path_factory.mktemp("rondel")
    monkeypatch.setenv("RONDEL_DB", str(folder / "rondel.db"))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Hand:
    """The clock of all sessions of the test."""
    clock = Hand()
    monkeypatch.setattr(Clock, "now", lambda _: clock())
    return clock


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server that all tests share."""
    if given := os.environ.get(postgres.VARIABLE):
        yield given
        return
    try:
        server = postgres.PostgresServer()
    except LookupError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    yield server.url()
    server.close()


@pytest.fixture
def new_database(postgres_url: str) -> Iterator[str]:
    """The address of a new database in PostgreSQL, for what outlives a test or kills processes."""
    address = postgres.new_database(postgres_url)
    yield address
    postgres.drop_database(postgres_url, address)


@pytest.fixture(scope="session")
def _kept_database(postgres_url: str) -> Iterator[str]:
    address = postgres.new_database(postgres_url)
    yield address
    postgres.drop_database(postgres_url, address)


@pytest.fixture
def database(_kept_database: str) -> str:
    """The address of a database in PostgreSQL without any session."""
    postgres.empty(_kept_database)
    return _kept_database


@pytest.fixture(params=["sqlite", "postgres"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where sessions are kept that outlive a process: a file, then a database in PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "shared.db")
    return str(request.getfixturevalue("new_database"))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """An async test runs on an event loop of its own; hanging is a failure."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    limited(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(scope="session")
def temporal_address() -> Iterator[str]:
    """A Temporal server that all tests share."""
    if given := os.environ.get(temporal.VARIABLE):
        yield given
        return
    try:
        server = temporal.TemporalServer()
    except LookupError as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    yield server.address
    server.close()
