"""What a server is started with."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_address

from rondel.dispatch.dispatcher import QUEUE

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """What callers may ask for; each has its own refusal."""

    body: int = 4 * MIB
    """Bytes of a request."""
    graph: int = MIB
    """Bytes of a graph's text."""
    sessions: int = 5000
    """Sessions under way at once."""
    streams: int = 1000
    """Open event streams and sockets at once."""
    rate: float = 200.0
    """Requests a second of one caller, on average."""
    burst: int = 1000
    """Requests of one caller at once."""
    simulations: int = 10_000
    """Runs of one simulation."""
    computing: int = 16
    """Checks, estimates and simulations under way at once."""
    computing_time: float = 60.0
    """Seconds that an estimate or a simulation may take."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a server behaves."""

    host: str = "127.0.0.1"
    port: int = 8484
    allow_python: bool = False
    allow_commands: bool = False
    """Whether graphs may start programs (`command:` servers)."""
    allow_private: bool = False
    """Whether graphs and webhooks may name addresses in private networks."""
    tokens: bool = False
    """Whether tokens are needed also where only this machine can reach it."""
    hosts: tuple[str, ...] = ()
    """Names by which browsers may reach it, besides its own address."""
    origins: tuple[str, ...] = ()
    """Pages of other origins that may call it."""
    grace: float = 20.0
    """Seconds that steps under way have to finish when the server is told to stop."""
    dispatcher: str | None = None
    """Who brings its sessions to workers; None if it drives them itself."""
    queue: str = QUEUE
    """Where they wait for a worker."""
    send_timeout: float = 30.0
    """Seconds after which a client that takes nothing is let go."""
    ping: float = 15.0
    """Seconds between signs of life on a quiet stream."""
    limits: ServerLimits = field(default_factory=ServerLimits)

    @property
    def needs_tokens(self) -> bool:
        """Whether nobody is let in without one."""
        return self.tokens or not self.is_loopback

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False
