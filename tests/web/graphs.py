"""Graphs for the tests of the pages."""

from pathlib import Path

TEXTS = Path(__file__).parent / "texts"


def _text(name: str) -> str:
    return (TEXTS / f"{name}.yaml").read_text("utf-8")


STUCK = _text("stuck")
REVIEW = _text("review")
HOSTILE = _text("hostile")
CHATDEV = _text("chatdev")
PAYING = _text("paying")


def essay(pace: float = 0.0) -> str:
    """The essay, each answer taking so many seconds."""
    return _text("essay").replace("PACE", str(pace))


def refused(address: str) -> str:
    """A loop whose writer asks a provider at that address."""
    return _text("refused").replace("ADDRESS", address)


def long_loop(rounds: int) -> str:
    """A loop of very many rounds that say something new each time."""
    return _text("long").replace("ROUNDS", str(rounds))


def chain(nodes: int) -> str:
    """A graph of very many nodes, in rows of twenty, with a loop around each row."""
    lines = ["version: 1", "graph:", "  id: chain", "  start: n0", f"  end: n{nodes - 1}"]
    lines.append("  nodes:")
    lines += [f"    - {{id: n{at}, type: passthrough}}" for at in range(nodes)]
    lines.append("  edges:")
    lines += [f"    - {{from: n{at}, to: n{at + 1}}}" for at in range(nodes - 1)]
    lines += [
        f"    - {{from: n{at + 19}, to: n{at}, condition: false}}" for at in range(0, nodes, 20)
    ]
    return "\n".join(lines) + "\n"
