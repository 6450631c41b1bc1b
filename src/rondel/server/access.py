"""The caller of a request, and what it may do and see."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from fastapi import Depends
from starlette.requests import HTTPConnection

from rondel.journal.store import SessionRow
from rondel.server.replies import Refusal

Role = Literal["viewer", "operator", "admin"]
ROLES: tuple[Role, ...] = ("viewer", "operator", "admin")
"""The roles; each includes those before it."""

GROUP = "group"
"""The label of a session's group."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller; `groups` is None for one that sees all sessions."""

    name: str
    role: Role
    groups: frozenset[str] | None = None

    @property
    def tenant(self) -> str:
        """A name for all who see what the caller sees, and for nobody else."""
        return "*" if self.groups is None else msgspec.json.encode(sorted(self.groups)).decode()

    def may(self, role: Role) -> bool:
        """Whether the caller's role includes this one."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def sees(self, row: SessionRow) -> bool:
        """Whether the caller may see a session."""
        return self.sees_group(row.labels.get(GROUP))

    def sees_group(self, group: object) -> bool:
        """Whether the caller may see things of this group."""
        return self.groups is None or (isinstance(group, str) and group in self.groups)

    def demand_group(self, group: object) -> None:
        """Refuse to act for a group that is not the caller's."""
        if not self.sees_group(group):
            raise Refusal(403, "forbidden", f"the token is not of the group {group!r}")


LOCAL = Caller("", "admin")
"""The caller of a server that only this machine can reach."""


def caller_of(connection: HTTPConnection) -> Caller:
    """The caller of a request, as the gate noted it."""
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
