"""Checksums of 32 bits for everything in a journal; they find any flipped bit."""

from __future__ import annotations

from zlib import crc32

_SIGN = 0x80000000


def first(key: int) -> int:
    """The first value of the chain of a session's own ticks."""
    return of(key)


def chained(before: int, record: bytes | memoryview) -> int:
    """The checksum of a tick that follows one with that checksum."""
    found = crc32(record, before & 0xFFFFFFFF)
    return found - ((found & _SIGN) << 1)  # a signed number takes four bytes in the file, not six


def of(*values: str | float | bytes | None) -> int:
    """The checksum of the fields of a row."""
    found = 0
    for value in values:
        encoded = value if isinstance(value, bytes) else repr(value).encode("utf-8", "replace")
        found = crc32(encoded, crc32(b"%d:" % len(encoded), found))
    return found - ((found & _SIGN) << 1)
