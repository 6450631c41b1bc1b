"""The text so far of models in steps under way, and which of them wait for a provider."""

from __future__ import annotations

from msgspec.structs import replace

from rondel.sessions.event import Event
from rondel.sessions.session import Session

TOKENS, WAITS = "token_stream", "model_waiting"


class Voice:
    """What one agent says in one step, or that it waits for its provider."""

    __slots__ = ("chunks", "last", "waits")

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.last: Event | None = None
        self.waits: Event | None = None


class LiveText:
    """The text so far of every voice, chunk by chunk, by the address of its step."""

    def __init__(self) -> None:
        self._steps: dict[str | None, dict[str, Voice]] = {}

    def add(self, event: Event) -> bool:
        """Take a chunk or a wait; True if it is the first of its step."""
        data = event.data
        agent = str(data.get("agent", ""))
        voices = self._steps.get(event.address)
        is_new = voices is None
        if voices is None:
            voices = self._steps[event.address] = {}
        voice = voices.get(agent)
        if voice is None:
            voice = voices[agent] = Voice()
        if event.event == WAITS:
            voice.waits = event
            return is_new
        voice.waits, voice.last = None, event
        if chunk := str(data.get("chunk", "")):
            voice.chunks.append(chunk)
        else:
            voice.chunks.clear()
        return is_new

    def __bool__(self) -> bool:
        return bool(self._steps)

    def forget(self, address: str | None) -> None:
        """Drop the texts and waits of a finished step."""
        self._steps.pop(address, None)

    def keep(self, addresses: set[str]) -> None:
        """Drop the texts and waits of all other steps."""
        for address in [address for address in self._steps if address not in addresses]:
            del self._steps[address]

    def events(self) -> list[Event]:
        """One event for each voice, with all its text so far; `so_far` says that it is all.

        After them come the waits that nothing ended yet.
        """
        told, waits = [], []
        for voice in [voice for voices in self._steps.values() for voice in voices.values()]:
            if voice.last is not None:
                text = "".join(voice.chunks)
                voice.chunks = [text]
                data = {**voice.last.data, "chunk": text, "so_far": True}
                told.append(replace(voice.last, data=data))
            if voice.waits is not None:
                waits.append(voice.waits)
        return told + waits


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
