"""`rondel schema`: the JSON Schema of graph files."""

from __future__ import annotations

import json

from rondel.graph.json_schema import json_schema
from rondel.sessions.registry import default_registry


def schema() -> int:
    """Print the JSON Schema of graph files, so that editors complete and check them."""
    print(json.dumps(json_schema(default_registry()), indent=2, ensure_ascii=False))
    return 0
