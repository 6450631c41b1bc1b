"""The text so far of models in steps under way, and which of them wait for a provider."""

from __future__ import annotations

from collections.abc import Callable

from rondel.sessions.event import Event
from rondel.sessions.session import Session

TOKENS, WAITS = "token_stream", "model_waiting"
Voice = tuple[str, str]
"""An address and who speaks there."""


class LiveText:
    """The text so far of every voice, chunk by chunk, or that it waits for its provider."""

    def __init__(self) -> None:
        self._chunks: dict[Voice, list[str]] = {}
        self._last: dict[Voice, Event] = {}
        self._waits: dict[Voice, Event] = {}

    def add(self, event: Event) -> bool:
        """Take a chunk or a wait; True if it is the first of this voice."""
        voice = (str(event.address), str(event.data.get("agent", "")))
        waited = self._waits.pop(voice, None)
        if event.event == WAITS:
            self._waits[voice] = event
            return waited is None
        chunks = self._chunks.get(voice)
        is_new = chunks is None
        if chunks is None:
            chunks = self._chunks[voice] = []
        if chunk := str(event.data.get("chunk", "")):
            chunks.append(chunk)
        else:
            chunks.clear()
        self._last[voice] = event
        return is_new

    def __bool__(self) -> bool:
        return bool(self._chunks or self._waits)

    def forget(self, address: str | None) -> None:
        """Drop the texts and waits of a finished step."""
        self._drop(lambda spoken_at: spoken_at == address)

    def keep(self, addresses: set[str]) -> None:
        """Drop the texts and waits of all other steps."""
        self._drop(lambda spoken_at: spoken_at not in addresses)

    def _drop(self, is_over: Callable[[str], bool]) -> None:
        for of_voices in (self._chunks, self._last, self._waits):
            for voice in [voice for voice in of_voices if is_over(voice[0])]:
                del of_voices[voice]

    def events(self) -> list[Event]:
        """One event for each voice, with all its text so far; `so_far` says that it is all.

        After them come the waits that nothing ended yet.
        """
        told = []
        for voice, chunks in self._chunks.items():
            text = "".join(chunks)
            chunks[:] = [text]
            last = self._last[voice]
            data = {**last.data, "chunk": text, "so_far": True}
            told.append(
                Event(
                    None,
                    last.event,
                    last.timestamp,
                    last.session_id,
                    last.node_id,
                    last.address,
                    data,
                )
            )
        return [*told, *self._waits.values()]


class LiveTextRecorder:
    """Records the live texts of a session driven here, for readers that join later."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._texts = LiveText()

    def hear(self, position: int, event: Event) -> None:  # noqa: ARG002
        """Take a live event."""
        if event.event in (TOKENS, WAITS) and self._texts.add(event):
            drive = self._session.drive
            if drive is not None:
                self._texts.keep({step.address for step in drive.state.steps.values()})

    def copy(self) -> LiveText:
        """A copy of the texts so far."""
        drive = self._session.drive
        running = set() if drive is None else {step.address for step in drive.state.steps.values()}
        self._texts.keep(running)
        copied = LiveText()
        for event in self._texts.events():
            copied.add(event)
        return copied
