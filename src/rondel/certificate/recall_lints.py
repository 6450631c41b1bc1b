"""Lints about what nodes are shown."""

from __future__ import annotations

from collections.abc import Iterator

from rondel.certificate.scene import Lint, Scene
from rondel.graph.guarantees import keeps_to
from rondel.graph.recall import NOTHING, Recalling


def forgets(scene: Scene) -> Iterator[Lint]:
    """A head that is shown neither the task nor what it said in the round before."""
    for _, scope, head in scene.loops:
        node = scene.plan.nodes[head]
        if not scope.dialect.recalls or not keeps_to(node.spec.config, Recalling):
            continue
        keeps = node.window != 0 or any(edge.keep for edge in scene.into(head))
        if node.recall != NOTHING or keeps:
            continue
        message = (
            f"from round 2 on {scene.name(head)} sees neither the task nor what it said before: "
            "its recall is off, and its context_window is 0"
        )
        hint = "drop recall from its config, or set a context_window"
        yield Lint("forgets", scene.places.node(head, message, hint))
