"""Events, and messages as events show them."""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False):
    """One event of a session; `seq` is None for live events, which are not durable."""

    seq: int | None
    event: str
    timestamp: str
    session_id: str
    node_id: str | None
    address: str | None
    data: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return getattr(self, name)


def message_json(message: Any) -> dict[str, Any]:
    """A message as JSON."""
    return {
        "source": message.source,
        "role": message.role,
        "content": msgspec.to_builtins(message.content),
        "data": message.data,
    }
