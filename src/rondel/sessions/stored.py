"""A graph as a session keeps it: its documents without the secrets in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rondel.graph.secrets import Values, seal, unseal


@dataclass(frozen=True, slots=True)
class Stored:
    """A graph as a session keeps it, and the secrets in it, which nobody keeps.

    `secrets` are by the file they are in; the graph's own are under no name.
    """

    document: dict[str, Any]
    includes: dict[str, Any]
    secrets: Mapping[str, Values]

    @property
    def names(self) -> list[str]:
        """The variables that stand for the secrets."""
        return sorted({name for values in self.secrets.values() for name in values})

    @classmethod
    def of(cls, document: dict[str, Any], includes: Mapping[str, Any]) -> Stored:
        """What is stored of a document and of those that it includes."""
        sealed = seal(document)
        secrets = {"": sealed.secrets} if sealed.secrets else {}
        known = dict(sealed.secrets)
        kept = {}
        for file, included in includes.items():
            inner = seal(included, known)
            kept[file] = inner.document
            if inner.secrets:
                secrets[file] = inner.secrets
                known |= inner.secrets
        return cls(sealed.document, kept, secrets)

    def unsealed(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The document and what it includes, with their secrets as far as they are known."""
        includes = {
            file: unseal(document, self.secrets.get(file, {}))
            for file, document in self.includes.items()
        }
        return unseal(self.document, self.secrets.get("", {})), includes
