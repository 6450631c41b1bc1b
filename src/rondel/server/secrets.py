"""Routes of secrets: written, named in graphs as `${NAME}`, and never read back."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.responses import Response

from rondel.server.access import Admin, Caller
from rondel.server.openapi import errors
from rondel.server.problems import Refusal
from rondel.server.replies import reply
from rondel.server.schemas import In
from rondel.server.site import SiteDep

router = APIRouter(tags=["secrets"])


class SecretValue(In):
    """A secret."""

    value: str = Field(min_length=1, max_length=10_000)


class SecretNames(BaseModel):
    """The names of all secrets."""

    secrets: list[str]


@router.get("/secrets", operation_id="listSecrets", response_model=SecretNames, responses=errors())
async def list_secrets(site: SiteDep, caller: Admin) -> Response:
    """The names of all secrets; nobody can read their values."""
    _demand_all(caller)
    return reply({"secrets": site.secrets.names})


@router.put("/secrets/{name}", operation_id="putSecret", status_code=204, responses=errors())
async def put_secret(name: str, body: SecretValue, site: SiteDep, caller: Admin) -> Response:
    """Keep a secret, or change it."""
    _demand_all(caller)
    site.secrets.put(name, body.value)
    return Response(None, 204)


@router.delete(
    "/secrets/{name}", operation_id="deleteSecret", status_code=204, responses=errors(404)
)
async def delete_secret(name: str, site: SiteDep, caller: Admin) -> Response:
    """Forget a secret."""
    _demand_all(caller)
    if not site.secrets.delete(name):
        raise Refusal(404, "unknown_secret", f"there is no secret {name!r}")
    return Response(None, 204)


def _demand_all(caller: Caller) -> None:
    if caller.groups is not None:
        raise Refusal(403, "forbidden", "secrets are all groups'; the token is of some only")
