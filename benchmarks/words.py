"""Figures in words: as many digits as one can trust, with their unit."""

from __future__ import annotations


def number(value: float) -> str:
    """Two digits for small numbers, none behind the point for large ones."""
    if value < 0.095:
        return f"{value:.2f}"
    if value < 9.95:
        return f"{value:.1f}"
    return f"{value:,.0f}"


def size(count: float) -> str:
    """Bytes, kilobytes or megabytes."""
    if count < 1_000:
        return f"{count:.0f} B"
    if count < 1_000_000:
        return f"{number(count / 1_000)} kB"
    return f"{number(count / 1_000_000)} MB"


def ratio(value: float) -> str:
    """How many times, or which part."""
    return f"{value:.2f} ×" if value < 10 else f"{value:,.0f} ×"
