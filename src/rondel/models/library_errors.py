"""Turns the library's exceptions into failures: one line, and whether a retry may help."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from typing import Any

import httpx2
from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelContextWindowExceededError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelTimeoutError,
    UnexpectedModelBehavior,
    UserError,
)

from rondel.models.endpoint import Endpoint
from rondel.models.headers import allowance_in, seconds_of
from rondel.models.tries import Failure, Reached

RETRIED = frozenset({408, 409, 425, 429})
"""Statuses below 500 after which a retry may help."""

UNAUTHORIZED, FORBIDDEN = 401, 403
TOOK_TOO_LONG = 408
"""The status after which the provider may have begun to answer."""

CREDENTIALS = "check the credentials that this machine has for it"

UNREACHED = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Exceptions from before a request is sent."""


LONGEST_MESSAGE = 200

FILTERED = (
    *("content filter", "content policy", "content management", "usage policy"),
    *("exists risk", "inspection failed", "inspectionfailed", "inappropriate content"),
    "不安全或敏感",
)
"""How providers say that they will not have such a text: each in words of its own."""

WEB_PAGE = re.compile(r"\s*<(!doctype html|html|head|body|\?xml)", re.IGNORECASE)
TITLE = re.compile(r"<(title|h1)[^>]*>(.{1,200}?)</\1", re.IGNORECASE | re.DOTALL)


def failure_of(error: Exception, asked: Endpoint) -> Failure | None:
    """The failure for an exception; None if it does not come from the call."""
    match error:
        case ModelHTTPError():
            return _refusal(error, asked)
        case ModelTimeoutError() | httpx2.TimeoutException():
            return Failure(
                f"{asked.provider.name} at {asked.public_address} was silent for "
                f"{asked.params.timeout:g} s",
                "raise params.timeout, or check base_url and the network",
                reached=_reached(error),
            )
        case ModelConnectionError() | httpx2.TransportError() | httpx2.StreamError():
            return Failure(
                f"the connection to {asked.provider.name} at {asked.public_address} failed "
                f"({said_by(_root(error))})",
                "check base_url and the network",
                reached=_reached(error),
            )
        case ContentFilterError() | ModelRequestRejectedError():
            failure = _objection(error, said_by(error), asked)
            failure.reached = "worked"
            return failure
        case ModelAPIError() | UnexpectedModelBehavior():
            return Failure(
                f"{asked.provider.name} sent an answer that cannot be read ({said_by(error)})",
                "check that base_url is the address of such a provider",
                retry_after=getattr(error, "retry_after", None),
                reached="worked",
            )
        case _ if _is_of_a_cloud(error):
            return Failure(
                f"{asked.provider.name} cannot be asked from here ({said_by(error)})",
                CREDENTIALS,
                lasting=True,
                reached="nobody",
            )
        case UserError():
            return Failure(
                f"{asked.provider.name} cannot ask {asked.model!r} that way ({said_by(error)})",
                "check params, tools and output_schema",
                lasting=True,
                reached="nobody",
            )
    return None


def _is_of_a_cloud(error: Exception) -> bool:
    """Whether a cloud's library failed before sending, mostly for want of credentials."""
    homes = (kind.__module__ for kind in type(error).__mro__)
    return any(home.startswith(("botocore.", "google.auth.")) for home in homes)


def _refusal(error: ModelHTTPError, asked: Endpoint) -> Failure:
    said = f"status {error.status_code}: {said_by(error)}"
    match error:
        case ModelQuotaExceededError():
            what = f"{asked.provider.name} says that the account is out of quota ({said})"
            return Failure(what, "check its plan, or set another provider", lasting=True)
        case ModelNotFoundError():
            return _nothing_there(error, said, asked)
        case ModelRateLimitError():
            what = f"{asked.provider.name} takes no more calls for now ({said})"
            remedy = "lower max_concurrency or set requests_per_minute"
            return Failure(what, remedy, retry_after=_patience(error), later=True)
    if error.status_code == FORBIDDEN:
        what = f"{asked.provider.name} does not let this key ask {asked.model!r} ({said})"
        return Failure(what, f"{_keys(asked)}, and what its account may use", lasting=True)
    if error.status_code == UNAUTHORIZED or isinstance(error, ModelAuthenticationError):
        what = f"{asked.provider.name} refused the key ({said})"
        return Failure(what, _keys(asked), lasting=True)
    again = error.status_code in RETRIED or error.status_code >= 500
    if not again or error.provider_retry_hint is False:
        return _objection(error, said, asked)
    what = f"{asked.provider.name} failed ({said})"
    patience = _patience(error)
    return Failure(
        what,
        "try again later",
        retry_after=patience,
        later=patience is not None,
        reached="worked" if error.status_code == TOOK_TOO_LONG else "refused",
    )


