"""The files of messages: each is stored once beside the journal, under the hash of its bytes."""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from rondel.engine.message import Part, attached_in
from rondel.errors import CallError
from rondel.journal.store import Store

LARGEST = 20_000_000
"""The most bytes of one attachment, unless more is allowed."""

HELD = 24 * 3600.0
"""Seconds that an attachment is kept before a session refers to it."""

DIGEST = re.compile(r"[0-9a-f]{64}")
UNKNOWN = "application/octet-stream"
TEXT = "text/plain"
BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": "application/pdf",
}


class Attachments:
    """Keeps and loads attachments for nodes and callers; only the size of the bytes is checked."""

    def __init__(self, store: Store, largest: int = LARGEST) -> None:
        self._store = store
        self._largest = largest

    async def add(
        self,
        source: str | os.PathLike[str] | bytes,
        media_type: str | None = None,
        name: str | None = None,
    ) -> Part:
        """Keep a file, or bytes."""
        if isinstance(source, bytes | bytearray | memoryview):
            return await self.keep(bytes(source), media_type or "", name or "")
        path = Path(source)
        content = await asyncio.to_thread(self._read, path)
        return await self.keep(content, media_type or "", path.name if name is None else name)

    async def keep(
        self, content: bytes, media_type: str = "", name: str = "", session: str | None = None
    ) -> Part:
        """Keep bytes for a session, or for one that will start soon."""
        if len(content) > self._largest:
            raise self._too_large(name or "the attachment", len(content))
        digest = await asyncio.to_thread(self._hold, content, session)
        kind = media_type or media_type_of(name, content)
        return Part(attachment=digest, media_type=kind, name=name, size=len(content))

    async def load(self, part: Part) -> bytes:
        """The bytes of an attachment."""
        found = None
        if is_digest(part.attachment):
            found = await asyncio.to_thread(self._store.attachment, part.attachment)
        if found is None:
            raise _missing(part)
        return found

    def demand(self, parts: Iterable[Part]) -> None:
        """Raise if one of the attachments is not here."""
        for part in parts:
            if not is_digest(part.attachment) or not self._store.has_attachment(part.attachment):
                raise _missing(part)

    def _hold(self, content: bytes, session: str | None) -> str:
        digest = sha256(content).hexdigest()
        self._store.hold(content, self._store.now() + HELD)
        if session is not None:
            self._store.refer(session, [digest])
        return digest

    def _read(self, path: Path) -> bytes:
        try:
            with path.open("rb") as file:
                content = file.read(self._largest + 1)
        except OSError as error:
            raise CallError(f"{path} cannot be attached: {error.strerror or error}") from error
        if len(content) > self._largest:
            raise self._too_large(str(path), max(path.stat().st_size, len(content)))
        return content

    def _too_large(self, name: str, size: int) -> CallError:
        return CallError(
            f"{name} has {size:,} bytes and an attachment may have {self._largest:,}; "
            "make it smaller, or allow more with Engine(max_attachment=...)"
        )


def is_digest(text: str) -> bool:
    """Whether the text can name an attachment."""
    return DIGEST.fullmatch(text) is not None


def used_in(inputs: Mapping[str, Any]) -> list[str]:
    """The attachments that a session's inputs refer to."""
    return [part.attachment for part in attached_in(inputs) if is_digest(part.attachment)]


def media_type_of(name: str, content: bytes) -> str:
    """The media type of a file, by its name or else by its first bytes."""
    guessed, packed = mimetypes.guess_type(name)
    if guessed and not packed:
        return guessed
    for beginning, kind in BEGINNINGS.items():
        if content.startswith(beginning):
            return kind
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    try:
        content.decode()
    except UnicodeDecodeError:
        return UNKNOWN
    return UNKNOWN if b"\0" in content else TEXT


def _missing(part: Part) -> CallError:
    name = part.name or part.attachment[:12] or "without content"
    return CallError(f"the attachment {name!r} is not kept here; add it with engine.attach")
