"""Routes of browsers: a token is exchanged for a cookie that scripts cannot read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from rondel.server.access import Caller
from rondel.server.gate import COOKIE, login_of
from rondel.server.openapi import errors
from rondel.server.replies import Refusal, reply
from rondel.server.schemas import In
from rondel.server.site import SiteDep
from rondel.server.tokens import LOGIN

router = APIRouter(tags=["access"])


class LoginRequest(In):
    """A token."""

    token: str = Field(
        min_length=1, max_length=200, description="As `rondel tokens create` told it."
    )


class Me(BaseModel):
    """Who calls."""

    name: str
    role: str | None = Field(description="Null: a token is needed first.")
    groups: list[str] | None = Field(description="Null: all.")
    needs_token: bool


@router.get("/me", operation_id="whoAmI", response_model=Me, responses=errors())
async def who_am_i(request: Request, site: SiteDep) -> Response:
    """Who the server takes the caller for."""
    caller: Caller | None = request.scope.get("rondel.caller")
    groups = None if caller is None or caller.groups is None else sorted(caller.groups)
    fields = {
        "name": "" if caller is None else caller.name,
        "role": None if caller is None else caller.role,
        "groups": groups,
        "needs_token": site.needs_tokens,
    }
    return reply(fields)


@router.post("/login", operation_id="logIn", status_code=204, responses=errors())
async def log_in(body: LoginRequest, request: Request, site: SiteDep) -> Response:
    """Exchange a token for a cookie."""
    word = await site.tokens.log_in(body.token)
    if word is None:
        raise Refusal(401, "unauthorized", "the token is not known, or was revoked")
    answer = Response(None, 204)
    secure = request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, word, int(LOGIN), path="/", secure=secure, httponly=True, samesite="strict"
    )
    return answer


@router.post("/logout", operation_id="logOut", status_code=204, responses=errors())
async def log_out(
    site: SiteDep, cookie: Annotated[str | None, Header(include_in_schema=False)] = None
) -> Response:
    """Forget the cookie, here and in the browser."""
    word = login_of(cookie)
    if word:
        await site.tokens.log_out(word)
    answer = Response(None, 204)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