def _nothing_there(error: ModelHTTPError, said: str, asked: Endpoint) -> Failure:
    """No such model, or no such path: servers that lack the path do not speak of models."""
    if error.suggested_model_id or "model" in said.lower():
        what = f"{asked.provider.name} does not know the model {asked.model!r} ({said})"
        if near := error.suggested_model_id:
            return Failure(what, f"did you mean {near!r}?", lasting=True)
        return Failure(what, "check name and base_url", lasting=True)
    what = f"{asked.provider.name} has no models at {asked.public_address} ({said})"
    return Failure(what, "check base_url, which often ends in /v1", lasting=True)


def _objection(error: Exception, said: str, asked: Endpoint) -> Failure:
    """The failure of a request that cannot be answered: too long, not wanted, or wrong."""
    if isinstance(error, ModelContextWindowExceededError):
        what = f"{asked.model!r} cannot read so much at once ({said})"
        remedy = "send less by compact, carry or context_window, or take a model that reads more"
        return Failure(what, remedy, lasting=True)
    what = f"{asked.provider.name} refused the call to {asked.model!r} ({said})"
    unwanted = isinstance(error, ContentFilterError) or is_filtered(error)
    remedy = "change the input or the role" if unwanted else "check name and params"
    return Failure(what, remedy, lasting=True)


def _patience(error: ModelHTTPError) -> float | None:
    """The seconds that the provider asks to wait, from one of several headers.

    The library reads whole ones only.
    """
    headers = error.headers
    if error.retry_after is not None or headers is None:
        return error.retry_after
    if (asked := seconds_of(headers.get("retry-after", ""))) is not None:
        return asked
    said = allowance_in(headers, 0.0, 0)
    return None if said is None or not said.wait(0.0) else said.full


def _keys(asked: Endpoint) -> str:
    if asked.provider.extra and not asked.key:
        return CREDENTIALS
    return " or ".join(("check api_key", *asked.provider.keys))


def _root(error: BaseException) -> BaseException:
    """The error below the library's, which says what happened on the wire."""
    while error.__cause__ is not None and str(error.__cause__):
        error = error.__cause__
    return error


def _reached(error: BaseException) -> Reached:
    """Whether the request was sent before the wire failed."""
    below: BaseException | None = error
    while below is not None:
        if isinstance(below, UNREACHED):
            return "nobody"
        below = below.__cause__ or below.__context__
    return "worked"


def said_by(error: BaseException) -> str:
    """The provider's own words, shortened to a line; of a web page only what its title says."""
    body = getattr(error, "body", None)
    text = _message(body) or getattr(error, "message", "") or str(error)
    if WEB_PAGE.match(text):
        title = TITLE.search(text)
        text = f"a web page: {unescape(title[2])}" if title else "a web page"
    text = " ".join(str(text).split()) or type(error).__name__
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def is_filtered(error: BaseException) -> bool:
    """Whether the provider will not have such a text."""
    said = str(getattr(error, "body", None) or error).lower().replace("_", " ")
    return any(words in said for words in FILTERED)


def _message(body: Any) -> str:
    """The message in an error's body, wherever the provider puts it."""
    if isinstance(body, Mapping):
        for key in ("message", "error", "detail"):
            if key in body and (text := _message(body[key])):
                return text
        return ""
    return body if isinstance(body, str) else ""
