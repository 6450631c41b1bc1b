"""The text so far of models in steps under way."""

from __future__ import annotations

from rondel.sessions.event import Event
from rondel.sessions.session import Session

TOKENS = "token_stream"
Voice = tuple[str, str]
"""An address and who speaks there."""


class LiveText:
    """The text so far of every voice, chunk by chunk."""

    def __init__(self) -> None:
        self._chunks: dict[Voice, list[str]] = {}
        self._last: dict[Voice, Event] = {}

    def add(self, event: Event) -> bool:
        """Take a chunk; True if this voice has not spoken before."""
        voice = (str(event.address), str(event.data.get("agent", "")))
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
        return bool(self._chunks)

    def forget(self, address: str | None) -> None:
        """Drop the texts of a finished step."""
        for voice in [voice for voice in self._chunks if voice[0] == address]:
            del self._chunks[voice], self._last[voice]

    def keep(self, addresses: set[str]) -> None:
        """Drop the texts of all other steps."""
        for voice in [voice for voice in self._chunks if voice[0] not in addresses]:
            del self._chunks[voice], self._last[voice]

    def events(self) -> list[Event]:
        """One event for each voice, with all its text so far; `so_far` says that it is all."""
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
        return told


class LiveTextRecorder:
    """Records the live texts of a session driven here, for readers that join later."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._texts = LiveText()

    def hear(self, position: int, event: Event) -> None:  # noqa: ARG002
        """Take a live event."""
        if event.event == TOKENS and self._texts.add(event):
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
