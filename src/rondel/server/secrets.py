"""Routes of secrets: written, named in graphs as `${NAME}`, and never read back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from rondel.server.access import Admin, Caller
from rondel.server.openapi import errors
from rondel.server.replies import Refusal, reply
from rondel.server.schemas import In
from rondel.server.site import SiteDep

router = APIRouter(tags=["secrets"])


class SecretValue(In):
    """A secret."""

    value: str = Field(
        min_length=1, max_length=10_000, description="What `${NAME}` stands for in graphs."
    )


class SecretOf(BaseModel):
    """A secret, without its value."""

    name: str
    group: str | None = Field(description="Whose sessions see it; null: everybody's.")


class SecretNames(BaseModel):
    """The secrets that the caller's graphs may name."""

    secrets: list[str] = Field(description="Their names, each once.")
    items: list[SecretOf]


Group = Annotated[
    str | None,
    Query(
        min_length=1,
        max_length=200,
        description="Whose it is. Default: everybody's, or the first group of the token.",
    ),
]


@router.get("/secrets", operation_id="listSecrets", response_model=SecretNames, responses=errors())
async def list_secrets(site: SiteDep, caller: Admin) -> Response:
    """The names of secrets; nobody can read their values."""
    await site.secrets.refresh()
    found = site.secrets.seen_by(caller)
    names = sorted({secret.name for secret in found})
    return reply({"secrets": names, "items": [secret._asdict() for secret in found]})


@router.put("/secrets/{name}", operation_id="putSecret", status_code=204, responses=errors())
async def put_secret(
    name: str, body: SecretValue, site: SiteDep, caller: Admin, group: Group = None
) -> Response:
    """Keep a secret, or change it."""
    await site.secrets.put(name, body.value, _whose(caller, group))
    return Response(None, 204)


@router.delete(
    "/secrets/{name}", operation_id="deleteSecret", status_code=204, responses=errors(404)
)
async def delete_secret(name: str, site: SiteDep, caller: Admin, group: Group = None) -> Response:
    """Forget a secret."""
    if not await site.secrets.delete(name, _whose(caller, group)):
        raise Refusal(404, "unknown_secret", f"there is no secret {name!r}")
    return Response(None, 204)


def _whose(caller: Caller, group: str | None) -> str | None:
    """The group that a caller means; None is everybody."""
    if caller.groups is None:
        return group
    meant = group or min(caller.groups)
    caller.demand_group(meant)
    return meant
