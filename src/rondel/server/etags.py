"""Entity tags: whether a condition of a request names the version that there is."""

from __future__ import annotations

import re

TAG = re.compile(r'(?:W/)?"([^"]*)"')


def names(header: str, etag: str) -> bool:
    """Whether an If-Match or If-None-Match header names this version, or any.

    A weak tag counts as its strong one: proxies that compress weaken the tags that they pass on.
    """
    if header.strip() == "*":
        return True
    return etag in (TAG.findall(header) or [header.strip()])
