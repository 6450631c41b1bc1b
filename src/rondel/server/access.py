"""Who calls, and what they may do and see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Depends
from starlette.requests import HTTPConnection

from rondel.journal.store import SessionRow
from rondel.server.problems import Refusal

Role = Literal["viewer", "operator", "admin"]
ROLES: tuple[Role, ...] = ("viewer", "operator", "admin")
"""Each may what those before it may."""

GROUP = "group"
"""The label of a session's group."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who calls; `groups` is None for those who see all."""

    name: str
    role: Role
    groups: frozenset[str] | None = None

    def may(self, role: Role) -> bool:
        """Whether their role includes that one."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, row: SessionRow) -> bool:
        """Whether a session is of their groups."""
        return self.sees_group(row.labels.get(GROUP))

    def sees_group(self, group: object) -> bool:
        """Whether they may see what is of that group."""
        return self.groups is None or group in self.groups


LOCAL = Caller("", "admin")
"""Who calls a server that only this machine can reach."""


def caller_of(connection: HTTPConnection) -> Caller:
    """Who sent a request; the gate has found out."""
    caller: Caller | None = connection.scope.get("rondel.caller")
    if caller is None:
        raise Refusal(401, "unauthorized", "a token is needed: Authorization: Bearer TOKEN")
    return caller


def demand(role: Role) -> Callable[[HTTPConnection], Awaitable[Caller]]:
    """The caller, if they have the role; async, for FastAPI calls what is not in a thread."""

    async def dependency(connection: HTTPConnection) -> Caller:
        caller = caller_of(connection)
        if not caller.may(role):
            raise Refusal(
                403, "forbidden", f"this needs the role {role}; the token has {caller.role}"
            )
        return caller

    return dependency


Viewer = Annotated[Caller, Depends(demand("viewer"))]
Operator = Annotated[Caller, Depends(demand("operator"))]
Admin = Annotated[Caller, Depends(demand("admin"))]
